//===- Views.cpp - gradients of operators that move elements --------------===//
//
// Each gradient is the transposed movement: the gradients of repeated elements are added up, dropped elements get 0.
//
//===----------------------------------------------------------------------===//

#include "graph/gradients/Placement.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace perpend::graph {

static SmallVector<int64_t> units(size_t rank) { return SmallVector<int64_t>(rank, 1); }

Value reversed(Builder &b, Value input, int64_t dim) {
  Shape shape = shapeOf(input), starts(shape.size(), SymbolicInt(0));
  SmallVector<int64_t> steps = units(shape.size());
  starts[dim] = shape[dim] - 1;
  steps[dim] = -1;
  return b.slice(input, starts, shape, steps);
}

Value stretched(Builder &b, Value input, int64_t dim, int64_t step) {
  if (step == 1)
    return input;
  Shape split = shapeOf(input), merged = split;
  split.insert(split.begin() + dim + 1, SymbolicInt(1));
  merged[dim] = merged[dim] * step;
  Shape low(split.size(), SymbolicInt(0)), high = low;
  high[dim + 1] = SymbolicInt(step - 1);
  return b.reshape(padTensor(b, b.reshape(input, split), low, high, "constant"), merged);
}

Value placed(Builder &b, Value input, int64_t dim, const SymbolicInt &start, int64_t step, const SymbolicInt &extent) {
  SymbolicInt first = start, count = shapeOf(input)[dim];
  if (step < 0) {
    input = reversed(b, input, dim);
    first = start + (count - 1) * step;
  }
  input = stretched(b, input, dim, std::abs(step));
  Shape low(rankOf(input), SymbolicInt(0)), high = low;
  low[dim] = first;
  high[dim] = extent - first - shapeOf(input)[dim]; // negative if there are too many zeros behind the last element
  return padTensor(b, input, low, high, "constant");
}

Value scatterSum(Builder &b, ArrayRef<SymbolicInt> shape, Value positions, Value updates) {
  Type type = elementTypeOf(updates), compute = computeType(type);
  Shape tuples = shapeOf(positions);
  tuples.emplace_back(1);
  Value zeros = b.splat(elementCount(shape), 0, compute);
  Value total = b.scatter(zeros, b.reshape(positions, tuples), b.cast(updates, compute), ReductionKind::Sum);
  return b.cast(b.reshape(total, shape), type);
}

Value BroadcastOp::operandGradient(Builder &b, Value gradient, unsigned) {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < static_cast<int64_t>(result.size()); ++dim) {
    const int64_t *from = llvm::find(getDims(), dim);
    bool isNew = from == getDims().end();
    if (isNew || (input[from - getDims().begin()] == SymbolicInt(1) && result[dim] != SymbolicInt(1)))
      repeated.push_back(dim);
  }
  Value few = sum(b, gradient, repeated, false);
  if (!few || elementCount(shapeOf(few)) == elementCount(input))
    return b.reshape(few, input);
  // Only the names of extents differ; the broadcast requires them to be equal.
  return b.operations.create<ReshapeOp>(b.location, tensorType(input, elementTypeOf(few)), few);
}

Value TransposeOp::operandGradient(Builder &b, Value gradient, unsigned) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  return b.transpose(gradient, inverse);
}

Value ReshapeOp::operandGradient(Builder &b, Value gradient, unsigned) {
  // Not through the builder, which has already reported element counts that are equal only by assumption.
  return b.operations.createOrFold<ReshapeOp>(b.location, getInput().getType(), gradient);
}

Value SliceOp::operandGradient(Builder &b, Value gradient, unsigned) {
  Shape input = shapeOf(getInput());
  for (auto [dim, start] : llvm::enumerate(getStarts().values()))
    if (start != SymbolicInt(0) || getSteps()[dim] != 1 || shapeOf(gradient)[dim] != input[dim])
      if (gradient = placed(b, gradient, dim, start, getSteps()[dim], input[dim]); !gradient)
        return {};
  return gradient;
}

Value PadOp::operandGradient(Builder &b, Value gradient, unsigned) {
  Shape low = getLow().values(), input = shapeOf(getInput()), result = shapeOf(getResult()), high = input;
  bool isCrop = false;
  for (size_t dim = 0; dim < input.size(); ++dim) {
    high[dim] = input[dim] + low[dim] - result[dim];
    isCrop |= !low[dim].knownNonNegative() || !(-high[dim]).knownNonNegative();
  }
  if (!isCrop)
    return b.slice(gradient, low, input, units(input.size()));
  for (SymbolicInt &amount : low)
    amount = -amount;
  return padTensor(b, gradient, low, high, "constant");
}

Value ConcatOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  SymbolicInt start(0);
  for (Value before : getInputs().take_front(operand))
    start += shapeOf(before)[getAxis()];
  return sliceAxis(b, gradient, getAxis(), start, shapeOf(getInputs()[operand])[getAxis()]);
}

/// The positions of the gathered slices, clamped as the primitive does: [k..., 1].
static Value clampedPlaces(Builder &b, Value indices, const SymbolicInt &extent) {
  Value last = number(b, extent - 1, b.i64());
  Value inside =
      pointwise(b, {b.cast(indices, b.i64()), last}, [](ArrayRef<Scalar> v) { return max(min(v[0], v[1]), 0); });
  Shape tuples = shapeOf(indices);
  tuples.emplace_back(1);
  return b.reshape(inside, tuples);
}

/// How often indices repeat each element, in order and a whole number of times; 0: they do not, or are not known.
static int64_t repetitionOf(Value indices, const SymbolicInt &extent) {
  DenseIntElementsAttr places;
  std::optional<int64_t> elements = extent.constant();
  if (!matchPattern(indices, m_Constant(&places)) || !elements || *elements <= 0 || rankOf(indices) != 1)
    return 0;
  int64_t times = places.getNumElements() / *elements;
  bool isRepeated = times > 0 && times * *elements == places.getNumElements();
  for (auto [position, place] : llvm::enumerate(places.getValues<APInt>()))
    isRepeated = isRepeated && place.getSExtValue() == static_cast<int64_t>(position) / times;
  return isRepeated ? times : 0;
}

Value GatherOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  if (operand != 0)
    return {};
  if (int64_t times = repetitionOf(getIndices(), shapeOf(getInput())[getAxis()])) {
    Shape split = shapeOf(getInput());
    split.insert(split.begin() + getAxis() + 1, SymbolicInt(times));
    return sum(b, b.reshape(gradient, split), static_cast<int64_t>(getAxis()) + 1, false);
  }
  Type type = elementTypeOf(gradient), compute = computeType(type);
  int64_t axis = getAxis(), indexRank = rankOf(getIndices()), rank = rankOf(gradient);
  SmallVector<int64_t> indicesFirst = llvm::to_vector(llvm::seq(axis, axis + indexRank));
  llvm::append_range(indicesFirst, llvm::seq<int64_t>(0, axis));
  llvm::append_range(indicesFirst, llvm::seq(axis + indexRank, rank));
  Shape input = shapeOf(getInput()), zeros = dropDims(input, axis);
  zeros.insert(zeros.begin(), input[axis]);
  Value total = b.scatter(b.splat(zeros, 0, compute), clampedPlaces(b, getIndices(), input[axis]),
                          b.cast(b.transpose(gradient, indicesFirst), compute), ReductionKind::Sum);
  return b.cast(moveAxis(b, total, 0, axis), type);
}
} // namespace perpend::graph
