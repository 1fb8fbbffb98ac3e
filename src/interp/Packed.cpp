//===- Packed.cpp - the tensor intrinsics on packed operands --------------===//

#include "interp/Accumulators.h"

using namespace mlir;
using namespace perpend;

namespace perpend::interp {

static std::vector<double> widenAll(const Tensor &tensor, Type elementType) {
  std::vector<double> values(tensor.elementCount());
  widen(tensor, elementType, 0, tensor.elementCount(), values.data());
  return values;
}

/// Offsets of columns in panels of `cols`.
static SmallVector<int64_t> packedColumns(int64_t columns, int64_t cols, int64_t panelStride) {
  SmallVector<int64_t> offsets;
  for (int64_t column = 0; column < columns; ++column)
    offsets.push_back(column / cols * panelStride + column % cols);
  return offsets;
}

/// Common to both: floating-point elements, and no more temporary memory than allowed.
static LogicalResult check(Operation *op, ArrayRef<Tensor> operands, const Tensor &result,
                           const Environment &environment) {
  double elements = static_cast<double>(result.elementCount());
  for (const Tensor &operand : operands)
    elements += static_cast<double>(operand.elementCount());
  if (!result.format().isFloat())
    return op->emitError("expected floating-point elements, got ") << result.elementType;
  return environment.checkScratch(op, 8.0 * elements);
}

static LogicalResult mismatch(Operation *op, ArrayRef<Tensor> operands, const Tensor &result) {
  return op->emitError("operands of shapes ") << describe(operands[0].shape) << " and " << describe(operands[1].shape)
                                              << " do not fit a result of shape " << describe(result.shape);
}

FailureOr<Tensor> evaluate(tile::MatmulOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result) || failed(check(op, operands, *result, environment)))
    return failure();
  size_t batchRank = operands[0].shape.size() - 2;
  ArrayRef<int64_t> lhs = operands[0].shape, rhs = operands[1].shape, shape = result->shape;
  ArrayRef<int64_t> matrix = lhs.drop_front(batchRank), panels = rhs.drop_front(batchRank),
                    sizes = shape.drop_front(batchRank);
  bool fits = lhs.take_front(batchRank) == rhs.take_front(batchRank) &&
              lhs.take_front(batchRank) == shape.take_front(batchRank) && matrix[0] == sizes[0] &&
              matrix[1] == panels[1] && panels[0] * panels[2] >= sizes[1];
  if (!fits)
    return mismatch(op, operands, *result);
  if (result->elementCount() == 0)
    return result;
  int64_t depth = matrix[1], cols = panels[2];
  std::vector<double> left = widenAll(operands[0], result->elementType),
                      right = widenAll(operands[1], result->elementType), sums(sizes[0] * sizes[1]);
  SmallVector<int64_t> rows = offsetsOf({sizes[0]}, {depth}), lhsDepth = offsetsOf({depth}, {1}),
                       rhsDepth = offsetsOf({depth}, {cols}), columns = packedColumns(sizes[1], cols, depth * cols);
  for (int64_t batch = 0; batch < *countElements(lhs.take_front(batchRank)); ++batch) {
    std::fill(sums.begin(), sums.end(), 0.0);
    OffsetProduct<double>{left.data() + batch * matrix[0] * depth,
                          right.data() + batch * panels[0] * depth * cols,
                          sums.data(),
                          rows,
                          lhsDepth,
                          rhsDepth,
                          columns}
        .run();
    narrow(sums.data(), sizes[0] * sizes[1], *result, batch * sizes[0] * sizes[1]);
  }
  return result;
}

FailureOr<Tensor> evaluate(tile::ConvOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result) || failed(check(op, operands, *result, environment)))
    return failure();
  ArrayRef<int64_t> input = operands[0].shape, filter = operands[1].shape, shape = result->shape;
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  if (result->elementCount() == 0)
    return result;
  int64_t groups = filter[0], channels = filter[4], cols = filter[5], outputs = groups ? shape[3] / groups : 0;
  bool fits = input[0] == shape[0] && groups * channels == input[3] && groups * outputs == shape[3] &&
              filter[1] * cols >= outputs;
  for (unsigned i = 0; i < 2 && fits; ++i)
    fits = filter[2 + i] == 0 || (shape[1 + i] - 1) * strides[i] + (filter[2 + i] - 1) * dilations[i] < input[1 + i];
  if (!fits)
    return mismatch(op, operands, *result);
  Extents inputStrides = rowMajorStrides(input), filterStrides = rowMajorStrides(filter);
  SmallVector<int64_t> rows = offsetsOf({shape[1], shape[2]},
                                        {strides[0] * inputStrides[1], strides[1] * inputStrides[2]}),
                       inputDepth = offsetsOf(filter.slice(2, 3),
                                              {dilations[0] * inputStrides[1], dilations[1] * inputStrides[2], 1}),
                       filterDepth = offsetsOf(filter.slice(2, 3), ArrayRef<int64_t>(filterStrides).slice(2, 3)),
                       columns = packedColumns(outputs, cols, filterStrides[1]);
  std::vector<double> left = widenAll(operands[0], result->elementType),
                      right = widenAll(operands[1], result->elementType), sums(rows.size() * columns.size());
  int64_t positions = static_cast<int64_t>(rows.size());
  for (int64_t image = 0; image < shape[0]; ++image)
    for (int64_t group = 0; group < groups; ++group) {
      std::fill(sums.begin(), sums.end(), 0.0);
      OffsetProduct<double>{left.data() + image * inputStrides[0] + group * channels,
                            right.data() + group * filterStrides[0],
                            sums.data(),
                            rows,
                            inputDepth,
                            filterDepth,
                            columns}
          .run();
      for (int64_t position = 0; position < positions; ++position)
        narrow(sums.data() + position * outputs, outputs, *result,
               (image * positions + position) * shape[3] + group * outputs);
    }
  return result;
}
} // namespace perpend::interp
