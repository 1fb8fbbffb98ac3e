//===- Sequences.cpp - scatter, sort and scan -----------------------------===//

#include "interp/Accumulators.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

/// Combines `count` elements of `result` from `first` on with those of `other`, rounding each.
template <typename T>
static void combineElements(ReductionKind kind, Tensor &result, int64_t first, const Tensor &other, int64_t otherFirst,
                            int64_t previous, int64_t count) {
  std::vector<T> carried(count), next(count);
  widen(result, result.elementType, previous, count, carried.data());
  widen(other, result.elementType, otherFirst, count, next.data());
  combine(kind, result.elementType, count, carried.data(), 1, next.data(), 1);
  narrow(carried.data(), count, result, first);
}

static void combineInto(ReductionKind kind, Tensor &result, int64_t first, const Tensor &other, int64_t otherFirst,
                        int64_t previous, int64_t count) {
  if (result.format().isFloat())
    combineElements<double>(kind, result, first, other, otherFirst, previous, count);
  else
    combineElements<uint64_t>(kind, result, first, other, otherFirst, previous, count);
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Reads an index tensor; unsigned values beyond int64_t are out of range in any case.
static std::vector<int64_t> readIndices(const Tensor &indices) {
  std::vector<int64_t> values(indices.elementCount());
  readElements(indices.format(), indices.data(), indices.elementCount(), values.data());
  if (hasUnsignedElements(indices.elementType))
    for (int64_t &value : values)
      value = static_cast<int64_t>(zeroExtend(value, indices.format().width));
  return values;
}

static FailureOr<Tensor> evaluate(ScatterOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result))
    return failure();
  const Tensor &input = operands[0], &updates = operands[2];
  Extents strides = rowMajorStrides(input.shape), expected(operands[1].shape);
  size_t depth = expected.pop_back_val();
  expected.append(input.shape.begin() + depth, input.shape.end());
  if (result->shape != input.shape || expected != updates.shape)
    return op.emitError("expected updates of shape ") << describe(expected) << ", got " << describe(updates.shape);
  std::memcpy(result->mutableData(), input.data(), input.sizeBytes());
  std::vector<int64_t> indices = readIndices(operands[1]);
  int64_t row = *countElements(ArrayRef(input.shape).drop_front(depth));
  int64_t count = row == 0 ? 0 : updates.elementCount() / row;
  unsigned bytes = result->format().bytes();
  for (int64_t k = 0; k < count; ++k) {
    int64_t target = 0;
    bool isInside = true;
    for (size_t dim = 0; dim < depth; ++dim) {
      int64_t index = indices[k * depth + dim];
      isInside &= index >= 0 && index < input.shape[dim];
      target += isInside ? index * strides[dim] : 0;
    }
    if (isInside && op.getKind())
      combineInto(*op.getKind(), *result, target, updates, k * row, target, row);
    else if (isInside)
      std::memcpy(result->mutableData() + target * bytes, updates.data() + k * row * bytes, row * bytes);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Scan and sort
//===----------------------------------------------------------------------===//

namespace {
/// Views a tensor as [outer, length, inner] around one dimension.
struct Lines {
  int64_t outer, length, inner;
  Lines(ArrayRef<int64_t> shape, size_t dim)
      : outer(*countElements(shape.take_front(dim))), length(shape[dim]),
        inner(*countElements(shape.drop_front(dim + 1))) {}
};
} // namespace

static FailureOr<Tensor> evaluate(ScanOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result))
    return failure();
  const Tensor &input = operands[0];
  if (result->shape != input.shape)
    return op.emitError("expected a result of shape ") << describe(input.shape) << ", got " << describe(result->shape);
  Lines lines(input.shape, op.getDim());
  std::memcpy(result->mutableData(), input.data(), input.sizeBytes());
  for (int64_t i = 0; i < lines.outer; ++i)
    for (int64_t j = 1; j < lines.length; ++j) {
      int64_t first = (i * lines.length + j) * lines.inner;
      combineInto(op.getKind(), *result, first, input, first, first - lines.inner, lines.inner);
    }
  return result;
}

static bool isLess(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
static bool isLess(int64_t a, int64_t b) { return a < b; }
static bool isLess(uint64_t a, uint64_t b) { return a < b; }

/// Sorts the positions of each line of a tensor of the shape `all`; an element has `keys` consecutive keys.
template <typename T>
static void sortLines(SortOp op, ArrayRef<T> values, ArrayRef<int64_t> all, int64_t keys, Tensor &result) {
  Lines lines(all, op.getDim());
  const int64_t wanted = result.shape[op.getDim()];
  std::vector<int64_t> order(lines.length);
  MutableArrayRef<int64_t> target = result.mutableElements<int64_t>();
  for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    int64_t first = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    auto isBefore = [&](int64_t a, int64_t b) {
      const T *x = &values[(first + a * lines.inner) * keys], *y = &values[(first + b * lines.inner) * keys];
      return std::lexicographical_compare(x, x + keys, y, y + keys, [](T u, T v) { return isLess(u, v); });
    };
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      bool less = isBefore(a, b), greater = isBefore(b, a);
      return less == greater ? a < b : less != op.getDescending();
    });
    const int64_t start = line / lines.inner * wanted * lines.inner + line % lines.inner;
    for (int64_t i = 0; i < wanted; ++i)
      target[start + i * lines.inner] = order[i];
  }
}

static FailureOr<Tensor> evaluate(SortOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  const Tensor &input = operands[0];
  if (failed(result) || failed(environment.checkScratch(op, 8.0 * static_cast<double>(input.elementCount()))))
    return failure();
  Extents expected(input.shape);
  int64_t keys = op.getLexicographic() ? expected.pop_back_val() : 1;
  const Extents all = expected;
  if (op.getDim() < result->shape.size() && result->shape[op.getDim()] <= all[op.getDim()])
    expected[op.getDim()] = result->shape[op.getDim()];
  if (expected != result->shape)
    return op.emitError("expected a result of shape ") << describe(expected) << ", got " << describe(result->shape);
  if (result->elementCount() == 0)
    return result;
  auto sortAs = [&]<typename Wide, typename T>(Wide, T) {
    std::vector<Wide> values(std::max<int64_t>(1, input.elementCount()));
    widen(input, input.elementType, 0, input.elementCount(), values.data());
    sortLines<T>(op, ArrayRef(reinterpret_cast<const T *>(values.data()), values.size()), all, keys, *result);
  };
  if (input.format().isFloat())
    sortAs(double(), double());
  else if (hasUnsignedElements(input.elementType))
    sortAs(uint64_t(), uint64_t());
  else
    sortAs(uint64_t(), int64_t());
  return result;
}

Evaluated evaluateSequence(Operation *op, Operands operands, const Environment &environment) {
  return evaluateOneOf<ScatterOp, SortOp, ScanOp>(
      op, [&](auto specific) { return evaluate(specific, operands, environment); });
}
} // namespace perpend::interp
