//===- RegistersTest.cpp - blocks of sums in registers, bit for bit -------===//

#include "../amx/TileMachine.h"
#include "Jit.h"
#include "tile/passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <map>
#include <random>

using namespace perpend::tile;

namespace {

/// The highest half of an f32.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float value) : bits(std::bit_cast<uint32_t>(value) >> 16) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// An intrinsic on a machine.
struct Variant {
  const char *intrinsic;
  int64_t bytes; // of a vector
  /// What the machine has; steps need some of that.
  std::vector<std::string> features = {};
  /// Words of which the depth is a multiple: of one that multiplies tiles, which test/amx executes.
  int64_t depth = 1;

  bool isOfTiles() const { return depth > 1; }
  std::string name() const {
    std::string text = llvm::formatv("{0}_{1}", intrinsic, bytes);
    for (const std::string &feature : features)
      text += "_" + feature;
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '-'; }, '_');
    return text;
  }
};

bool isOffered(const Variant &variant) {
  auto host = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef name) { return host.lookup(name); };
  if (variant.isOfTiles())
    return true;
  const char *vectors = variant.bytes == 64 ? "avx512bw" : variant.bytes == 32 ? "avx2" : "sse2";
  return has(vectors) && llvm::all_of(variant.features, has);
}

struct Block {
  int64_t rows, cols;
  /// Whether the code has the rows as a number.
  bool isFixed = true;
  /// Each of so many rows, and whether the code has them as a number.
  int64_t lines = 1;
  bool areLinesFixed = true;
  /// Words between two rows of a panel.
  int64_t gap = 0;
  /// Words of the depth, if the code has them as a number; 0: it does not.
  int64_t words = 0;
  std::string name() const {
    return llvm::formatv("block_{0}x{1}_{2}_{3}_{4}", isFixed ? std::to_string(rows) : "any", cols,
                         areLinesFixed ? std::to_string(lines) : "any", gap, words);
  }
  static Block apart(int64_t rows, int64_t cols, int64_t gap) {
    Block block{rows, cols};
    block.gap = gap;
    return block;
  }
  static Block ofWords(int64_t rows, int64_t cols, int64_t words) {
    Block block{rows, cols};
    block.words = words;
    return block;
  }
};

const std::vector<Block> blocks = {{1, 1},  {8, 1},  {1, 4},  {3, 8},   {3, 3},
                                   {1, 16}, {9, 16}, {5, 24}, {14, 32}, {2, 64}};
/// Of intrinsics that read panels of rows that lie apart, as values of a cache do.
const std::vector<Block> blocksApart = {Block::apart(1, 1, 3),   Block::apart(14, 1, 7), Block::apart(3, 3, 1),
                                        Block::apart(8, 16, 16), Block::apart(5, 24, 8), Block::apart(14, 32, 32)};
/// Whose depth is known: one body, several, and a prime number of steps.
const std::vector<Block> blocksOfWords = {
    Block::ofWords(6, 16, 5),  Block::ofWords(6, 16, 21), Block::ofWords(6, 16, 11),
    Block::ofWords(2, 16, 3),  Block::ofWords(1, 24, 7),  Block::ofWords(3, 3, 25),
    Block::ofWords(4, 32, 30), Block::ofWords(8, 16, 9),  Block::ofWords(5, 1, 6)};
const std::vector<Block> blocksOfTiles = {{1, 16},
                                          {9, 32},
                                          {16, 16},
                                          {16, 32},
                                          {17, 16},
                                          {25, 32},
                                          {32, 16},
                                          {32, 32},
                                          {32, 32, false},
                                          {17, 32, false},
                                          {5, 16, false},
                                          {14, 32, true, 2},
                                          {16, 16, true, 2},
                                          {1, 32, true, 2},
                                          {7, 32, true, 2, false},
                                          {7, 32, true, 1, false}};

template <typename T> std::string typeName() {
  bool isBFloat16 = std::is_same_v<T, BFloat16>;
  return (isBFloat16 ? "bf" : std::is_integral_v<T> ? "i" : "f") + std::to_string(8 * sizeof(T));
}

template <typename T> StridedMemRefType<T, 1> view(std::vector<T> &values) {
  return {values.data(), values.data(), 0, {static_cast<int64_t>(values.size())}, {1}};
}

bool readsRowsApart(const Variant &variant) {
  const llvm::StringRef names[] = {"f32.block", "bf16.weights.block", "f16.weights.block", "bf16.rows.block",
                                   "f16.rows.block"};
  return llvm::is_contained(names, variant.intrinsic);
}

int64_t productsOfTiles() {
  using namespace perpend::amx;
  return static_cast<int64_t>(perpend_amx_count(Kind::Bf16) + perpend_amx_count(Kind::UnsignedSigned));
}

class RegistersTest : public testing::TestWithParam<Variant> {
protected:
  std::mt19937 random{7};
  const std::vector<std::string> noFeatures;

  std::vector<std::string> featuresToAdd() {
    std::vector<std::string> features;
    for (const std::string &feature : GetParam().features)
      features.push_back("+" + feature);
    return features;
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  /// Of integers a third are the least and a third the greatest; floats are small whole numbers, whose sums are exact.
  template <typename T> std::vector<T> numbers(int64_t count) {
    std::vector<T> values(count);
    for (T &value : values)
      if constexpr (std::is_integral_v<T>) {
        constexpr int64_t least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
        int64_t kind = pick(0, 2);
        value = static_cast<T>(kind == 0 ? least : kind == 1 ? greatest : pick(least, greatest));
      } else {
        value = static_cast<T>(pick(-9, 9));
      }
    return values;
  }

  template <typename Left, typename Right, typename Sum> std::string sourceOf(const Block &block, int64_t group) {
    std::string word = group > 1 ? ", %one" : "";
    bool isOfTiles = GetParam().isOfTiles();
    const int64_t line = group * (block.cols + block.gap);
    std::string lines = !isOfTiles ? "" : block.areLinesFixed ? "%lines, " : "%anyLines, ";
    return llvm::formatv(R"(
    func.func @{0}(%a: memref<?x{1}>, %b: memref<?x{2}>, %c: memref<?x{3}>, %ao: index, %as: index, %bo: index, %co: index, %cs: index,
        %depth: index, %n0: index, %n1: index, %as0: index, %as1: index, %bs0: index, %bs1: index, %any: index, %al: index, %cl: index,
        %anyLines: index)
        attributes {{llvm.emit_c_interface} {{
      %one = arith.constant 1 : index
      %g = arith.constant {4} : index
      %line = arith.constant {5} : index
      %rows = arith.constant {6} : index
      %cols = arith.constant {7} : index
      %lines = arith.constant {11} : index
      %words = arith.constant {15} : index
      tile.call_intrinsic "{8}" %a, %b, %c at(%ao, %bo, %co)
        strides(%as0, %as1, {13}%as, %g{9}, %bs0, %bs1, %line, %g{9}, {14}%cs, %one) extents(%cols, {16}, %n1, {12}%n0, {10})
        : memref<?x{1}>, memref<?x{2}>, memref<?x{3}>
      return
    })",
                         block.name(), typeName<Left>(), typeName<Right>(), typeName<Sum>(), group, line, block.rows,
                         block.cols, GetParam().intrinsic, word, block.isFixed ? "%rows" : "%any", block.lines, lines,
                         isOfTiles ? "%al, " : "", isOfTiles ? "%cl, " : "", block.words,
                         block.words ? "%words" : "%depth");
  }

  template <typename Left, typename Right, typename Sum>
  void check(Jit &jit, const Block &block, int64_t words, int64_t outer, int64_t inner, int64_t group) {
    using Kernel = void(StridedMemRefType<Left, 1> *, StridedMemRefType<Right, 1> *, StridedMemRefType<Sum, 1> *,
                        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
    int64_t depth = words * group, aOffset = pick(0, 9), aStride = depth + pick(0, 40), bOffset = pick(0, 9);
    int64_t aSteps[] = {pick(0, 90), pick(0, 9)}, bStep = depth * (block.cols + block.gap) + pick(0, 5);
    int64_t bSteps[] = {inner * bStep, bStep}, cOffset = pick(0, 9), cStride = block.cols + pick(0, 9);
    int64_t aLine = block.rows * aStride + pick(0, 40), cLine = block.rows * cStride + pick(0, 9);
    auto a = numbers<Left>(aOffset + outer * aSteps[0] + inner * aSteps[1] + block.lines * aLine + depth);
    auto b = numbers<Right>(bOffset + outer * bSteps[0] + inner * bSteps[1] + depth * (block.cols + block.gap));
    auto c = numbers<Sum>(cOffset + block.lines * cLine + 64), expected = c;
    for (int64_t m = 0; m < block.lines * block.rows; ++m) {
      int64_t line = m / block.rows, row = m % block.rows;
      for (int64_t n = 0; n < block.cols; ++n) {
        using Wide = std::conditional_t<std::is_integral_v<Sum>, uint32_t, double>;
        Wide sum = 0;
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < inner; ++i)
            for (int64_t k = 0; k < depth; ++k)
              sum += static_cast<Wide>(a[aOffset + o * aSteps[0] + i * aSteps[1] + line * aLine + row * aStride + k]) *
                     static_cast<Wide>(b[bOffset + o * bSteps[0] + i * bSteps[1] +
                                         k / group * group * (block.cols + block.gap) + n * group + k % group]);
        expected[cOffset + line * cLine + row * cStride + n] = static_cast<Sum>(sum);
      }
    }
    auto aView = view(a);
    auto bView = view(b);
    auto cView = view(c);
    jit.function<Kernel>(block.name())(&aView, &bView, &cView, aOffset, aStride, bOffset, cOffset, cStride, words,
                                       outer, inner, aSteps[0], aSteps[1], bSteps[0], bSteps[1], block.rows, aLine,
                                       cLine, block.lines);
    ASSERT_EQ(c, expected) << block.name() << ", words " << words << ", window " << outer << " x " << inner;
  }

  template <typename Left, typename Right, typename Sum> void checkAll(int64_t group) {
    const Variant &variant = GetParam();
    if (!isOffered(variant))
      GTEST_SKIP() << "this processor has no such instructions";
    std::vector<Block> all = variant.isOfTiles() ? blocksOfTiles : blocks;
    if (std::is_same_v<Left, float> && (group == 2 || group == 4)) // which are not for one column
      llvm::erase_if(all, [](const Block &block) { return block.cols == 1; });
    if (readsRowsApart(variant))
      llvm::append_range(all, blocksApart);
    if (!variant.isOfTiles() && group == 1)
      llvm::append_range(all, blocksOfWords);
    std::map<std::string, std::string> sources;
    for (const Block &block : all)
      sources[block.name()] = sourceOf<Left, Right, Sum>(block, group);
    std::string source;
    for (const auto &[name, text] : sources)
      source += text;
    perpend::target::Machine target;
    target.vectorBytes = variant.bytes;
    target.vectorRegisters = variant.bytes == 64 ? 32 : 16;
    target.features = variant.features;
    target.units = {"vectors", "tiles"};
    Jit jit(source, createTileLowerIntrinsics({target}), variant.isOfTiles() ? featuresToAdd() : noFeatures);
    for (const Block &block : all) {
      for (int64_t window = 0; block.words && window < 4; ++window)
        check<Left, Right, Sum>(jit, block, block.words, window, pick(0, 3), group);
      if (block.words)
        continue;
      for (int64_t words : {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 64, 131})
        if (words <= 9 || !variant.isOfTiles())
          check<Left, Right, Sum>(jit, block, words * variant.depth, 1, words % 2 ? 1 : 3, group);
      for (int trial = 0; trial < 10; ++trial)
        check<Left, Right, Sum>(jit, block, pick(0, 20 / variant.depth) * variant.depth, pick(0, 3), pick(0, 3), group);
      if (HasFatalFailure())
        return;
    }
  }
};

TEST_P(RegistersTest, EqualsNaiveLoop) {
  const int64_t products = productsOfTiles();
  llvm::StringRef name = GetParam().intrinsic;
  const std::map<llvm::StringRef, int64_t> wordsOfFloats = {
      {"f32.block", 1}, {"f32.pairs", 2}, {"f32.quads", 4}, {"f32.eights", 8}, {"f32.sixteens", 16}};
  if (auto words = wordsOfFloats.find(name); words != wordsOfFloats.end())
    checkAll<float, float, float>(words->second);
  else if (name == "f64.block")
    checkAll<double, double, double>(1);
  else if (name == "bf16.block" || name == "amx.bf16.block")
    checkAll<BFloat16, BFloat16, float>(2);
  else if (name == "bf16.weights.block")
    checkAll<float, BFloat16, float>(1);
  else if (name == "f16.weights.block")
    checkAll<float, _Float16, float>(1);
  else if (name == "bf16.rows.block")
    checkAll<BFloat16, float, float>(1);
  else if (name == "f16.rows.block")
    checkAll<_Float16, float, float>(1);
  else if (name == "i16.block")
    checkAll<int16_t, int16_t, int32_t>(2);
  else
    checkAll<uint8_t, int8_t, int32_t>(4);
  EXPECT_EQ(productsOfTiles() > products, GetParam().isOfTiles() && perpend::amx::perpend_amx_isUsed());
  EXPECT_EQ(perpend::amx::perpend_amx_configured(), 0) << "tiles are released at the end";
}

// Vectors that no step of the text makes up (of three columns) are what the description says, as all of those without
// steps.
INSTANTIATE_TEST_SUITE_P(
    Variants, RegistersTest,
    testing::Values(
        Variant{"f32.block", 16}, Variant{"f32.block", 32}, Variant{"f32.block", 64}, Variant{"f32.pairs", 16},
        Variant{"f32.pairs", 32}, Variant{"f32.pairs", 64}, Variant{"f32.quads", 16}, Variant{"f32.quads", 32},
        Variant{"f32.quads", 64}, Variant{"f32.eights", 16}, Variant{"f32.eights", 32}, Variant{"f32.eights", 64},
        Variant{"f32.sixteens", 16}, Variant{"f32.sixteens", 32}, Variant{"f32.sixteens", 64}, Variant{"f64.block", 16},
        Variant{"f64.block", 32}, Variant{"f64.block", 64}, Variant{"bf16.weights.block", 32},
        Variant{"f16.weights.block", 32, {"f16c"}}, Variant{"f16.weights.block", 64, {"avx512f"}},
        Variant{"bf16.rows.block", 32}, Variant{"bf16.rows.block", 64}, Variant{"f16.rows.block", 32, {"f16c"}},
        Variant{"f16.rows.block", 64, {"avx512f"}}, Variant{"bf16.block", 32, {"avx512vl", "avx512bf16"}},
        Variant{"bf16.block", 64, {"avx512vl", "avx512bf16"}}, Variant{"i16.block", 16}, Variant{"i16.block", 32},
        Variant{"i16.block", 64}, Variant{"i16.block", 32, {"avxvnni"}}, Variant{"i16.block", 64, {"avxvnni"}},
        Variant{"i16.block", 64, {"avx512vl", "avx512vnni"}}, Variant{"i8.block", 32, {"avxvnni"}},
        Variant{"i8.block", 64, {"avxvnni"}}, Variant{"i8.block", 16, {"avx512vl", "avx512vnni"}},
        Variant{"i8.block", 64, {"avx512vl", "avx512vnni"}},
        Variant{"amx.bf16.block", 64, {"amx-tile", "amx-bf16"}, 16},
        Variant{"amx.i8.block", 64, {"amx-tile", "amx-int8"}, 16}),
    [](const testing::TestParamInfo<Variant> &info) { return info.param.name(); });

} // namespace
