//===- Reductions.cpp - reduce and contract -------------------------------===//

#include "interp/Accumulators.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

/// Calls `visit` with the row-major number of each row of the innermost dimension, and with its index in the other
/// dimensions.
template <typename Visit> static void forEachRow(ArrayRef<int64_t> outerExtents, Visit visit) {
  Extents index(outerExtents.size(), 0);
  int64_t rows = *countElements(outerExtents);
  for (int64_t row = 0; row < rows; ++row) {
    visit(row, index);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < outerExtents[dim])
        break;
      index[dim] = 0;
    }
  }
}

template <typename T> static void reduceRows(ReduceOp op, const Tensor &input, Tensor &result) {
  std::vector<T> carried(result.elementCount(), initialValue<T>(op.getKind(), result.elementType));
  ArrayRef<int64_t> shape = input.shape;
  Extents strides(shape.size(), 0), resultStrides = rowMajorStrides(result.shape);
  unsigned next = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      strides[dim] = resultStrides[next++];
  int64_t columns = shape.empty() ? 1 : shape.back(), columnStride = shape.empty() ? 0 : strides.back();
  std::vector<T> values(columns);
  forEachRow(shape.drop_back(shape.empty() ? 0 : 1), [&](int64_t row, ArrayRef<int64_t> index) {
    int64_t offset = 0;
    for (auto [i, stride] : llvm::zip(index, strides))
      offset += i * stride;
    widen(input, result.elementType, row * columns, columns, values.data());
    combine(op.getKind(), result.elementType, columns, carried.data() + offset, columnStride, values.data(), 1);
  });
  narrow(carried.data(), result.elementCount(), result, 0);
}

static FailureOr<Tensor> evaluate(ReduceOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result) || failed(environment.checkScratch(op, 8.0 * static_cast<double>(result->elementCount()))))
    return failure();
  Extents kept;
  for (auto [dim, extent] : llvm::enumerate(operands[0].shape))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      kept.push_back(extent);
  if (kept != result->shape)
    return op.emitError("expected a result of shape ") << describe(kept) << ", got " << describe(result->shape);
  if (result->format().isFloat())
    reduceRows<double>(op, operands[0], *result);
  else
    reduceRows<uint64_t>(op, operands[0], *result);
  return result;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {
/// A contraction's operand, with its dimensions grouped by role.
struct ContractOperand {
  Extents batch, contracted, free, batchStrides, contractedStrides, freeStrides;

  ContractOperand(ArrayRef<int64_t> shape, ArrayRef<int64_t> batchDims, ArrayRef<int64_t> contractedDims) {
    Extents strides = rowMajorStrides(shape);
    for (int64_t dim : batchDims) {
      batch.push_back(shape[dim]);
      batchStrides.push_back(strides[dim]);
    }
    for (int64_t dim : contractedDims) {
      contracted.push_back(shape[dim]);
      contractedStrides.push_back(strides[dim]);
    }
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      int64_t d = static_cast<int64_t>(dim);
      if (llvm::is_contained(batchDims, d) || llvm::is_contained(contractedDims, d))
        continue;
      free.push_back(extent);
      freeStrides.push_back(strides[dim]);
    }
  }
};
} // namespace

template <typename T>
static void contract(const ContractOperand &lhs, const ContractOperand &rhs, ArrayRef<Tensor> operands,
                     Tensor &result) {
  std::vector<T> left(operands[0].elementCount()), right(operands[1].elementCount());
  widen(operands[0], result.elementType, 0, operands[0].elementCount(), left.data());
  widen(operands[1], result.elementType, 0, operands[1].elementCount(), right.data());
  SmallVector<int64_t> rows = offsetsOf(lhs.free, lhs.freeStrides), columns = offsetsOf(rhs.free, rhs.freeStrides),
                       lhsDepth = offsetsOf(lhs.contracted, lhs.contractedStrides),
                       rhsDepth = offsetsOf(rhs.contracted, rhs.contractedStrides);
  std::vector<T> sums(rows.size() * columns.size());
  int64_t first = 0;
  for (auto [leftOffset, rightOffset] :
       llvm::zip(offsetsOf(lhs.batch, lhs.batchStrides), offsetsOf(rhs.batch, rhs.batchStrides))) {
    std::fill(sums.begin(), sums.end(), T(0));
    OffsetProduct<T>{
        left.data() + leftOffset, right.data() + rightOffset, sums.data(), rows, lhsDepth, rhsDepth, columns}
        .run();
    narrow(sums.data(), static_cast<int64_t>(sums.size()), result, first);
    first += static_cast<int64_t>(sums.size());
  }
}

static FailureOr<Tensor> evaluate(ContractOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result))
    return failure();
  ContractOperand lhs(operands[0].shape, op.getLhsBatch(), op.getLhsContracted());
  ContractOperand rhs(operands[1].shape, op.getRhsBatch(), op.getRhsContracted());
  if (lhs.batch != rhs.batch || lhs.contracted != rhs.contracted)
    return op.emitError("expected paired dimensions of equal extent, got ")
           << describe(operands[0].shape) << " and " << describe(operands[1].shape);
  Extents expected = lhs.batch;
  llvm::append_range(expected, lhs.free);
  llvm::append_range(expected, rhs.free);
  if (expected != result->shape)
    return op.emitError("expected a result of shape ") << describe(expected) << ", got " << describe(result->shape);
  double elements = static_cast<double>(operands[0].elementCount()) + static_cast<double>(operands[1].elementCount()) +
                    static_cast<double>(result->elementCount());
  if (failed(environment.checkScratch(op, 8.0 * elements)))
    return failure();
  if (result->elementCount() == 0)
    return result;
  if (result->format().isFloat())
    contract<double>(lhs, rhs, operands, *result);
  else
    contract<uint64_t>(lhs, rhs, operands, *result);
  return result;
}

Evaluated evaluateReduction(Operation *op, Operands operands, const Environment &environment) {
  return evaluateOneOf<ReduceOp, ContractOp>(op,
                                             [&](auto specific) { return evaluate(specific, operands, environment); });
}
} // namespace perpend::interp
