//===- IndexMapTest.cpp - maps of indices, against all of their points ----===//

#include "tile/schedule/IndexMap.h"

#include "Module.h"

#include <set>

using namespace perpend::tile;
using perpend::interp::Random;

namespace {
using Point = std::vector<int64_t>;

std::vector<Point> pointsIn(llvm::ArrayRef<int64_t> extents) {
  std::vector<Point> points = {{}};
  for (int64_t extent : extents) {
    std::vector<Point> longer;
    for (const Point &point : points)
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    points = longer;
  }
  return points;
}

Shape asExpressions(llvm::ArrayRef<int64_t> numbers) { return Shape(numbers.begin(), numbers.end()); }

/// Sums of digits, shuffled, some of them wrong.
std::string randomMap(Random &random, llvm::ArrayRef<int64_t> extents) {
  std::vector<std::string> digits;
  std::string inputs, outputs;
  for (size_t i = 0; i < extents.size(); ++i) {
    std::string name = "d" + std::to_string(i), factor = std::to_string(random.integer(1, 4));
    inputs += (i ? ", " : "") + name;
    if (random.integer(0, 1)) {
      digits.push_back(name);
    } else {
      digits.push_back(name + " floordiv " + factor);
      digits.push_back(name + " mod " + (random.integer(0, 5) ? factor : std::to_string(random.integer(1, 4))));
    }
  }
  std::shuffle(digits.begin(), digits.end(), random.engine);
  for (const std::string &digit : digits)
    if (random.integer(0, 2) || outputs.empty())
      outputs += (outputs.empty() ? "" : ", ") + digit;
    else
      outputs += " + " + std::to_string(random.integer(1, 6)) + " * (" + digit + ")";
  return "(" + inputs + ") -> (" + outputs + ")";
}
} // namespace

/// A map that is accepted gives each point a result of its own, within the extents, from which the inverse finds it.
TEST(IndexMap, isOneToOne) {
  Random random;
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<int64_t> extents;
    for (int64_t rank = random.integer(1, 3); rank > 0; --rank)
      extents.push_back(random.integer(1, 7));
    std::string text = randomMap(random, extents), why;
    std::optional<IndexMap> map = IndexMap::parse(text, why);
    ASSERT_TRUE(map) << text << ": " << why;
    std::optional<IndexMap> again = IndexMap::parse(map->str(), why);
    ASSERT_TRUE(again && again->str() == map->str()) << text << ": " << map->str();
    std::optional<Renumbering> layout = Renumbering::of(*map, asExpressions(extents), why);
    if (!layout)
      continue;
    ++accepted;
    std::set<Point> results;
    for (const Point &point : pointsIn(extents)) {
      Shape values = map->apply(asExpressions(point));
      Point result;
      for (auto [value, extent] : llvm::zip(values, layout->extents)) {
        result.push_back(*value.constant());
        ASSERT_TRUE(result.back() >= 0 && result.back() < *extent.constant()) << text;
      }
      ASSERT_TRUE(results.insert(result).second) << text;
      ASSERT_EQ(layout->invert(values), asExpressions(point)) << text;
    }
  }
  EXPECT_GT(accepted, 200);
}

TEST(IndexMap, namesWhatItCannotRead) {
  std::string why;
  EXPECT_FALSE(IndexMap::parse("i, j", why));
  EXPECT_EQ(why, "expected a map such as (i, j) -> (j, i), got 'i, j'");
  EXPECT_FALSE(IndexMap::parse("(i, i) -> (i)", why));
  EXPECT_EQ(why, "expected a name for each input, all of them different, got 'i'");
  EXPECT_FALSE(IndexMap::parse("(i) -> (i mod)", why));
  EXPECT_EQ(why, "expected an expression of the inputs, got 'i mod'");
}
