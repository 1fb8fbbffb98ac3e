//===- Packed.cpp - contractions on packed operands -----------------------===//

#include "graph/Shapes.h"
#include "interp/Accumulators.h"

using namespace mlir;
using namespace perpend;

namespace perpend::interp {

/// Converts elements to the type of sums: double, or uint64_t for integers, which wrap.
template <typename T> static std::vector<T> widenAll(const Tensor &tensor, Type elementType) {
  std::vector<T> values(tensor.elementCount());
  widen(tensor, elementType, 0, tensor.elementCount(), values.data());
  return values;
}

/// Offsets of columns in panels whose words hold `group` elements.
static SmallVector<int64_t> packedColumns(int64_t columns, int64_t cols, int64_t panelStride, int64_t group) {
  SmallVector<int64_t> offsets;
  for (int64_t column = 0; column < columns; ++column)
    offsets.push_back(column / cols * panelStride + column % cols * group);
  return offsets;
}

/// Offsets along the sum: `outer` positions, each of `depth` elements in words of `group`.
static SmallVector<int64_t> packedDepth(ArrayRef<int64_t> outer, int64_t depth, int64_t cols, int64_t group) {
  SmallVector<int64_t> offsets;
  for (int64_t start : outer)
    for (int64_t k = 0; k < depth; ++k)
      offsets.push_back(start + k / group * group * cols + k % group);
  return offsets;
}

/// Checks the limit of temporary memory.
static LogicalResult check(Operation *op, ArrayRef<Tensor> operands, const Tensor &result,
                           const Environment &environment) {
  double elements = static_cast<double>(result.elementCount());
  for (const Tensor &operand : operands)
    elements += static_cast<double>(operand.elementCount());
  return environment.checkScratch(op, 8.0 * elements);
}

static LogicalResult mismatch(Operation *op, ArrayRef<Tensor> operands, const Tensor &result) {
  return op->emitError("operands of shapes ") << describe(operands[0].shape) << " and " << describe(operands[1].shape)
                                              << " do not fit a result of shape " << describe(result.shape);
}

/// Computes the product for each batch; `sizes` and `depth` are the rows and depth of the operands.
template <typename T>
static void multiply(ArrayRef<Tensor> operands, Tensor &result, int64_t batches, ArrayRef<int64_t> sizes, int64_t depth,
                     int64_t cols, int64_t group) {
  std::vector<T> left = widenAll<T>(operands[0], result.elementType),
                 right = widenAll<T>(operands[1], result.elementType), sums(sizes[0] * sizes[1]);
  SmallVector<int64_t> rows = offsetsOf({sizes[0]}, {depth}), lhsDepth = offsetsOf({depth}, {1}),
                       rhsDepth = packedDepth({0}, depth, cols, group),
                       columns = packedColumns(sizes[1], cols, depth * cols, group);
  int64_t rightSize = batches ? static_cast<int64_t>(right.size()) / batches : 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::fill(sums.begin(), sums.end(), T(0));
    OffsetProduct<T>{left.data() + batch * sizes[0] * depth,
                     right.data() + batch * rightSize,
                     sums.data(),
                     rows,
                     lhsDepth,
                     rhsDepth,
                     columns}
        .run();
    narrow(sums.data(), sizes[0] * sizes[1], result, batch * sizes[0] * sizes[1]);
  }
}

static FailureOr<Tensor> evaluate(tile::MatmulOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result) || failed(check(op, operands, *result, environment)))
    return failure();
  size_t batchRank = operands[0].shape.size() - 2;
  ArrayRef<int64_t> lhs = operands[0].shape, rhs = operands[1].shape, shape = result->shape;
  ArrayRef<int64_t> matrix = lhs.drop_front(batchRank), panels = rhs.drop_front(batchRank),
                    sizes = shape.drop_front(batchRank);
  auto [cols, group] = *op.panel();
  bool fits = lhs.take_front(batchRank) == rhs.take_front(batchRank) &&
              lhs.take_front(batchRank) == shape.take_front(batchRank) && matrix[0] == sizes[0] &&
              matrix[1] == panels[1] * group && panels[0] * cols >= sizes[1];
  if (!fits)
    return mismatch(op, operands, *result);
  if (result->elementCount() == 0)
    return result;
  int64_t batches = *countElements(lhs.take_front(batchRank));
  if (result->format().isFloat())
    multiply<double>(operands, *result, batches, sizes, matrix[1], cols, group);
  else
    multiply<uint64_t>(operands, *result, batches, sizes, matrix[1], cols, group);
  return result;
}

template <typename T> static void convolve(tile::ConvOp op, ArrayRef<Tensor> operands, Tensor &result) {
  ArrayRef<int64_t> input = operands[0].shape, filter = operands[1].shape, shape = result.shape;
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  auto [cols, group] = *op.panel();
  int64_t groups = filter[0], channels = filter[4] * group;
  int64_t outputs = shape.back(), positions = shape[1] * shape[2];
  Extents inputStrides = rowMajorStrides(input), filterStrides = rowMajorStrides(filter);
  SmallVector<int64_t> rows = offsetsOf({shape[1], shape[2]},
                                        {strides[0] * inputStrides[1], strides[1] * inputStrides[2]}),
                       inputDepth = offsetsOf({filter[2], filter[3], channels},
                                              {dilations[0] * inputStrides[1], dilations[1] * inputStrides[2], 1}),
                       filterDepth =
                           packedDepth(offsetsOf(filter.slice(2, 2), ArrayRef<int64_t>(filterStrides).slice(2, 2)),
                                       channels, cols, group),
                       columns = packedColumns(outputs, cols, filterStrides[1], group);
  std::vector<T> left = widenAll<T>(operands[0], result.elementType),
                 right = widenAll<T>(operands[1], result.elementType), sums(rows.size() * columns.size());
  for (int64_t image = 0; image < shape[0]; ++image)
    for (int64_t part = 0; part < groups; ++part) {
      std::fill(sums.begin(), sums.end(), T(0));
      OffsetProduct<T>{left.data() + image * inputStrides[0] + part * channels,
                       right.data() + part * filterStrides[0],
                       sums.data(),
                       rows,
                       inputDepth,
                       filterDepth,
                       columns}
          .run();
      for (int64_t position = 0; position < positions; ++position)
        narrow(sums.data() + position * outputs, outputs, result,
               ((image * positions + position) * groups + part) * outputs);
    }
}

static FailureOr<Tensor> evaluate(tile::ConvOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result) || failed(check(op, operands, *result, environment)))
    return failure();
  ArrayRef<int64_t> input = operands[0].shape, filter = operands[1].shape, shape = result->shape;
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  if (result->elementCount() == 0)
    return result;
  auto [cols, group] = *op.panel();
  int64_t groups = filter[0], outputs = shape.back();
  bool fits = input[0] == shape[0] && groups * filter[4] * group == input[3] && (groups == 1 || groups == shape[3]) &&
              filter[1] * cols >= outputs;
  for (unsigned i = 0; i < 2 && fits; ++i)
    fits = filter[2 + i] == 0 || (shape[1 + i] - 1) * strides[i] + (filter[2 + i] - 1) * dilations[i] < input[1 + i];
  if (!fits)
    return mismatch(op, operands, *result);
  if (result->format().isFloat())
    convolve<double>(op, operands, *result);
  else
    convolve<uint64_t>(op, operands, *result);
  return result;
}

Evaluated evaluatePacked(Operation *op, Operands operands, const Environment &environment) {
  return evaluateOneOf<tile::MatmulOp, tile::ConvOp>(
      op, [&](auto specific) { return evaluate(specific, operands, environment); });
}
} // namespace perpend::interp
