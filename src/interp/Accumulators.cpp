//===- Accumulators.cpp - accumulates elements ----------------------------===//

#include "interp/Accumulators.h"

#include "interp/Scalars.h"

#include <cmath>
#include <limits>

using namespace mlir;
using perpend::graph::ReductionKind;

namespace perpend::interp {

static constexpr int64_t blockSize = 256;

//===----------------------------------------------------------------------===//
// Conversion to and from accumulators
//===----------------------------------------------------------------------===//

/// Calls `convert(first, count, registers)` for blocks of the tensor's registers.
template <typename Convert>
static void forEachBlock(const Tensor &tensor, int64_t first, int64_t count, Convert convert) {
  ElementFormat format = tensor.format();
  alignas(64) std::byte registers[blockSize * 8];
  for (int64_t i = 0; i < count; i += blockSize) {
    int64_t size = std::min(blockSize, count - i);
    readElements(format, tensor.data() + (first + i) * format.bytes(), size, registers);
    convert(i, size, static_cast<const void *>(registers));
  }
}

/// Rounds one element to the precision of a float format.
static double roundTo(ElementFormat format, double value) {
  if (format.kind == RegisterKind::Double)
    return value;
  if (format.width == 32)
    return static_cast<float>(value);
  float rounded = roundToOdd(value);
  roundElements(format, &rounded, 1);
  return rounded;
}

void widen(const Tensor &tensor, Type elementType, int64_t first, int64_t count, double *values) {
  ElementFormat from = tensor.format(), to = *formatOf(elementType);
  bool isUnsigned = hasUnsignedElements(tensor.elementType);
  forEachBlock(tensor, first, count, [&](int64_t start, int64_t size, const void *registers) {
    auto *integers = static_cast<const int64_t *>(registers);
    double *target = values + start;
    if (from.kind == RegisterKind::Single)
      std::copy_n(static_cast<const float *>(registers), size, target);
    else if (from.kind == RegisterKind::Double)
      std::copy_n(static_cast<const double *>(registers), size, target);
    else
      for (int64_t i = 0; i < size; ++i)
        target[i] =
            isUnsigned ? static_cast<double>(zeroExtend(integers[i], from.width)) : static_cast<double>(integers[i]);
    if (from != to)
      for (int64_t i = 0; i < size; ++i)
        target[i] = roundTo(to, target[i]);
  });
}

void widen(const Tensor &tensor, Type elementType, int64_t first, int64_t count, uint64_t *values) {
  ElementFormat from = tensor.format(), to = *formatOf(elementType);
  bool isUnsigned = hasUnsignedElements(tensor.elementType), isResultUnsigned = hasUnsignedElements(elementType);
  forEachBlock(tensor, first, count, [&](int64_t start, int64_t size, const void *registers) {
    auto *integers = static_cast<const int64_t *>(registers);
    for (int64_t i = 0; i < size; ++i) {
      int64_t value = from.kind == RegisterKind::Single   ? truncateToInteger(static_cast<const float *>(registers)[i])
                      : from.kind == RegisterKind::Double ? truncateToInteger(static_cast<const double *>(registers)[i])
                      : isUnsigned                        ? static_cast<int64_t>(zeroExtend(integers[i], from.width))
                                                          : integers[i];
      values[start + i] =
          isResultUnsigned ? zeroExtend(value, to.width) : static_cast<uint64_t>(signExtend(value, to.width));
    }
  });
}

void narrow(const double *values, int64_t count, Tensor &tensor, int64_t first) {
  ElementFormat format = tensor.format();
  std::byte *memory = tensor.mutableData() + first * format.bytes();
  if (format.kind == RegisterKind::Double)
    return writeElements(format, values, count, memory);
  float registers[blockSize];
  for (int64_t i = 0; i < count; i += blockSize) {
    int64_t size = std::min(blockSize, count - i);
    for (int64_t j = 0; j < size; ++j)
      registers[j] = format.width == 16 ? roundToOdd(values[i + j]) : static_cast<float>(values[i + j]);
    writeElements(format, registers, size, memory + i * format.bytes());
  }
}

void narrow(const uint64_t *values, int64_t count, Tensor &tensor, int64_t first) {
  ElementFormat format = tensor.format();
  writeElements(format, values, count, tensor.mutableData() + first * format.bytes());
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

template <> double initialValue(ReductionKind kind, Type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return kind == ReductionKind::Sum       ? 0.0
         : kind == ReductionKind::Product ? 1.0
         : kind == ReductionKind::Max     ? -infinity
                                          : infinity;
}

template <> uint64_t initialValue(ReductionKind kind, Type elementType) {
  if (kind == ReductionKind::Sum || kind == ReductionKind::Product)
    return kind == ReductionKind::Product;
  unsigned width = formatOf(elementType)->width;
  if (hasUnsignedElements(elementType))
    return kind == ReductionKind::Max ? 0 : zeroExtend(-1, width);
  int64_t lowest = signExtend(static_cast<int64_t>(uint64_t{1} << (width - 1)), width);
  return static_cast<uint64_t>(kind == ReductionKind::Max ? lowest : ~lowest);
}

template <typename T, typename Function>
static void combineEach(int64_t count, T *carried, int64_t carriedStride, const T *next, int64_t nextStride,
                        Function function) {
  if (carriedStride == 0 && count > 0) {
    T value = *carried; // in a register
    for (int64_t i = 0; i < count; ++i)
      value = function(value, next[i * nextStride]);
    *carried = value;
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    carried[i * carriedStride] = function(carried[i * carriedStride], next[i * nextStride]);
}

void combine(ReductionKind kind, Type, int64_t count, double *carried, int64_t carriedStride, const double *next,
             int64_t nextStride) {
  auto each = [&](auto function) { combineEach(count, carried, carriedStride, next, nextStride, function); };
  // NaN on either side is kept; -0 < +0.
  auto larger = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? a + b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
  };
  auto smaller = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? a + b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
  };
  switch (kind) {
  case ReductionKind::Sum:
    return each([](double a, double b) { return a + b; });
  case ReductionKind::Product:
    return each([](double a, double b) { return a * b; });
  case ReductionKind::Max:
    return each(larger);
  case ReductionKind::Min:
    return each(smaller);
  }
}

void combine(ReductionKind kind, Type elementType, int64_t count, uint64_t *carried, int64_t carriedStride,
             const uint64_t *next, int64_t nextStride) {
  auto each = [&](auto function) { combineEach(count, carried, carriedStride, next, nextStride, function); };
  // Adding the smallest signed number maps the order of signed numbers to that of unsigned ones.
  uint64_t bias = hasUnsignedElements(elementType) ? 0 : uint64_t{1} << 63;
  switch (kind) {
  case ReductionKind::Sum:
    return each([](uint64_t a, uint64_t b) { return a + b; });
  case ReductionKind::Product:
    return each([](uint64_t a, uint64_t b) { return a * b; });
  case ReductionKind::Max:
    return each([bias](uint64_t a, uint64_t b) { return a + bias > b + bias ? a : b; });
  case ReductionKind::Min:
    return each([bias](uint64_t a, uint64_t b) { return a + bias < b + bias ? a : b; });
  }
}

//===----------------------------------------------------------------------===//
// Products: both sides packed into panels, 4 x 4 results in registers
//===----------------------------------------------------------------------===//

llvm::SmallVector<int64_t> offsetsOf(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
  llvm::SmallVector<int64_t> offsets = {0};
  for (auto [extent, stride] : llvm::zip(extents, strides)) {
    llvm::SmallVector<int64_t> next;
    next.reserve(offsets.size() * extent);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(offset + i * stride);
    offsets = std::move(next);
  }
  return offsets;
}

static constexpr int64_t tile = 4;

/// panel[k][lane] = source[lanes[lane] + depth[k]], 0 beyond the last lane.
template <typename T>
static void packPanel(const T *source, ArrayRef<int64_t> lanes, ArrayRef<int64_t> depth, T *panel) {
  for (int64_t lane = 0; lane < tile; ++lane) {
    bool isPresent = lane < static_cast<int64_t>(lanes.size());
    const T *first = isPresent ? source + lanes[lane] : source;
    for (size_t k = 0; k < depth.size(); ++k)
      panel[k * tile + lane] = isPresent ? first[depth[k]] : T(0);
  }
}

template <typename T> static void multiplyPanels(const T *lhs, const T *rhs, int64_t depth, T *sums) {
  using Lanes __attribute__((vector_size(tile * sizeof(T)), aligned(sizeof(T)))) = T;
  Lanes row0{}, row1{}, row2{}, row3{};
  for (int64_t k = 0; k < depth; ++k, lhs += tile, rhs += tile) {
    Lanes columns = *reinterpret_cast<const Lanes *>(rhs);
    row0 += columns * lhs[0];
    row1 += columns * lhs[1];
    row2 += columns * lhs[2];
    row3 += columns * lhs[3];
  }
  auto *rows = reinterpret_cast<Lanes *>(sums);
  rows[0] = row0;
  rows[1] = row1;
  rows[2] = row2;
  rows[3] = row3;
}

template <typename T> void OffsetProduct<T>::run() const {
  constexpr size_t depthBlock = 256, columnBlock = 512;
  size_t rows = lhsRows.size(), columns = rhsColumns.size();
  std::vector<T> rhsPanels(depthBlock * columnBlock), lhsPanel(depthBlock * tile);
  T sums[tile * tile];
  for (size_t k = 0; k < lhsDepth.size(); k += depthBlock)
    for (size_t j = 0; j < columns; j += columnBlock) {
      size_t depth = std::min(depthBlock, lhsDepth.size() - k), width = std::min(columnBlock, columns - j);
      for (size_t jj = 0; jj < width; jj += tile)
        packPanel(rhs, rhsColumns.slice(j + jj, std::min<size_t>(tile, width - jj)), rhsDepth.slice(k, depth),
                  &rhsPanels[jj * depth]);
      for (size_t i = 0; i < rows; i += tile) {
        size_t height = std::min<size_t>(tile, rows - i);
        packPanel(lhs, lhsRows.slice(i, height), lhsDepth.slice(k, depth), lhsPanel.data());
        for (size_t jj = 0; jj < width; jj += tile) {
          multiplyPanels(lhsPanel.data(), &rhsPanels[jj * depth], static_cast<int64_t>(depth), sums);
          for (size_t row = 0; row < height; ++row)
            for (size_t column = 0; column < std::min<size_t>(tile, width - jj); ++column)
              result[(i + row) * columns + j + jj + column] += sums[row * tile + column];
        }
      }
    }
}
template struct OffsetProduct<double>;
template struct OffsetProduct<uint64_t>;
} // namespace perpend::interp
