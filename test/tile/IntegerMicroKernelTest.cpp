//===- IntegerMicroKernelTest.cpp - integers in tile.ukernel, bit for bit ---===//

#include "Jit.h"
#include "target/cpu/passes/Passes.h"
#include "tile/passes/Passes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace perpend::tile;

namespace {

/// One way to lower: elements of b, lanes of a vector, and whether the instructions are those of VNNI.
struct Variant {
  const char *type;
  int64_t lanes;
  bool hasVnni;
  /// Vectors of 64 bytes, with instructions for 32.
  bool isHalved = false;
};

bool isOffered(const Variant &variant) {
  auto features = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef name) { return features.lookup(name); };
  if (variant.lanes == 16)
    return variant.hasVnni ? has("avx512vnni") : has("avx512bw");
  return variant.hasVnni ? has("avxvnni") || (has("avx512vnni") && has("avx512vl")) : variant.lanes == 4 || has("avx2");
}

struct Block {
  int64_t rows, cols;
  std::string name() const { return llvm::formatv("block_{0}x{1}", rows, cols); }
};

const std::vector<Block> blocks = {{1, 1},  {1, 4},  {8, 1},  {1, 32},  {3, 8},
                                   {5, 24}, {8, 32}, {4, 48}, {14, 16}, {2, 64}};

std::string sourceOf(const Block &block, const char *type) {
  return llvm::formatv(R"(
    func.func @{0}(%a: memref<?x{3}>, %b: memref<?x{3}>, %c: memref<?xi32>, %ao: index, %as: index, %bo: index, %co: index, %cs: index,
        %depth: index, %n0: index, %n1: index, %as0: index, %as1: index, %bs0: index, %bs1: index) attributes {{llvm.emit_c_interface} {{
      tile.ukernel %a[%ao, %as], %b[%bo], %c[%co, %cs] depth %depth window(%n0, %n1) steps(%as0, %as1)(%bs0, %bs1) block {1} x {2} group {4}
        : memref<?x{3}>, memref<?x{3}>, memref<?xi32>
      return
    })",
                       block.name(), block.rows, block.cols, type, type == std::string("i16") ? 2 : 4);
}

template <typename T> StridedMemRefType<T, 1> view(std::vector<T> &values) {
  return {values.data(), values.data(), 0, {static_cast<int64_t>(values.size())}, {1}};
}

class IntegerMicroKernelTest : public testing::TestWithParam<Variant> {
protected:
  std::mt19937 random{7};

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  /// A third of the elements are the least and a third the greatest.
  template <typename T> std::vector<T> numbers(int64_t count) {
    std::vector<T> values(count);
    constexpr int64_t least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
    for (T &value : values) {
      int64_t kind = pick(0, 2);
      value = static_cast<T>(kind == 0 ? least : kind == 1 ? greatest : pick(least, greatest));
    }
    return values;
  }

  template <typename Left, typename Right> void check(Jit &jit, const Block &block, int64_t depth, int64_t window) {
    constexpr int64_t group = 4 / sizeof(Right);
    using Kernel =
        void(StridedMemRefType<Left, 1> *, StridedMemRefType<Right, 1> *, StridedMemRefType<int32_t, 1> *, int64_t,
             int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
    int64_t aOffset = pick(0, 9), aStride = depth + pick(0, 40), aStep = pick(0, 90), bStep = depth * block.cols;
    int64_t bOffset = pick(0, 9), cOffset = pick(0, 9), cStride = block.cols + pick(0, 9);
    auto a = numbers<Left>(aOffset + window * aStep + block.rows * aStride + depth);
    auto b = numbers<Right>(bOffset + window * bStep + depth * block.cols);
    std::vector<int32_t> c = numbers<int32_t>(cOffset + block.rows * cStride), expected = c;
    for (int64_t m = 0; m < block.rows; ++m)
      for (int64_t n = 0; n < block.cols; ++n) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < window; ++i)
          for (int64_t k = 0; k < depth; ++k)
            sum +=
                static_cast<uint32_t>(a[aOffset + i * aStep + m * aStride + k]) *
                static_cast<uint32_t>(b[bOffset + i * bStep + k / group * group * block.cols + n * group + k % group]);
        expected[cOffset + m * cStride + n] = static_cast<int32_t>(sum);
      }
    auto aView = view(a);
    auto bView = view(b);
    auto cView = view(c);
    jit.function<Kernel>(block.name())(&aView, &bView, &cView, aOffset, aStride, bOffset, cOffset, cStride, depth, 1,
                                       window, 0, aStep, 0, bStep);
    ASSERT_EQ(c, expected) << block.name() << ", depth " << depth << ", window " << window;
  }
};

TEST_P(IntegerMicroKernelTest, EqualsNaiveLoop) {
  Variant variant = GetParam();
  if (!isOffered(variant))
    GTEST_SKIP() << "this processor has no such instructions";
  std::string source;
  for (const Block &block : blocks)
    source += sourceOf(block, variant.type);
  std::vector<std::unique_ptr<mlir::Pass>> lowerings;
  perpend::target::TargetInfo target;
  target.vectorBytes = 4 * variant.lanes;
  target.vectorRegisters = variant.lanes == 16 ? 32 : 16;
  target.accumulatesDots = variant.hasVnni;
  if (variant.hasVnni && !variant.isHalved)
    target.isa = {"avx512vnni"};
  lowerings.push_back(createTileLowerMicroKernels({target}));
  lowerings.push_back(perpend::target::createCpuLowerDots({target}));
  Jit jit(source, std::move(lowerings));
  bool isPair = variant.type == std::string("i16");
  for (const Block &block : blocks)
    for (int64_t words : {0, 1, 2, 3, 4, 5, 9, 17, 130})
      for (int64_t window : {1, 3}) {
        if (isPair)
          check<int16_t, int16_t>(jit, block, 2 * words, window);
        else
          check<uint8_t, int8_t>(jit, block, 4 * words, window);
        if (HasFatalFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Variants, IntegerMicroKernelTest,
                         testing::Values(Variant{"i16", 4, false}, Variant{"i16", 8, false}, Variant{"i16", 16, false},
                                         Variant{"i16", 4, true}, Variant{"i16", 8, true}, Variant{"i16", 16, true},
                                         Variant{"i8", 4, true}, Variant{"i8", 8, true}, Variant{"i8", 16, true},
                                         Variant{"i16", 16, true, true}, Variant{"i8", 16, true, true}),
                         [](const testing::TestParamInfo<Variant> &info) {
                           const Variant &v = info.param;
                           const char *name = v.isHalved ? "avxvnni" : v.hasVnni ? "vnni" : "pmaddwd";
                           return llvm::formatv("{0}_{1}lanes_{2}", v.type, v.lanes, name).str();
                         });

} // namespace
