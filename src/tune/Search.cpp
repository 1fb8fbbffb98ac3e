//===- Search.cpp - chooses points of a space to try ----------------------===//

#include "tune/Search.h"

#include "tune/CostModel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>

namespace perpend::tune {

namespace {
/// Most attempts to draw a point that was not proposed before.
constexpr int mostDraws = 200;

using Population = std::vector<std::pair<double, Point>>; ///< sorted, best first

class SeededSearch : public Search {
public:
  SeededSearch(const Space &space, uint64_t seed) : space(space), generator(seed) { seen.insert(space.given()); }
  void tell(const Point &point, double time) final {
    seen.insert(space.reduced(point));
    if (time != std::numeric_limits<double>::infinity())
      learn(point, time);
  }

protected:
  /// Learns the cost of a point whose results are right.
  virtual void learn(const Point &, double) {}
  /// Uniform below `count`. Not std::uniform_int_distribution, whose result differs between libraries.
  size_t below(size_t count) { return generator() % count; }
  Point drawPoint() {
    Point point;
    for (const Decision &decision : space.decisions())
      point.push_back(static_cast<unsigned>(below(decision.choices.size())));
    return space.reduced(std::move(point));
  }
  /// Moves one decision to a neighbouring choice, or occasionally to any choice.
  void move(Point &point) {
    constexpr size_t farMove = 3;
    size_t number = below(point.size());
    while (!space.isUsed(point, number))
      number = below(point.size());
    size_t count = space.decisions()[number].choices.size();
    unsigned &choice = point[number];
    if (below(farMove) == 0)
      choice = static_cast<unsigned>(below(count));
    else
      choice = choice > 0 && (choice + 1 == count || below(2)) ? choice - 1 : choice + 1;
  }
  /// Parents of two sketches have little in common; then the child has the first one's sketch.
  Point childOf(const Point &mother, const Point &other) {
    const Point &father = space.sketchOf(mother) == space.sketchOf(other) ? other : mother;
    Point point;
    for (size_t i = 0; i < mother.size(); ++i)
      point.push_back(below(2) ? mother[i] : father[i]);
    do
      move(point);
    while (below(2));
    return space.reduced(std::move(point));
  }
  /// The child of two of the first `parents` points. They are drawn one after the other, because the order of argument
  /// evaluation is unspecified.
  Point childOfTwo(const Population &population, size_t parents) {
    const Point &mother = population[below(parents)].second;
    const Point &father = population[below(parents)].second;
    return childOf(mother, father);
  }
  /// A number between 0 and 1.
  double drawPart() {
    constexpr double all = 1 << 30;
    return static_cast<double>(below(static_cast<size_t>(all))) / all;
  }
  template <typename Draw> std::optional<Point> firstNew(Draw draw) {
    for (int i = 0; i < mostDraws && !space.decisions().empty(); ++i)
      if (Point point = space.reduced(draw()); seen.insert(point).second)
        return point;
    return std::nullopt;
  }

  /// The given point of each sketch, once.
  std::optional<Point> nextSketch() {
    while (++sketch < space.sketches()) {
      Point point = space.given();
      point.front() = static_cast<unsigned>(sketch);
      if (seen.insert(point).second)
        return point;
    }
    return std::nullopt;
  }

  const Space &space;
  std::mt19937_64 generator;
  std::set<Point> seen;

private:
  size_t sketch = 0;
};

/// Proposes all points with equal probability.
class RandomSearch : public SeededSearch {
public:
  using SeededSearch::SeededSearch;
  std::optional<Point> propose() override {
    return firstNew([&] { return drawPoint(); });
  }
};

/// Proposes all points from coarse to fine: for each decision, for example, every sixteenth choice, then every eighth,
/// starting at an offset given by the seed.
class GridSearch : public SeededSearch {
public:
  GridSearch(const Space &space, uint64_t seed) : SeededSearch(space, seed), first(drawPoint()), at(first.size()) {
    for (const Decision &decision : space.decisions())
      while (step * mostFirst < decision.choices.size())
        step *= 2;
  }
  std::optional<Point> propose() override {
    while (step > 0) {
      Point point = space.reduced(here());
      advance();
      if (seen.insert(point).second)
        return point;
    }
    return std::nullopt;
  }

private:
  static constexpr size_t mostFirst = 2; ///< choices of the longest list in the first pass

  size_t countOf(size_t number) { return space.decisions()[number].choices.size(); }
  Point here() {
    Point point;
    for (size_t i = 0; i < at.size(); ++i)
      point.push_back(static_cast<unsigned>((first[i] + at[i]) % countOf(i)));
    return point;
  }
  /// Advances to the next point of the same sketch, or to the first of the next sketch; afterwards refines the grid.
  void advance() {
    bool isOfSketches = space.sketches() > 1;
    for (size_t i = isOfSketches ? 1 : 0; i < at.size(); ++i)
      if (space.isUsed(here(), i) && advance(i))
        return;
    if (!isOfSketches || !advance(0))
      step /= 2;
  }
  /// False when it wraps around.
  bool advance(size_t number) {
    at[number] += step;
    bool isThere = at[number] < countOf(number);
    if (!isThere)
      at[number] = 0;
    return isThere;
  }

  Point first;
  std::vector<size_t> at;
  size_t step = 1;
};

static void keepBest(Population &population, size_t most) {
  std::sort(population.begin(), population.end());
  population.erase(std::unique(population.begin(), population.end()), population.end());
  population.resize(std::min(population.size(), most));
}

/// Proceeds by generations: the better a point's rank, the more children it has.
class GeneticSearch : public SeededSearch {
public:
  GeneticSearch(const Space &space, uint64_t seed) : SeededSearch(space, seed), parents({{1, space.given()}}) {}
  std::optional<Point> propose() override {
    if (std::optional<Point> first = nextSketch())
      return first;
    if (proposed++ % generation == 0) {
      for (const auto &parent : children)
        parents.push_back(parent);
      keepBest(parents, elite);
      children.clear();
    }
    return firstNew([&] { return parents.size() < 2 ? drawPoint() : child(); });
  }

protected:
  void learn(const Point &point, double time) override { children.emplace_back(time, point); }

private:
  static constexpr size_t generation = 12, elite = 8;

  Point child() {
    const Point &mother = parent(); // drawn before the father
    return childOf(mother, parent());
  }
  /// The better of two random points.
  const Point &parent() { return parents[std::min(below(parents.size()), below(parents.size()))].second; }

  Population parents, children;
  size_t proposed = 0;
};

/// Proposes each sketch's given point; then, with a model, batches of the best points that it has seen.
class AskingSearch : public SeededSearch {
public:
  using SeededSearch::SeededSearch;
  bool ask(CostModel &with) override { return model = &with, true; }
  std::optional<Point> propose() final {
    if (std::optional<Point> first = nextSketch())
      return first;
    if (model && waiting.empty() && !space.decisions().empty())
      explore();
    if (waiting.empty())
      return proposeAlone();
    Point point = waiting.front();
    waiting.pop_front();
    return point;
  }

protected:
  /// Used without a model, or if the model's exploration finds nothing new.
  virtual std::optional<Point> proposeAlone() = 0;
  /// Evaluates points with costOf().
  virtual void explore() = 0;

  double costOf(const Point &point) { return model->predict(space.traceAt(point)); }
  void proposeBestOf(Population population) {
    constexpr size_t batch = 6;
    keepBest(population, population.size());
    for (const auto &[cost, point] : population)
      if (waiting.size() < batch && cost != std::numeric_limits<double>::infinity() && seen.insert(point).second)
        waiting.push_back(point);
  }

private:
  CostModel *model = nullptr;
  std::deque<Point> waiting;
};

/// Proposes children of the best measured points. With a model, children evolve for some generations, judged by the
/// model.
class EvolutionarySearch : public AskingSearch {
public:
  EvolutionarySearch(const Space &space, uint64_t seed) : AskingSearch(space, seed), best({{1, space.given()}}) {}

protected:
  std::optional<Point> proposeAlone() override {
    return firstNew([&] { return below(newBlood) == 0 ? drawPoint() : childOfTwo(best, best.size()); });
  }
  void learn(const Point &point, double time) override {
    best.emplace_back(time, point);
    keepBest(best, mostParents);
  }
  void explore() override {
    Population population;
    auto add = [&](const Point &point) { population.emplace_back(costOf(point), point); };
    for (const auto &parent : best)
      add(parent.second);
    for (size_t i = 0; i < width; ++i)
      add(drawPoint());
    for (size_t round = 0; round < generations; ++round) {
      keepBest(population, width);
      for (size_t i = 0, parents = population.size(); i < width; ++i)
        add(childOfTwo(population, parents));
    }
    proposeBestOf(std::move(population));
  }

private:
  static constexpr size_t mostParents = 8, newBlood = 8, width = 48, generations = 3;

  const Point &oneOf(const Population &population) { return population[below(population.size())].second; }

  Population best;
};

/// Simulated annealing: moves to neighbours, and to worse ones with decreasing probability. With a model, anneals on
/// its predictions.
class AnnealingSearch : public AskingSearch {
public:
  AnnealingSearch(const Space &space, uint64_t seed) : AskingSearch(space, seed), here(1, space.given()) {}

protected:
  std::optional<Point> proposeAlone() override {
    size_t draws = 0;
    std::optional<Point> next = firstNew([&] {
      constexpr size_t patience = 8; // failed moves before larger steps
      Point point = here.second;
      for (size_t moves = 1 + draws++ / patience; moves > 0; --moves)
        move(point);
      return point;
    });
    return next ? next : firstNew([&] { return drawPoint(); });
  }
  void learn(const Point &point, double time) override {
    if (isTaken(time - here.first, temperature * here.first))
      here = {time, point};
    temperature *= 0.95;
  }
  void explore() override {
    if (walkers.empty())
      walkers.push_back(space.given());
    while (walkers.size() < walks)
      walkers.push_back(drawPoint());
    Population passed, now;
    for (const Point &walker : walkers)
      now.emplace_back(costOf(walker), walker);
    double scale = spreadOf(now);
    for (size_t step = 0; step < steps; ++step)
      for (auto &[cost, point] : now) {
        Point next = point;
        move(next);
        next = space.reduced(std::move(next));
        double nextCost = costOf(next);
        passed.emplace_back(nextCost, next);
        if (isTaken(nextCost - cost, scale * static_cast<double>(steps - step) / steps))
          cost = nextCost, point = next;
      }
    for (auto [walker, end] : llvm::zip(walkers, now))
      walker = end.second;
    proposeBestOf(std::move(passed));
  }

private:
  static constexpr size_t walks = 6, steps = 16;

  bool isTaken(double worse, double warmth) { return worse <= 0 || drawPart() < std::exp(-worse / warmth); }
  /// The interquartile range of finite costs.
  static double spreadOf(Population population) {
    llvm::erase_if(population, [](const auto &of) { return of.first == std::numeric_limits<double>::infinity(); });
    return population.empty() ? 0 : (llvm::max_element(population)->first - llvm::min_element(population)->first) / 2;
  }

  std::pair<double, Point> here; ///< current point, without a model
  double temperature = 0.5;
  std::vector<Point> walkers;
};

/// Coordinate descent: one decision after another, to the neighbours of the best; starts with each sketch's given
/// point.
class CoordinateSearch : public SeededSearch {
public:
  CoordinateSearch(const Space &space, uint64_t seed) : SeededSearch(space, seed), best(space.given()) {}
  std::optional<Point> propose() override {
    if (std::optional<Point> first = nextSketch())
      return first;
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
    point = space.reduced(std::move(point));
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
      {"evolutionary", "children of the best points; a cost model also ranks the children of these",
       makeSearch<EvolutionarySearch>},
      {"genetic", "generations, whose parents win tournaments", makeSearch<GeneticSearch>},
      {"annealing", "walks to neighbours; accepts worse ones less and less often; uses the cost model if any",
       makeSearch<AnnealingSearch>},
      {"coordinate", "neighbours of the best point, decision by decision", makeSearch<CoordinateSearch>},
      {"grid", "every point, from coarse to fine", makeSearch<GridSearch>},
      {"random", "points of equal probability", makeSearch<RandomSearch>},
  };
  return list;
}
} // namespace perpend::tune
