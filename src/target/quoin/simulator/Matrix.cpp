//===- Matrix.cpp - matrix products ----------------------------------------===//
//
// Each accumulator adds its products in order of k, product and sum rounded. Columns are independent, so they are what
// the host computes side by side: operands are unpacked from their fractals to rows, then blocks of 4 rows and 16 columns
// go through all of k.
//
//===----------------------------------------------------------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Fractals.h"
#include "target/quoin/simulator/Values.h"

#include <vector>

#if defined(__x86_64__) && defined(__clang__)
#define QUOIN_HOST_VARIANTS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define QUOIN_HOST_VARIANTS
#endif

namespace perpend::quoin {
namespace {
constexpr unsigned lanes = 16, rowsOfBlock = 4;
typedef float FloatLanes __attribute__((vector_size(lanes * 4), aligned(4)));
typedef uint32_t IntLanes __attribute__((vector_size(lanes * 4), aligned(4)));

/// c[r][0..16) += a[r][k] * b[k][0..16) for 4 rows that are `pitch` apart in a and 16 in c.
QUOIN_HOST_VARIANTS void floatBlock(const float *a, size_t pitch, const float *b, size_t k, float *c) {
  FloatLanes sums[rowsOfBlock];
  for (unsigned row = 0; row < rowsOfBlock; ++row)
    sums[row] = *reinterpret_cast<const FloatLanes *>(c + row * lanes);
  for (size_t index = 0; index < k; ++index) {
    FloatLanes right = *reinterpret_cast<const FloatLanes *>(b + index * lanes);
    for (unsigned row = 0; row < rowsOfBlock; ++row)
      sums[row] = sums[row] + a[row * pitch + index] * right;
  }
  for (unsigned row = 0; row < rowsOfBlock; ++row)
    *reinterpret_cast<FloatLanes *>(c + row * lanes) = sums[row];
}

QUOIN_HOST_VARIANTS void intBlock(const uint32_t *a, size_t pitch, const uint32_t *b, size_t k, uint32_t *c) {
  IntLanes sums[rowsOfBlock];
  for (unsigned row = 0; row < rowsOfBlock; ++row)
    sums[row] = *reinterpret_cast<const IntLanes *>(c + row * lanes);
  for (size_t index = 0; index < k; ++index) {
    IntLanes right = *reinterpret_cast<const IntLanes *>(b + index * lanes);
    for (unsigned row = 0; row < rowsOfBlock; ++row)
      sums[row] = sums[row] + a[row * pitch + index] * right;
  }
  for (unsigned row = 0; row < rowsOfBlock; ++row)
    *reinterpret_cast<IntLanes *>(c + row * lanes) = sums[row];
}

void multiplyBlock(const float *a, size_t pitch, const float *b, size_t k, float *c) { floatBlock(a, pitch, b, k, c); }
void multiplyBlock(const uint32_t *a, size_t pitch, const uint32_t *b, size_t k, uint32_t *c) { intBlock(a, pitch, b, k, c); }

template <typename T>
T loadOperand(const uint8_t *at, DType type) {
  if constexpr (std::is_same_v<T, float>)
    return loadFloat(at, type);
  else
    return uint32_t(loadInt(at, type));
}

/// Fractals as rows of k numbers, up to a multiple of 4 rows; those behind the last are 0.
template <typename T>
std::vector<T> unpackRows(const uint8_t *fractals, DType type, uint64_t rows, uint64_t k) {
  FractalLayout layout{k, sizeOf(type)};
  std::vector<T> result((rows + rowsOfBlock - 1) / rowsOfBlock * rowsOfBlock * k);
  uint64_t piece = 32 / sizeOf(type);
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t first = 0; first < k; first += piece) {
      const uint8_t *from = fractals + layout.offset(row, first);
      for (uint64_t index = first; index < std::min(k, first + piece); ++index)
        result[row * k + index] = loadOperand<T>(from + (index - first) * sizeOf(type), type);
    }
  return result;
}

/// Fractals of columns as blocks of 16 columns, each k rows of 16 numbers.
template <typename T>
std::vector<T> unpackColumns(const uint8_t *fractals, DType type, uint64_t columns, uint64_t k) {
  FractalLayout layout{k, sizeOf(type)};
  std::vector<T> result((columns + lanes - 1) / lanes * lanes * k);
  uint64_t piece = 32 / sizeOf(type);
  for (uint64_t column = 0; column < columns; ++column) {
    T *to = &result[column / lanes * lanes * k + column % lanes];
    for (uint64_t first = 0; first < k; first += piece) {
      const uint8_t *from = fractals + layout.offset(column, first);
      for (uint64_t index = first; index < std::min(k, first + piece); ++index)
        to[index * lanes] = loadOperand<T>(from + (index - first) * sizeOf(type), type);
    }
  }
  return result;
}

/// Where one product reads and writes.
struct Matrices {
  const uint8_t *a, *b;
  uint8_t *c;
};

template <typename T>
T element(const uint8_t *c, uint64_t offset) {
  return loadAs<T>(c + offset);
}

template <typename T>
void storeElement(uint8_t *c, uint64_t offset, T value) {
  if constexpr (std::is_same_v<T, float>)
    value = canonical(value);
  storeAs(c + offset, value);
}

/// C += A * B on unpacked operands.
template <typename T>
void multiply(const Call &call, uint8_t *c, const std::vector<T> &a, const std::vector<T> &b) {
  uint64_t n = call.extent(0), m = call.extent(1), k = call.extent(2);
  if (call.begins)
    std::memset(c, 0, tilesBytes(m, n));
  for (uint64_t column = 0; column < n; column += lanes)
    for (uint64_t row = 0; row < m; row += rowsOfBlock) {
      T block[rowsOfBlock * lanes] = {};
      uint64_t rows = std::min<uint64_t>(rowsOfBlock, m - row), columns = std::min<uint64_t>(lanes, n - column);
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t l = 0; l < columns; ++l)
          block[r * lanes + l] = element<T>(c, tileOffset(row + r, column + l, n));
      multiplyBlock(&a[row * k], k, &b[column * k], k, block);
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t l = 0; l < columns; ++l)
          storeElement(c, tileOffset(row + r, column + l, n), block[r * lanes + l]);
    }
}

template <typename T>
void multiplyPlain(const Call &call, const Matrices &at) {
  const Instruction &instruction = call.instruction;
  uint64_t n = call.extent(0), m = call.extent(1), k = call.extent(2);
  multiply<T>(call, at.c, unpackRows<T>(at.a, instruction.src0Type, m, k), unpackColumns<T>(at.b, instruction.src1Type, n, k));
}

void multiplyAny(const Call &call, const Matrices &at) {
  if (call.instruction.dstType == DType::F32)
    multiplyPlain<float>(call, at);
  else
    multiplyPlain<uint32_t>(call, at);
}

void multiplyBatch(const Call &call) {
  uint64_t n = call.extent(0), m = call.extent(1), k = call.extent(2);
  FractalLayout layout{k, call.size(Src0)};
  for (uint64_t batch = 0; batch < call.instruction.axis; ++batch)
    multiplyAny(call, {call.at[Src0] + batch * layout.bytes(m), call.at[Src1] + batch * layout.bytes(n),
                       call.at[Dst] + batch * tilesBytes(m, n)});
}

void multiplyZeroPoints(const Call &call) {
  const Instruction &instruction = call.instruction;
  uint64_t n = call.extent(0), m = call.extent(1), k = call.extent(2);
  std::vector<uint32_t> a = unpackRows<uint32_t>(call.at[Src0], instruction.src0Type, m, k);
  std::vector<uint32_t> b = unpackColumns<uint32_t>(call.at[Src1], instruction.src1Type, n, k);
  for (uint64_t row = 0; row < m; ++row) {
    uint32_t zero = instruction.variant0 ? loadAs<uint32_t>(call.at[Src2] + 4 * row) : instruction.imm[0];
    for (uint64_t index = 0; index < k; ++index)
      a[row * k + index] -= zero;
  }
  for (uint64_t column = 0; column < n; ++column) {
    uint32_t zero = instruction.variant1 ? loadAs<uint32_t>(call.at[Src2] + 4 * column) : instruction.imm[1];
    for (uint64_t index = 0; index < k; ++index)
      b[column / lanes * lanes * k + index * lanes + column % lanes] -= zero;
  }
  multiply<uint32_t>(call, call.at[Dst], a, b);
}

template <typename T>
void maskUpper(const Call &call) {
  int64_t diagonal = int32_t(call.instruction.imm[1]);
  T value = std::bit_cast<T>(call.instruction.imm[0]);
  for (uint64_t row = 0; row < call.extent(1); ++row)
    for (uint64_t column = 0; column < call.extent(0); ++column)
      if (int64_t(column) > int64_t(row) + diagonal)
        storeElement(call.at[Dst], tileOffset(row, column, call.extent(0)), value);
}

template <typename T>
void multiplyDepthwise(const Call &call) {
  const Instruction &instruction = call.instruction;
  uint64_t n = call.extent(0), m = call.extent(1), taps = call.extent(2);
  if (call.begins)
    std::memset(call.at[Dst], 0, tilesBytes(m, n));
  FractalLayout left{taps * n, call.size(Src0)}, right{taps, call.size(Src1)};
  for (uint64_t row = 0; row < m; ++row)
    for (uint64_t column = 0; column < n; ++column) {
      uint64_t offset = tileOffset(row, column, n);
      T sum = element<T>(call.at[Dst], offset);
      for (uint64_t tap = 0; tap < taps; ++tap)
        sum = sum + loadOperand<T>(call.at[Src0] + left.offset(row, tap * n + column), instruction.src0Type) *
                        loadOperand<T>(call.at[Src1] + right.offset(column, tap), instruction.src1Type);
      storeElement(call.at[Dst], offset, sum);
    }
}
} // namespace

Result executeMatrix(const Call &call) {
  bool isFloatProduct = call.instruction.dstType == DType::F32;
  Call beginning = call;
  beginning.begins = true;
  Matrices at{call.at[Src0], call.at[Src1], call.at[Dst]};
  switch (call.instruction.opcode) {
  case Opcode::mm:
    multiplyAny(beginning, at);
    break;
  case Opcode::mm_mask:
    multiplyAny(beginning, at);
    isFloatProduct ? maskUpper<float>(call) : maskUpper<uint32_t>(call);
    break;
  case Opcode::mm_zp:
    multiplyZeroPoints(call);
    break;
  case Opcode::bmm:
    multiplyBatch(call);
    break;
  case Opcode::dwconv:
    isFloatProduct ? multiplyDepthwise<float>(call) : multiplyDepthwise<uint32_t>(call);
    break;
  default: // mm.acc, gemv
    multiplyAny(call, at);
  }
  return std::nullopt;
}

} // namespace perpend::quoin
