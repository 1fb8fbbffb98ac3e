// order.suppress against plain loops: ties, NaN, boxes without area, corners in any order, and every limit.
#include "FakeCall.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

using perpend::testing::FakeCall;
using perpend::testing::FakeTensor;

namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

struct Problem {
  int64_t batches = 1, classes = 1, count = 0;
  std::vector<float> boxes, scores;
  int64_t most = 0;
  float overlap = 0;
  std::optional<float> least;
  bool isCentered = false;
};

std::array<float, 4> cornersOf(const Problem &problem, size_t box) {
  const float *four = problem.boxes.data() + 4 * box;
  std::array<float, 4> corners{};
  for (size_t dim = 0; dim < 2; ++dim) {
    const float half = four[dim + 2] * 0.5f;
    corners[dim] = problem.isCentered ? four[dim] - half : std::min(four[dim], four[dim + 2]);
    corners[dim + 2] = problem.isCentered ? four[dim] + half : std::max(four[dim], four[dim + 2]);
  }
  return corners;
}

bool overlaps(const Problem &problem, size_t first, size_t second) {
  const std::array<float, 4> a = cornersOf(problem, first), b = cornersOf(problem, second);
  auto area = [](const std::array<float, 4> &box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]), width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(height > 0 && width > 0 && area(a) > 0 && area(b) > 0))
    return false;
  const float common = height * width;
  const float both = area(a) + area(b), together = both - common;
  return together > 0 && common / together > problem.overlap;
}

std::vector<int64_t> expectedRows(const Problem &problem) {
  std::vector<int64_t> rows;
  for (int64_t line = 0; line < problem.batches * problem.classes; ++line) {
    const float *scores = problem.scores.data() + line * problem.count;
    std::vector<size_t> order(static_cast<size_t>(problem.count)), selected;
    std::iota(order.begin(), order.end(), size_t{0});
    auto isNaN = [&](size_t box) { return std::isnan(scores[box]); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { // NaN is the greatest
      const bool isGreater = scores[a] > scores[b] || (isNaN(a) && !isNaN(b));
      const bool isLess = scores[b] > scores[a] || (isNaN(b) && !isNaN(a));
      return isGreater || (!isLess && a < b);
    });
    for (size_t box : order) {
      const auto batch = static_cast<size_t>(line / problem.classes),
                 first = batch * static_cast<size_t>(problem.count);
      const bool passes = !problem.least || scores[box] > *problem.least;
      if (!passes || static_cast<int64_t>(selected.size()) >= problem.most ||
          std::any_of(selected.begin(), selected.end(),
                      [&](size_t other) { return overlaps(problem, first + other, first + box); }))
        continue;
      selected.push_back(box);
      rows.insert(rows.end(), {line / problem.classes, line % problem.classes, static_cast<int64_t>(box)});
    }
  }
  return rows;
}

perpend_status run(FakeCall &call, const Problem &problem) {
  std::vector<FakeTensor> inputs = {
      call.tensor(PERPEND_F32, {problem.batches, problem.count, 4}, problem.boxes),
      call.tensor(PERPEND_F32, {problem.batches, problem.classes, problem.count}, problem.scores),
      call.tensor<int64_t>(PERPEND_I64, {}, {problem.most}), call.tensor<float>(PERPEND_F32, {}, {problem.overlap})};
  if (problem.least)
    inputs.push_back(call.tensor<float>(PERPEND_F32, {}, {*problem.least}));
  return call.run(perpend_order_suppress, inputs, {PERPEND_I64}, problem.isCentered ? R"({"centered":1})" : "{}");
}

void check(const Problem &problem) {
  FakeCall call;
  ASSERT_EQ(run(call, problem), PERPEND_OK) << call.message;
  EXPECT_EQ(call.results[0].as<int64_t>(), expectedRows(problem))
      << problem.count << " boxes, most " << problem.most << ", overlap " << problem.overlap << ", least "
      << (problem.least ? std::to_string(*problem.least) : "none") << ", centered " << problem.isCentered;
}

// Scores are ties often; some coordinates and scores are special.
Problem problemOf(int64_t batches, int64_t classes, int64_t count, bool isSpecial) {
  std::mt19937 random(static_cast<unsigned>(count));
  Problem problem{batches, classes, count, {}, {}, 0, 0, {}, false};
  for (int64_t i = 0; i < batches * count * 4; ++i)
    problem.boxes.push_back(static_cast<float>(random() % 64) / 8);
  for (int64_t i = 0; i < batches * classes * count; ++i)
    problem.scores.push_back(static_cast<float>(random() % 65) / 64);
  const float specials[] = {none, infinity, -infinity, -0.0f, -none};
  for (size_t i = 0; isSpecial && i < problem.boxes.size(); i += 7)
    problem.boxes[i] = specials[random() % 5];
  for (size_t i = 0; isSpecial && i < problem.scores.size(); i += 5)
    problem.scores[i] = specials[random() % 5];
  return problem;
}

TEST(SuppressionTest, AllLimits) {
  for (auto [batches, classes, count] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 0}, {1, 1, 1}, {0, 2, 5}, {2, 0, 5}, {2, 3, 39}, {1, 2, 1025}, {3, 67, 17}})
    for (bool isSpecial : {false, true})
      for (bool isCentered : {false, true})
        for (std::optional<float> least :
             {std::optional<float>(), {0}, {-0.0f}, {0.5}, {1}, {none}, {infinity}, {-infinity}})
          for (int64_t most : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{16}, int64_t{17}, INT64_MAX})
            for (float overlap : {0.0f, 0.3f, 1.0f}) {
              Problem problem = problemOf(batches, classes, count, isSpecial);
              problem.most = most, problem.overlap = overlap, problem.least = least, problem.isCentered = isCentered;
              check(problem);
            }
}

// The square of side 2 at 0, its half, the half from the other corners, and boxes without area.
TEST(SuppressionTest, KnownBoxes) {
  FakeCall call;
  Problem problem{1, 1,  6,    {0, 0, 2, 2, 0, 0, 2, 1, 2, 2, 0, 1, 1, 1, 1, 2, 1, 1, 1, 1, 5, 5, 6, 6}, {}, 9,
                  0, {}, false};
  problem.scores = {0.5f, 0.75f, 0.5f, 0.25f, 1, 0.25f};
  auto boxes = [&](float overlap) {
    problem.overlap = overlap;
    EXPECT_EQ(run(call, problem), PERPEND_OK) << call.message;
    std::vector<int64_t> rows = call.results[0].as<int64_t>(), found;
    for (size_t i = 2; i < rows.size(); i += 3)
      found.push_back(rows[i]);
    return found;
  };
  EXPECT_EQ(boxes(0.49f), (std::vector<int64_t>{4, 1, 2, 3, 5})); // the halves share an edge
  EXPECT_EQ(boxes(0.5f), (std::vector<int64_t>{4, 1, 0, 2, 3, 5}));
  problem.least = 0.5f;
  EXPECT_EQ(boxes(0.49f), (std::vector<int64_t>{4, 1}));
}

TEST(SuppressionTest, Refused) {
  FakeCall call;
  Problem problem = problemOf(1, 1, 3, false);
  problem.boxes.resize(8);
  std::vector<FakeTensor> inputs = {call.tensor(PERPEND_F32, {1, 2, 4}, problem.boxes),
                                    call.tensor(PERPEND_F32, {1, 1, 3}, problem.scores)};
  EXPECT_EQ(call.run(perpend_order_suppress, inputs, {PERPEND_I64}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected boxes [b, n, 4] and scores [b, c, n] of f32");
}

} // namespace
