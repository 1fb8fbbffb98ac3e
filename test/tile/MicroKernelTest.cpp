//===- MicroKernelTest.cpp - tile-lower-ukernels against a naive loop ------===//

#include "Jit.h"
#include "tile/passes/Passes.h"

#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace perpend::tile;

namespace {

struct Shape {
  int64_t aOffset, aStride, bOffset, cOffset, cStride, depth, counts[2], aSteps[2], bSteps[2];
};

using Kernel = void(Buffer *, Buffer *, Buffer *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                    int64_t, int64_t, int64_t, int64_t, int64_t);

struct Block {
  int64_t rows, cols;
  std::string name() const { return llvm::formatv("block_{0}x{1}", rows, cols); }
};

const std::vector<Block> blocks = {{1, 1},  {8, 1},  {1, 8},  {1, 16},  {1, 32}, {1, 64},  {2, 16}, {2, 32}, {3, 5},
                                   {3, 24}, {4, 24}, {6, 16}, {6, 64},  {7, 32}, {8, 8},   {8, 32}, {8, 48}, {9, 16},
                                   {12, 8}, {5, 40}, {3, 33}, {13, 32}, {14, 7}, {14, 32}, {24, 16}};

std::string sourceOf(const Block &block) {
  return llvm::formatv(R"(
    func.func @{0}(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %ao: index, %as: index, %bo: index, %co: index, %cs: index,
        %depth: index, %n0: index, %n1: index, %as0: index, %as1: index, %bs0: index, %bs1: index) attributes {{llvm.emit_c_interface} {{
      tile.ukernel %a[%ao, %as], %b[%bo], %c[%co, %cs] depth %depth window(%n0, %n1) steps(%as0, %as1)(%bs0, %bs1) block {1} x {2}
        : memref<?xf32>, memref<?xf32>, memref<?xf32>
      return
    })",
                       block.name(), block.rows, block.cols);
}

Jit compile(int64_t lanes) {
  std::string source;
  for (const Block &block : blocks)
    source += sourceOf(block);
  perpend::target::TargetInfo target;
  target.vectorBytes = 4 * lanes;
  target.vectorRegisters = lanes == 16 ? 32 : 16;
  return Jit(source, createTileLowerMicroKernels({target}));
}

/// The definition of tile.ukernel.
void contract(const Block &block, const Shape &s, const std::vector<float> &a, const std::vector<float> &b,
              std::vector<float> &c) {
  for (int64_t m = 0; m < block.rows; ++m)
    for (int64_t n = 0; n < block.cols; ++n) {
      double sum = 0;
      for (int64_t o = 0; o < s.counts[0]; ++o)
        for (int64_t i = 0; i < s.counts[1]; ++i)
          for (int64_t k = 0; k < s.depth; ++k)
            sum += double(a[s.aOffset + o * s.aSteps[0] + i * s.aSteps[1] + m * s.aStride + k]) *
                   b[s.bOffset + o * s.bSteps[0] + i * s.bSteps[1] + k * block.cols + n];
      c[s.cOffset + m * s.cStride + n] = sum;
    }
}

class MicroKernelTest : public testing::TestWithParam<int64_t> {
protected:
  std::mt19937 random{7};

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  std::vector<float> numbers(int64_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    return values;
  }

  Shape shapeFor(const Block &block, int64_t depth, int64_t outer, int64_t inner) {
    int64_t bStep = depth * block.cols + pick(0, 5);
    return {pick(0, 9),     depth + pick(0, 40),       pick(0, 9),
            pick(0, 9),     block.cols + pick(0, 9),   depth,
            {outer, inner}, {pick(0, 90), pick(0, 9)}, {inner * bStep, bStep}};
  }

  void check(Kernel *kernel, const Block &block, const Shape &s) {
    std::vector<float> a =
        numbers(s.aOffset + s.counts[0] * s.aSteps[0] + s.counts[1] * s.aSteps[1] + block.rows * s.aStride + s.depth);
    std::vector<float> b =
        numbers(s.bOffset + s.counts[0] * s.bSteps[0] + s.counts[1] * s.bSteps[1] + s.depth * block.cols);
    std::vector<float> c = numbers(s.cOffset + block.rows * s.cStride + 64), expected = c;
    contract(block, s, a, b, expected);
    Buffer aBuffer = bufferOf(a), bBuffer = bufferOf(b), cBuffer = bufferOf(c);
    kernel(&aBuffer, &bBuffer, &cBuffer, s.aOffset, s.aStride, s.bOffset, s.cOffset, s.cStride, s.depth, s.counts[0],
           s.counts[1], s.aSteps[0], s.aSteps[1], s.bSteps[0], s.bSteps[1]);
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], expected[i], 1e-4)
          << block.name() << " at " << i << ", depth " << s.depth << ", window " << s.counts[0] << " x " << s.counts[1];
  }
};

TEST_P(MicroKernelTest, EqualsNaiveLoop) {
  Jit jit = compile(GetParam());
  for (const Block &block : blocks) {
    auto *kernel = jit.function<Kernel>(block.name());
    for (int64_t depth : {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 64, 131})
      check(kernel, block, shapeFor(block, depth, 1, 1));
    for (int trial = 0; trial < 10; ++trial)
      check(kernel, block, shapeFor(block, pick(0, 20), pick(0, 3), pick(0, 3)));
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, MicroKernelTest, testing::Values(4, 8, 16));

} // namespace
