//===- SearchTest.cpp - which points of a space are tried -----------------===//

#include "Blocks.h"

#include "tune/Search.h"

#include <cmath>
#include <limits>
#include <set>

using namespace perpend;
using namespace perpend::tune;

namespace {
class EverySearch : public testing::TestWithParam<SearchInfo> {
protected:
  /// So many proposals; each is told a time that depends on the point alone.
  std::vector<Point> proposals(const Space &space, uint64_t seed, size_t most) {
    std::unique_ptr<Search> search = GetParam().make(space, seed);
    std::vector<Point> points;
    while (points.size() < most) {
      std::optional<Point> point = search->propose();
      if (!point)
        break;
      points.push_back(*point);
      double number = numberOf(space, *point);
      search->tell(*point, std::fmod(number, 7) == 0 ? std::numeric_limits<double>::infinity()
                                                     : 0.5 + std::fmod(number * 0.618, 1));
    }
    return points;
  }
  Blocks blocks{Blocks::product("128", "96", "256")}, little{Blocks::product("2", "3", "2")};
  Space space = blocks.spaceOf(tiledProduct()), tiny = little.spaceOf(tiledProduct());
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Searches, EverySearch, testing::ValuesIn(searches().begin(), searches().end()),
                         [](const auto &info) { return info.param.name.str(); });

TEST_P(EverySearch, DependsOnTheSeedAlone) {
  EXPECT_EQ(proposals(space, 1, 200), proposals(space, 1, 200));
  EXPECT_NE(proposals(space, 1, 200), proposals(space, 2, 200));
}

TEST_P(EverySearch, ProposesNothingTwice) {
  std::vector<Point> points = proposals(space, 3, 500);
  EXPECT_EQ(points.size(), 500U);
  std::set<Point> seen = {space.given()};
  for (const Point &point : points) {
    ASSERT_EQ(point.size(), space.decisions().size());
    for (auto [decision, choice] : llvm::zip(space.decisions(), point))
      EXPECT_LT(choice, decision.choices.size());
    EXPECT_TRUE(seen.insert(point).second);
  }
}

TEST_P(EverySearch, WhatItWasToldItKnows) {
  std::unique_ptr<Search> search = GetParam().make(tiny, 1);
  Point known = tiny.given();
  known[0] = known[0] ? 0 : 1;
  search->tell(known, 0.9); // found before
  while (std::optional<Point> point = search->propose()) {
    EXPECT_NE(*point, known);
    search->tell(*point, 1.5);
  }
}

TEST_P(EverySearch, EndsOnATinySpace) {
  ASSERT_LT(tiny.size(), 100);
  size_t others = static_cast<size_t>(tiny.size()) - 1, found = proposals(tiny, 1, 1000).size();
  EXPECT_LE(found, others);
  EXPECT_GE(found, others * 9 / 10);
}

TEST_P(EverySearch, EndsAtOnceWithoutDecisions) {
  Space none = blocks.spaceOf({});
  EXPECT_EQ(GetParam().make(none, 1)->propose(), std::nullopt);
}

TEST_P(EverySearch, AllRefused) {
  std::unique_ptr<Search> search = GetParam().make(tiny, 1);
  double count = 0;
  while (std::optional<Point> point = search->propose()) {
    search->tell(*point, std::numeric_limits<double>::infinity());
    ASSERT_LT(++count, tiny.size());
  }
  EXPECT_GE(count, (tiny.size() - 1) * 0.9);
}

/// Each trace of some sketches is proposed once.
TEST_P(EverySearch, OfSketches) {
  Space other = little.spaceOf(*readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n"
                                          "%j0, %j1 = split %j, [_, 2]\n%k0, %k1 = split %k, [_, 2]\n")),
        sketches = Space::unionOf({Space::ofOne({}), tiny, other});
  std::set<std::string> traces;
  std::set<size_t> tried;
  for (const Point &point : proposals(sketches, 1, 1000)) {
    EXPECT_EQ(point, sketches.reduced(point));
    EXPECT_TRUE(traces.insert(llvm::join(linesOf(sketches.traceAt(point)), "\n")).second);
    tried.insert(sketches.sketchOf(point));
  }
  EXPECT_GE(static_cast<double>(traces.size()), (sketches.size() - 1) * 0.9);
  EXPECT_EQ(tried, (std::set<size_t>{1, 2}));
}

//===----------------------------------------------------------------------===//
// How good they are
//===----------------------------------------------------------------------===//

/// Each decision costs the more, the farther its choice is from one place.
static double costAt(const Space &space, const Point &point) {
  double cost = 0.1;
  for (auto [decision, choice] : llvm::zip(space.decisions(), point)) {
    auto count = static_cast<double>(decision.choices.size());
    cost += std::abs(choice - std::floor(0.7 * (count - 1))) / count;
  }
  return cost;
}

/// Tells until the optimum, in the median of seeds.
static size_t tellsOf(const SearchInfo &info, const Space &space) {
  std::vector<size_t> counts;
  for (uint64_t seed = 1; seed <= 11; ++seed) {
    std::unique_ptr<Search> search = info.make(space, seed);
    size_t count = 0;
    double given = costAt(space, space.given());
    while (std::optional<Point> point = search->propose()) {
      ++count;
      double cost = costAt(space, *point);
      if (cost == 0.1)
        break;
      search->tell(*point, cost / given);
    }
    counts.push_back(count);
  }
  std::nth_element(counts.begin(), counts.begin() + 5, counts.end());
  return counts[5];
}

TEST(Search, FindsTheOptimumBeforeChanceDoes) {
  Blocks blocks(Blocks::product("24", "16", "24"));
  Space space = blocks.spaceOf(tiledProduct());
  ASSERT_GT(space.size(), 2000);
  std::map<std::string, size_t> tells;
  for (const SearchInfo &info : searches())
    tells[info.name.str()] = tellsOf(info, space);
  EXPECT_LT(tells["evolutionary"] * 4, tells["random"]);
  EXPECT_LT(tells["coordinate"] * 4, tells["random"]);
  for (auto [name, count] : tells)
    RecordProperty(name, static_cast<int>(count));
}

TEST(Search, RandomCoversTheSpace) {
  Blocks blocks(Blocks::product("24", "16", "24"));
  Space space = blocks.spaceOf(tiledProduct());
  const SearchInfo *info = llvm::find_if(searches(), [](const SearchInfo &info) { return info.name == "random"; });
  std::unique_ptr<Search> search = info->make(space, 1);
  std::vector<std::vector<int>> counts;
  for (const Decision &decision : space.decisions())
    counts.emplace_back(decision.choices.size());
  for (int i = 0; i < 500; ++i) {
    Point point = *search->propose();
    for (size_t number = 0; number < point.size(); ++number)
      ++counts[number][point[number]];
  }
  for (const std::vector<int> &of : counts) {
    auto [least, most] = std::minmax_element(of.begin(), of.end());
    EXPECT_GT(*least, 0);
    EXPECT_LT(*most, 4 * 500 / static_cast<int>(of.size()));
  }
}
