//===- FeaturesTest.cpp - a scheduled kernel as numbers -------------------===//

#include "Blocks.h"

#include "tune/Features.h"

#include <cmath>

using namespace perpend;
using namespace perpend::tune;

namespace {
class FeaturesTest : public testing::Test {
protected:
  void schedule(const std::string &trace) {
    ASSERT_TRUE(succeeded(tile::KernelSchedule(blocks.kernel()).replay(*readTrace(trace))));
    features = featuresOf(blocks.kernel(), blocks.target);
    ASSERT_EQ(features.size(), featureNames().size());
  }
  /// As it was before its logarithm was taken.
  double of(const std::string &name) {
    auto found = llvm::find(featureNames(), name);
    EXPECT_NE(found, featureNames().end()) << name;
    return std::exp2(features[found - featureNames().begin()]) - 1;
  }
  Blocks blocks{Blocks::product("8", "12", "32")};
  Features features;
};
} // namespace

TEST_F(FeaturesTest, OfAProductAsItIs) {
  schedule("");
  std::vector<std::pair<std::string, double>> expected = {
      {"units", 1},
      {"bytes", 64 * (8 * 1 + 12 * 2 + 8 * 2)}, // rows in lines of 64 bytes
      {"local bytes", 0},
      {"blocks", 1},
      {"loops", 3},
      {"vectorised loops", 0},
      {"unrolled loops", 0},
      {"block 0: instances", 8 * 12 * 32},
      {"block 0: repetition", 1},
      {"block 0: work", 2},
      {"block 0: products", 1},
      {"block 0: costly operations", 0},
      {"block 0: loads", 3},
      {"block 0: stores", 1},
      {"block 0: lanes", 1},
      {"block 0: filled lanes", 1.0 / 8},
      {"block 0: unrolled", 1},
      {"block 0: sums in registers", 1},
      {"block 0: is in an intrinsic", 0},
      // Along the sum: the result, a row of the first operand, a column of the second.
      {"block 0: uniform", 2},
      {"block 0: contiguous", 1},
      {"block 0: strided", 0},
      {"block 0: of far lines", 1},
      {"block 0: loop 0: extent", 12},
      {"block 0: loop 0: bytes", 64 + 12 * 64 + 64},
      {"block 0: loop 0: is reduced", 1},
      {"block 0: loop 1: extent", 32},
      {"block 0: loop 1: is reduced", 0},
      {"block 0: loop 2: extent", 8},
      {"block 0: loop 3: extent", 0},
      {"block 1: instances", 0}};
  for (const auto &[name, value] : expected)
    EXPECT_NEAR(of(name), value, 1e-3 * (1 + value)) << name;
}

TEST_F(FeaturesTest, OfAProductInBlocks) {
  schedule("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%i0, %i1 = split %i, [_, 3]\n"
           "%j0, %j1 = split %j, [_, 16]\nreorder %i0, %j0, %k, %i1, %j1\nunroll %i1\nvectorize %j1\nparallel %i0\n");
  std::vector<std::pair<std::string, double>> expected = {
      {"units", 3},
      {"loops", 5},
      {"vectorised loops", 1},
      {"unrolled loops", 1},
      {"block 0: instances", 9 * 12 * 32}, // a row of nine is not there
      {"block 0: repetition", 9.0 / 8},
      {"block 0: lanes", 16},
      {"block 0: pieces of vectors", 2},
      {"block 0: filled lanes", 1},
      {"block 0: unrolled", 3},
      {"block 0: conditions", 1},
      {"block 0: lanes that conditions cut", 0},
      {"block 0: sums in registers", 6},
      {"block 0: uniform", 1},
      {"block 0: contiguous", 3},
      {"block 0: of far lines", 0},
      {"block 0: loop 0: extent", 12},
      {"block 0: loop 0: is reduced", 1},
      {"block 0: loop 1: extent", 2},
      {"block 0: loop 2: extent", 3},
      {"block 0: loop 3: extent", 0}};
  for (const auto &[name, value] : expected)
    EXPECT_NEAR(of(name), value, 1e-3 * (1 + value)) << name;
}

TEST_F(FeaturesTest, ARestWithoutVectors) {
  schedule("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%j0, %j1 = split %j, [_, 13]\n"
           "reorder %i, %j0, %k, %j1\nvectorize %j1\n");
  EXPECT_NEAR(of("block 0: pieces of vectors"), 3, 1e-3); // 8, 4 and 1
  EXPECT_NEAR(of("block 0: filled lanes"), 13.0 / 16, 1e-3);
  EXPECT_NEAR(of("block 0: lanes that conditions cut"), 6.0 / 32, 1e-3); // 13 + 13 + 6
}

TEST_F(FeaturesTest, AFasterScheduleHasOtherNumbers) {
  schedule("");
  Features before = features;
  schedule("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\nreorder %i, %k, %j\nvectorize %j\n");
  EXPECT_NE(features, before);
  EXPECT_LT(of("arithmetic time"), std::exp2(before[0]) - 1);
}
