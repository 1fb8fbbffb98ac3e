//===- SequencesTest.cpp - scatter, sort and scan -------------------------===//

#include "Module.h"

#include <cmath>
#include <limits>

using namespace perpend::interp;
using Shape = std::vector<int64_t>;

static std::vector<float> runOnFloats(const std::string &op, const Shape &shape, llvm::ArrayRef<float> values) {
  std::string type = tensorText(shape, "f32");
  Module module(mainOf({type}, op + " : " + type + " -> " + type, type));
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), shape, values)});
  return results.size() == 1 ? valuesOf<float>(results[0]) : std::vector<float>();
}

template <typename T>
static std::vector<int64_t> sorted(const std::string &flags, const std::string &element, llvm::ArrayRef<T> values,
                                   std::optional<int64_t> wanted = std::nullopt) {
  int64_t count = static_cast<int64_t>(values.size());
  std::string type = tensorText({count}, element), result = tensorText({wanted.value_or(count)}, "i64");
  Module module(mainOf({type}, "graph.sort " + flags + " %a dim 0 : " + type + " -> " + result, result));
  std::vector<Tensor> results = module.run({Tensor::of<T>(module.type(element), {count}, values)});
  return results.size() == 1 ? valuesOf<int64_t>(results[0]) : std::vector<int64_t>();
}

TEST(Sequences, sortIsStableAndPutsNaNLast) {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{2, nan, -0.0f, infinity, 0.0f, nan, 2, -1};
  EXPECT_EQ(sorted<float>("", "f32", values), (std::vector<int64_t>{7, 2, 4, 0, 6, 3, 1, 5}));
  EXPECT_EQ(sorted<float>("descending", "f32", values), (std::vector<int64_t>{1, 5, 3, 0, 6, 2, 4, 7}));
}

TEST(Sequences, sortGivesTheFirstPositions) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values{2, nan, 1, 2, nan, 0};
  EXPECT_EQ(sorted<float>("", "f32", values, 3), (std::vector<int64_t>{5, 2, 0}));
  EXPECT_EQ(sorted<float>("descending", "f32", values, 3), (std::vector<int64_t>{1, 4, 0}));
  EXPECT_TRUE(sorted<float>("", "f32", values, 0).empty());
}

TEST(Sequences, sortKnowsSigns) {
  EXPECT_EQ(sorted<uint8_t>("", "ui8", {200, 1, 127}), (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(sorted<int8_t>("", "i8", {-56, 1, 127}), (std::vector<int64_t>{0, 1, 2}));
  std::vector<int64_t> wide{(int64_t{1} << 62) + 1, int64_t{1} << 62, -1}; // equal as doubles
  EXPECT_EQ(sorted<int64_t>("", "i64", wide), (std::vector<int64_t>{2, 1, 0}));
}

TEST(Sequences, sortOfNothing) { EXPECT_TRUE(sorted<float>("", "f32", {}).empty()); }

TEST(Sequences, lexicographicSortComparesTheFirstKeyFirst) {
  Module module(mainOf({"tensor<4x2xi8>"}, "graph.sort lexicographic %a dim 0 : tensor<4x2xi8> -> tensor<4xi64>",
                       "tensor<4xi64>"));
  std::vector<int8_t> keys{1, 2, 0, 9, 1, 1, 0, 9};
  std::vector<Tensor> results = module.run({Tensor::of<int8_t>(module.type("i8"), {4, 2}, keys)});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<int64_t>(results[0]), (std::vector<int64_t>{1, 3, 2, 0}));
}

TEST(Sequences, scan) {
  EXPECT_EQ(runOnFloats("graph.scan sum %a dim 1", {2, 3}, {1, 2, 3, 10, 20, 30}),
            (std::vector<float>{1, 3, 6, 10, 30, 60}));
  EXPECT_EQ(runOnFloats("graph.scan product %a dim 0", {2, 3}, {1, 2, 3, 10, 20, 30}),
            (std::vector<float>{1, 2, 3, 10, 40, 90}));
  EXPECT_EQ(runOnFloats("graph.scan min %a dim 1", {2, 2}, {3, 4, 2, 1}), (std::vector<float>{3, 3, 2, 1}));
  EXPECT_TRUE(runOnFloats("graph.scan sum %a dim 1", {2, 0}, {}).empty());
}

TEST(Sequences, scanPropagatesNaN) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> result = runOnFloats("graph.scan max %a dim 0", {3}, {1, nan, 2});
  ASSERT_EQ(result.size(), 3u);
  EXPECT_EQ(result[0], 1);
  EXPECT_TRUE(std::isnan(result[1]) && std::isnan(result[2]));
}

namespace {
struct Scatter {
  const char *reduction;
  std::vector<float> expected;
};
} // namespace

class ScatterTest : public ::testing::TestWithParam<Scatter> {};

/// Positions outside are left out; of several updates of one element the last one stays.
TEST_P(ScatterTest, inOrder) {
  Module module(mainOf({"tensor<3x2xf32>", "tensor<4x1xi64>", "tensor<4x2xf32>"},
                       std::string("graph.scatter %a [%b] ") + GetParam().reduction +
                           " to %c : (tensor<3x2xf32>, tensor<4x1xi64>, tensor<4x2xf32>) -> tensor<3x2xf32>",
                       "tensor<3x2xf32>"));
  std::vector<float> input{1, 2, 3, 4, 5, 6}, updates{2, 3, 20, 30, 200, 300, 7, 8};
  std::vector<int64_t> indices{2, -1, 3, 2};
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {3, 2}, input),
                                            Tensor::of<int64_t>(module.type("i64"), {4, 1}, indices),
                                            Tensor::of<float>(module.type("f32"), {4, 2}, updates)});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<float>(results[0]), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Sequences, ScatterTest,
                         ::testing::Values(Scatter{"", {1, 2, 3, 4, 7, 8}}, Scatter{"by sum", {1, 2, 3, 4, 14, 17}},
                                           Scatter{"by product", {1, 2, 3, 4, 70, 144}},
                                           Scatter{"by max", {1, 2, 3, 4, 7, 8}},
                                           Scatter{"by min", {1, 2, 3, 4, 2, 3}}));
