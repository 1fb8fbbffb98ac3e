//===- Moves.cpp - operators that move elements ---------------------------===//
//
// These operators copy elements by strides. Adjacent dimensions are merged first; then the loop that is contiguous in
// the source and the loop that is contiguous in the target become the two innermost. They run in blocks, so that both
// sides use whole cache lines.
//
//===----------------------------------------------------------------------===//

#include "interp/Environment.h"

#include "graph/Shapes.h"
#include "graph/Updates.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cstring>

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

//===----------------------------------------------------------------------===//
// Strided copies
//===----------------------------------------------------------------------===//

namespace {
struct CopyDim {
  int64_t extent, targetStride, sourceStride;
};

template <typename T> void copyPlane(T *target, const T *source, const CopyDim &outer, const CopyDim &inner) {
  constexpr int64_t block = 32;
  bool isRow = inner.targetStride == 1 && inner.sourceStride == 1;
  int64_t innerBlock = isRow || outer.extent < 4 ? inner.extent : block;
  for (int64_t first = 0; first < inner.extent; first += innerBlock) {
    int64_t last = std::min(first + innerBlock, inner.extent);
    for (int64_t i = 0; i < outer.extent; ++i) {
      T *targetRow = target + i * outer.targetStride;
      const T *sourceRow = source + i * outer.sourceStride;
      if (isRow)
        std::memcpy(targetRow, sourceRow, static_cast<size_t>(inner.extent) * sizeof(T));
      else
        for (int64_t j = first; j < last; ++j)
          targetRow[j * inner.targetStride] = sourceRow[j * inner.sourceStride];
    }
  }
}

template <typename T> void copyDims(T *target, const T *source, ArrayRef<CopyDim> dims) {
  if (dims.size() == 2)
    return copyPlane(target, source, dims[0], dims[1]);
  for (int64_t i = 0; i < dims[0].extent; ++i)
    copyDims(target + i * dims[0].targetStride, source + i * dims[0].sourceStride, dims.drop_front());
}
} // namespace

/// Merges to two or more dimensions; empty if there is nothing to copy.
static SmallVector<CopyDim> mergeDims(ArrayRef<int64_t> targetStrides, ArrayRef<int64_t> sourceStrides,
                                      ArrayRef<int64_t> extents) {
  SmallVector<CopyDim> dims;
  for (auto [extent, targetStride, sourceStride] : llvm::zip(extents, targetStrides, sourceStrides)) {
    if (extent == 0)
      return {};
    if (extent == 1)
      continue;
    bool continues = !dims.empty() && dims.back().targetStride == targetStride * extent &&
                     dims.back().sourceStride == sourceStride * extent;
    if (continues)
      dims.back() = {dims.back().extent * extent, targetStride, sourceStride};
    else
      dims.push_back({extent, targetStride, sourceStride});
  }
  while (dims.size() < 2)
    dims.insert(dims.begin(), {1, 0, 0});
  return dims;
}

void copyStrided(std::byte *target, ArrayRef<int64_t> targetStrides, const std::byte *source,
                 ArrayRef<int64_t> sourceStrides, ArrayRef<int64_t> extents, unsigned elementBytes) {
  SmallVector<CopyDim> dims = mergeDims(targetStrides, sourceStrides, extents);
  if (dims.empty())
    return;
  auto *contiguous = llvm::find_if(dims, [](const CopyDim &dim) { return dim.sourceStride == 1; });
  if (contiguous != dims.end() && contiguous != &dims.back()) // next to the innermost (contiguous in the target)
    std::rotate(contiguous, contiguous + 1, dims.end() - 1);
  auto copy = [&]<typename T>(T) {
    copyDims(reinterpret_cast<T *>(target), reinterpret_cast<const T *>(source), dims);
  };
  elementBytes == 1   ? copy(uint8_t())
  : elementBytes == 2 ? copy(uint16_t())
  : elementBytes == 4 ? copy(uint32_t())
                      : copy(uint64_t());
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

namespace {
/// A move: `result` is allocated, `operands` are evaluated.
struct Move {
  ArrayRef<Tensor> operands;
  const Environment &environment;
  Tensor &result;
  unsigned elementBytes = 0;

  LogicalResult mismatch(Operation *op, ArrayRef<int64_t> got) {
    return op->emitError("expected an input that fits a result of shape ")
           << describe(result.shape) << ", got " << describe(got);
  }
  void copyWhole(const Tensor &input, ArrayRef<int64_t> sourceStrides, int64_t sourceOffset = 0) {
    copyStrided(result.mutableData(), rowMajorStrides(result.shape), input.data() + sourceOffset * elementBytes,
                sourceStrides, result.shape, elementBytes);
  }

  LogicalResult run(DimsOp op);
  LogicalResult run(BroadcastOp op);
  LogicalResult run(TransposeOp op);
  LogicalResult run(ReshapeOp op);
  LogicalResult run(SliceOp op);
  LogicalResult run(PadOp op);
  LogicalResult run(ConcatOp op);
  LogicalResult run(UpdateOp op);
  LogicalResult run(GatherOp op);
};
} // namespace

LogicalResult Move::run(DimsOp op) {
  FailureOr<Extents> values = environment.evaluate(op, op.getValues().values());
  if (failed(values))
    return failure();
  llvm::copy(*values, result.mutableElements<int64_t>().begin());
  return success();
}

LogicalResult Move::run(BroadcastOp op) {
  const Tensor &input = operands[0];
  Extents strides(result.shape.size(), 0), inputStrides = rowMajorStrides(input.shape);
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    bool isUnit = input.shape[i] == 1 && graph::isAtMostOne(graph::shapeOf(op.getInput())[i]);
    if (!isUnit && input.shape[i] != result.shape[dim])
      return mismatch(op, input.shape);
    strides[dim] = isUnit ? 0 : inputStrides[i];
  }
  copyWhole(input, strides);
  return success();
}

LogicalResult Move::run(TransposeOp op) {
  Extents strides, inputStrides = rowMajorStrides(operands[0].shape);
  for (auto [dim, inputDim] : llvm::enumerate(op.getPermutation())) {
    if (operands[0].shape[inputDim] != result.shape[dim])
      return mismatch(op, operands[0].shape);
    strides.push_back(inputStrides[inputDim]);
  }
  copyWhole(operands[0], strides);
  return success();
}

LogicalResult Move::run(ReshapeOp op) {
  if (operands[0].elementCount() != result.elementCount())
    return mismatch(op, operands[0].shape);
  result.bytes = operands[0].bytes;
  return success();
}

LogicalResult Move::run(SliceOp op) {
  FailureOr<Extents> starts = environment.evaluate(op, op.getStarts().values());
  if (failed(starts))
    return failure();
  const Tensor &input = operands[0];
  Extents strides = rowMajorStrides(input.shape);
  bool isEmpty = result.elementCount() == 0;
  int64_t offset = 0;
  for (size_t dim = 0; dim < strides.size() && !isEmpty; ++dim) {
    int64_t first = (*starts)[dim], last = 0;
    bool overflows =
        llvm::MulOverflow(result.shape[dim] - 1, op.getSteps()[dim], last) || llvm::AddOverflow(last, first, last);
    if (overflows || std::min(first, last) < 0 || std::max(first, last) >= input.shape[dim])
      return op->emitError("slice of dimension ")
             << dim << " from " << first << " in " << result.shape[dim] << " steps of " << op.getSteps()[dim]
             << " leaves the extent " << input.shape[dim];
    offset += first * strides[dim];
    strides[dim] *= op.getSteps()[dim];
  }
  if (!isEmpty)
    copyWhole(input, strides, offset);
  return success();
}

/// The bytes of one element with the value of an IntegerAttr or FloatAttr.
static void writeScalar(Attribute value, unsigned elementBytes, std::byte *memory) {
  uint64_t bits = isa<IntegerAttr>(value) ? cast<IntegerAttr>(value).getValue().getZExtValue()
                                          : cast<FloatAttr>(value).getValue().bitcastToAPInt().getZExtValue();
  std::memcpy(memory, &bits, elementBytes);
}

LogicalResult Move::run(PadOp op) {
  FailureOr<Extents> low = environment.evaluate(op, op.getLow().values());
  if (failed(low))
    return failure();
  const Tensor &input = operands[0];
  if (result.elementCount() == 0)
    return success();
  std::byte scalar[8];
  writeScalar(op.getValue(), elementBytes, scalar);
  Extents zeros(result.shape.size(), 0), targetStrides = rowMajorStrides(result.shape),
                                         sourceStrides = rowMajorStrides(input.shape), extents;
  copyStrided(result.mutableData(), targetStrides, scalar, zeros, result.shape, elementBytes);
  int64_t targetOffset = 0, sourceOffset = 0;
  for (size_t dim = 0; dim < low->size(); ++dim) {
    int64_t begin = std::max<int64_t>(0, (*low)[dim]);
    int64_t end = (*low)[dim] < 0 ? std::min(result.shape[dim], (*low)[dim] + input.shape[dim])
                                  : std::min(result.shape[dim] - begin, input.shape[dim]) + begin;
    extents.push_back(std::max<int64_t>(0, end - begin));
    targetOffset += begin * targetStrides[dim];
    sourceOffset += (begin - (*low)[dim]) * sourceStrides[dim];
  }
  if (!llvm::is_contained(extents, 0))
    copyStrided(result.mutableData() + targetOffset * elementBytes, targetStrides,
                input.data() + sourceOffset * elementBytes, sourceStrides, extents, elementBytes);
  return success();
}

LogicalResult Move::run(ConcatOp op) {
  size_t axis = op.getAxis();
  Extents targetStrides = rowMajorStrides(result.shape);
  int64_t position = 0;
  for (const Tensor &input : operands) {
    Extents expected(result.shape);
    expected[axis] = input.shape[axis];
    if (!llvm::equal(expected, input.shape) || position + input.shape[axis] > result.shape[axis])
      return mismatch(op, input.shape);
    copyStrided(result.mutableData() + position * targetStrides[axis] * elementBytes, targetStrides, input.data(),
                rowMajorStrides(input.shape), input.shape, elementBytes);
    position += input.shape[axis];
  }
  if (position != result.shape[axis])
    return op->emitError("expected inputs with ")
           << result.shape[axis] << " in dimension " << axis << ", got " << position;
  return success();
}

LogicalResult Move::run(UpdateOp op) {
  size_t axis = op.getAxis();
  FailureOr<int64_t> offset = environment.evaluate(op, op.getOffset().values()[0]);
  if (failed(offset))
    return failure();
  const Tensor &input = operands[0], &block = operands[1];
  Extents expected(result.shape), expectedBlock(result.shape), targetStrides = rowMajorStrides(result.shape);
  expected[axis] = input.shape[axis];
  expectedBlock[axis] = block.shape[axis];
  if (!llvm::equal(expected, input.shape) || !llvm::equal(expectedBlock, block.shape))
    return mismatch(op, llvm::equal(expected, input.shape) ? block.shape : input.shape);
  int64_t whole = result.shape[axis], end = 0;
  bool isInside = *offset >= 0 && !llvm::AddOverflow(*offset, block.shape[axis], end) && end <= whole &&
                  input.shape[axis] <= whole &&
                  (whole == input.shape[axis] || (end == whole && *offset <= input.shape[axis]));
  if (!isInside)
    return op->emitError("expected a block that fits, got ")
           << block.shape[axis] << " elements at " << *offset << " for a result of " << whole << " from an input of "
           << input.shape[axis];
  copyStrided(result.mutableData(), targetStrides, input.data(), rowMajorStrides(input.shape), input.shape,
              elementBytes);
  copyStrided(result.mutableData() + *offset * targetStrides[axis] * elementBytes, targetStrides, block.data(),
              rowMajorStrides(block.shape), block.shape, elementBytes);
  return success();
}

LogicalResult Move::run(GatherOp op) {
  const Tensor &input = operands[0], &indices = operands[1];
  size_t axis = op.getAxis();
  int64_t extent = input.shape[axis], count = indices.elementCount();
  ArrayRef<int64_t> dims(input.shape);
  int64_t outer = *countElements(dims.take_front(axis)), inner = *countElements(dims.drop_front(axis + 1));
  if (outer * count * inner != result.elementCount())
    return mismatch(op, input.shape);
  if (result.elementCount() == 0)
    return success();
  if (extent == 0)
    return op->emitError("gathers from an empty dimension");
  std::vector<int64_t> positions(count);
  readElements(indices.format(), indices.data(), count, positions.data());
  bool isUnsigned = indices.elementType.isUnsignedInteger() || indices.elementType.isInteger(1);
  for (int64_t &position : positions) {
    if (isUnsigned)
      position = static_cast<int64_t>(
          std::min<uint64_t>(zeroExtend(position, indices.format().width), static_cast<uint64_t>(extent - 1)));
    position = std::clamp<int64_t>(position, 0, extent - 1);
  }
  size_t size = static_cast<size_t>(inner) * elementBytes;
  std::byte *target = result.mutableData();
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t position : positions) {
      std::memcpy(target, input.data() + (i * extent + position) * size, size);
      target += size;
    }
  return success();
}

/// Allocates the result; a reshape shares its input's memory.
static FailureOr<Tensor> allocateMoved(Operation *op, const Environment &environment) {
  if (!isa<ReshapeOp>(op))
    return environment.allocateResult(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  FailureOr<Extents> shape = environment.shapeOf(op, type);
  return failed(shape) ? FailureOr<Tensor>(failure()) : Tensor{type.getElementType(), *shape, nullptr};
}

Evaluated evaluateMove(Operation *op, Operands operands, const Environment &environment) {
  auto evaluate = [&](auto specific) -> FailureOr<Tensor> {
    FailureOr<Tensor> result = allocateMoved(op, environment);
    if (failed(result))
      return failure();
    Move move{operands, environment, *result, result->format().bytes()};
    return failed(move.run(specific)) ? FailureOr<Tensor>(failure()) : result;
  };
  return evaluateOneOf<DimsOp, BroadcastOp, TransposeOp, ReshapeOp, SliceOp, PadOp, ConcatOp, UpdateOp, GatherOp>(
      op, evaluate);
}
} // namespace perpend::interp
