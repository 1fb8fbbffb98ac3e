//===- Search.cpp - which points of a space are tried ---------------------===//

#include "tune/Search.h"

#include <algorithm>
#include <limits>
#include <set>

namespace perpend::tune {

namespace {
/// How often a search draws again for a point that it has not proposed before.
constexpr int mostDraws = 200;

class SeededSearch : public Search {
public:
  SeededSearch(const Space &space, uint64_t seed) : space(space), generator(seed) { seen.insert(space.given()); }
  void tell(const Point &point, double time) final {
    seen.insert(point);
    if (time != std::numeric_limits<double>::infinity())
      learn(point, time);
  }

protected:
  /// The point computes what it should.
  virtual void learn(const Point &, double) {}
  /// Below `count`. Not std::uniform_int_distribution, which libraries define each in their way.
  size_t below(size_t count) { return generator() % count; }
  Point drawPoint() {
    Point point;
    for (const Decision &decision : space.decisions())
      point.push_back(static_cast<unsigned>(below(decision.choices.size())));
    return point;
  }
  template <typename Draw> std::optional<Point> firstNew(Draw draw) {
    for (int i = 0; i < mostDraws && !space.decisions().empty(); ++i)
      if (Point point = draw(); seen.insert(point).second)
        return point;
    return std::nullopt;
  }

  const Space &space;
  std::mt19937_64 generator;
  std::set<Point> seen;
};

/// Every point is as likely.
class RandomSearch : public SeededSearch {
public:
  using SeededSearch::SeededSearch;
  std::optional<Point> propose() override {
    return firstNew([&] { return drawPoint(); });
  }
};

/// Of two parents among the best, each decision is one's or the other's; one of them moves to a neighbour, or anywhere.
class EvolutionarySearch : public SeededSearch {
public:
  EvolutionarySearch(const Space &space, uint64_t seed) : SeededSearch(space, seed) {
    population.push_back({1, space.given()});
  }
  std::optional<Point> propose() override {
    return firstNew([&] { return below(newBlood) == 0 ? drawPoint() : child(); });
  }

protected:
  void learn(const Point &point, double time) override {
    population.emplace_back(time, point);
    std::sort(population.begin(), population.end());
    if (population.size() > mostParents)
      population.pop_back();
  }

private:
  static constexpr size_t mostParents = 8, newBlood = 8, farMove = 3;

  Point child() {
    const Point &mother = population[below(population.size())].second,
                &father = population[below(population.size())].second;
    Point point;
    for (size_t i = 0; i < mother.size(); ++i)
      point.push_back(below(2) ? mother[i] : father[i]);
    do
      mutate(point);
    while (below(2));
    return point;
  }

  void mutate(Point &point) {
    size_t number = below(point.size()), count = space.decisions()[number].choices.size();
    unsigned &choice = point[number];
    if (below(farMove) == 0)
      choice = static_cast<unsigned>(below(count));
    else
      choice = choice > 0 && (choice + 1 == count || below(2)) ? choice - 1 : choice + 1;
  }

  std::vector<std::pair<double, Point>> population;
};

/// One decision after the other, to the neighbours of the best.
class CoordinateSearch : public SeededSearch {
public:
  CoordinateSearch(const Space &space, uint64_t seed) : SeededSearch(space, seed), best(space.given()) {}
  std::optional<Point> propose() override {
    for (size_t reach = 1; reach <= mostReach; ++reach)
      for (size_t number = 0; number < best.size(); ++number)
        for (int64_t sign : {1, -1})
          if (std::optional<Point> point = neighbour(number, sign * static_cast<int64_t>(reach)))
            return point;
    return firstNew([&] { return drawPoint(); });
  }

protected:
  void learn(const Point &point, double time) override {
    if (time < least)
      best = point, least = time;
  }

private:
  static constexpr size_t mostReach = 3;

  std::optional<Point> neighbour(size_t number, int64_t distance) {
    Point point = best;
    int64_t choice = point[number] + distance;
    if (choice < 0 || choice >= static_cast<int64_t>(space.decisions()[number].choices.size()))
      return std::nullopt;
    point[number] = static_cast<unsigned>(choice);
    return seen.insert(point).second ? std::optional(point) : std::nullopt;
  }

  Point best;
  double least = 1;
};

template <typename Kind> std::unique_ptr<Search> makeSearch(const Space &space, uint64_t seed) {
  return std::make_unique<Kind>(space, seed);
}
} // namespace

llvm::ArrayRef<SearchInfo> searches() {
  static const SearchInfo list[] = {
      {"evolutionary", "children of the best points, each decision from one of two parents, changed a little",
       makeSearch<EvolutionarySearch>},
      {"coordinate", "neighbours of the best point, one decision after the other", makeSearch<CoordinateSearch>},
      {"random", "every point is as likely", makeSearch<RandomSearch>},
  };
  return list;
}
} // namespace perpend::tune
