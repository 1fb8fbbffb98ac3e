//===- Views.cpp - primitives that move elements, and dims ----------------===//
//
// Each primitive is defined in one place: its verifier (with the labels of errors in Ops.td), its constraints on
// symbolic extents, the mapping of the operand's dimensions to the result's, and the code that computes one element.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/IndexMath.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace perpend::graph;

//===----------------------------------------------------------------------===//
// dims
//===----------------------------------------------------------------------===//

LogicalResult DimsOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() > 1 || !type.hasStaticShape() ||
      type.getNumElements() != static_cast<int64_t>(getValues().getDims().size()))
    return emitOpError("C1: ") << getValues().getDims().size() << " values for a result of type " << type;
  if (!type.getElementType().isInteger(64))
    return emitOpError("C2: expected elements of type i64, got ") << type.getElementType();
  return success();
}

Value DimsOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Value chosen;
  SmallVector<SymbolicInt> values = getValues().values();
  for (int64_t i = static_cast<int64_t>(values.size()) - 1; i >= 0; --i) {
    Value value =
        builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), emitter.extent(builder, loc, values[i]));
    if (chosen) {
      Value position = builder.create<arith::ConstantIndexOp>(loc, i);
      Value isHere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, index[0], position);
      value = builder.create<arith::SelectOp>(loc, isHere, value, chosen);
    }
    chosen = value;
  }
  return chosen;
}

ElementKind DimsOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  if (getDims().size() != input.size() || !isStrictlyIncreasing(getDims(), result.size()))
    return emitOpError("C1: expected ") << input.size() << " strictly increasing dimensions below " << result.size();
  for (auto [extent, dim] : llvm::zip(input, getDims()))
    if (extent != SymbolicInt(1) && provablyDiffer(extent, result[dim]))
      return emitOpError("C2: cannot broadcast ") << toString(input) << " to " << toString(result);
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }

void BroadcastOp::addRequirements(Requirements &requirements) {
  Shape result = shapeOf(getResult());
  for (auto [extent, dim] : llvm::zip(shapeOf(getInput()), getDims()))
    if (extent != SymbolicInt(1))
      requirements.addEqual(extent, result[dim]);
}

std::optional<unsigned> BroadcastOp::followingDim(OpOperand &, unsigned dim) { return getDims()[dim]; }
bool BroadcastOp::repeatsOperands() { return true; }

Value BroadcastOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  SmallVector<Value> source;
  for (auto [extent, dim] : llvm::zip(shapeOf(getInput()), getDims()))
    source.push_back(extent == SymbolicInt(1) ? emitter.extent(builder, loc, SymbolicInt(0)) : index[dim]);
  return emitter.element(builder, loc, getInput(), source);
}

ElementKind BroadcastOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static Shape permuted(TransposeOp op) {
  Shape input = shapeOf(op.getInput()), shape;
  for (int64_t dim : op.getPermutation())
    shape.push_back(input[dim]);
  return shape;
}

LogicalResult TransposeOp::verify() {
  Shape input = shapeOf(getInput());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.size())))
    return emitOpError("C1: not a permutation of ") << input.size() << " dimensions";
  return verifyExtents(*this, "C2", permuted(*this));
}

void TransposeOp::addRequirements(Requirements &requirements) {
  requireExtents(requirements, getResult(), permuted(*this));
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  auto producer = getInput().getDefiningOp<TransposeOp>();
  if (!producer)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : getPermutation())
    composed.push_back(producer.getPermutation()[dim]);
  setPermutation(composed);
  getInputMutable().assign(producer.getInput());
  return getResult();
}

std::optional<unsigned> TransposeOp::followingDim(OpOperand &, unsigned dim) {
  return positionIn(getPermutation(), dim);
}

Value TransposeOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  SmallVector<Value> source(index.size());
  for (auto [dim, inputDim] : llvm::enumerate(getPermutation()))
    source[inputDim] = index[dim];
  return emitter.element(builder, loc, getInput(), source);
}

ElementKind TransposeOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  if (provablyDiffer(elementCount(input), elementCount(result)))
    return emitOpError("C1: cannot reshape ")
           << toString(input) << " to " << toString(result) << ": the numbers of elements differ, "
           << elementCount(input).str() << " and " << elementCount(result).str();
  return success();
}

/// Reshaping does not move a constant's elements.
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto constant = dyn_cast_or_null<DenseResourceElementsAttr>(adaptor.getInput());
      constant && getType().hasStaticShape())
    return DenseResourceElementsAttr::get(cast<RankedTensorType>(getType()), constant.getRawHandle());
  auto producer = getInput().getDefiningOp<ReshapeOp>();
  if (!producer)
    return {};
  getInputMutable().assign(producer.getInput());
  return getResult();
}

void ReshapeOp::addRequirements(Requirements &requirements) {
  requirements.addEqual(elementCount(shapeOf(getInput())), elementCount(shapeOf(getResult())));
}

/// The dimension of the result with as many elements before and after it. If there are several (all but one of extent
/// 1), the one at the same position.
std::optional<unsigned> ReshapeOp::followingDim(OpOperand &, unsigned dim) {
  Shape from = shapeOf(getInput()), to = shapeOf(getResult());
  auto before = [](const Shape &shape, unsigned i) { return elementCount(ArrayRef(shape).take_front(i)); };
  auto behind = [](const Shape &shape, unsigned i) { return elementCount(ArrayRef(shape).drop_front(i + 1)); };
  auto follows = [&](unsigned i) {
    return to[i] == from[dim] && before(to, i) == before(from, dim) && behind(to, i) == behind(from, dim);
  };
  if (dim < to.size() && follows(dim))
    return dim;
  for (unsigned i = 0; i < to.size(); ++i)
    if (follows(i))
      return i;
  return std::nullopt;
}

namespace {
/// Consecutive dimensions of the result with the same elements as consecutive dimensions of the input.
struct ReshapeGroup {
  SmallVector<unsigned> inputDims, resultDims;
};
} // namespace

/// Splits a reshape into the smallest groups of dimensions with equal element counts, so that the index
/// arithmetic divides only where dimensions are really merged or split.
static SmallVector<ReshapeGroup> reshapeGroups(ArrayRef<SymbolicInt> input, ArrayRef<SymbolicInt> result) {
  SmallVector<ReshapeGroup> groups;
  size_t i = 0, r = 0;
  while (i < input.size() || r < result.size()) {
    ReshapeGroup group;
    SymbolicInt inputCount(1), resultCount(1);
    auto takeInput = [&] {
      inputCount = inputCount * input[i];
      group.inputDims.push_back(i++);
    };
    auto takeResult = [&] {
      resultCount = resultCount * result[r];
      group.resultDims.push_back(r++);
    };
    if (i < input.size())
      takeInput();
    if (r < result.size())
      takeResult();
    while (inputCount != resultCount && (i < input.size() || r < result.size())) {
      // An extent of 0 has no elements, so a factor counts as less.
      std::optional<bool> inputIsLess = exactDiv(inputCount, resultCount)   ? false
                                        : exactDiv(resultCount, inputCount) ? true
                                                                            : compareLess(inputCount, resultCount);
      if (r >= result.size() || (i < input.size() && inputIsLess.value_or(true)))
        takeInput();
      else
        takeResult();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

bool ReshapeOp::mergesDimensions() {
  Shape input = shapeOf(getInput());
  return llvm::any_of(reshapeGroups(input, shapeOf(getResult())), [&](const ReshapeGroup &group) {
    return llvm::count_if(group.inputDims, [&](unsigned dim) { return input[dim] != SymbolicInt(1); }) > 1;
  });
}

Value ReshapeOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  auto position = [&](ArrayRef<unsigned> dims) {
    Value sum = math.constant(0);
    for (unsigned dim : dims)
      if (result[dim] != SymbolicInt(1))
        sum = math.add(math.mul(sum, math.extent(result[dim])), index[dim]);
    return sum;
  };
  SmallVector<Value> source(input.size());
  for (const ReshapeGroup &group : reshapeGroups(input, result)) {
    Value rest = position(group.resultDims);
    SmallVector<unsigned> dims;
    for (unsigned dim : group.inputDims) {
      if (input[dim] == SymbolicInt(1))
        source[dim] = math.constant(0);
      else
        dims.push_back(dim);
    }
    for (unsigned dim : llvm::reverse(dims)) {
      bool isOutermost = dim == dims.front();
      source[dim] = isOutermost ? rest : math.rem(rest, math.extent(asDivisor(input[dim])));
      if (!isOutermost)
        rest = math.div(rest, math.extent(asDivisor(input[dim])));
    }
  }
  return emitter.element(builder, loc, getInput(), source);
}

ElementKind ReshapeOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getStarts().getDims().size() != rank || getSteps().size() != rank || llvm::is_contained(getSteps(), 0) ||
      shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " starts and steps other than 0, and a result of that rank";
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }) &&
                 llvm::all_of(getStarts().values(), [](const SymbolicInt &start) { return start == SymbolicInt(0); });
  return isWhole ? getInput() : Value();
}

void SliceOp::addRequirements(Requirements &requirements) {
  for (auto [start, step, extent, count] :
       llvm::zip(getStarts().values(), getSteps(), shapeOf(getInput()), shapeOf(getResult()))) {
    SymbolicInt last = start + (count - SymbolicInt(1)) * SymbolicInt(step);
    requirements.addNonNegative(step > 0 ? start : last);
    requirements.addNonNegative(extent - SymbolicInt(1) - (step > 0 ? last : start));
  }
}

std::optional<unsigned> SliceOp::followingDim(OpOperand &, unsigned dim) {
  bool isWhole = getSteps()[dim] == 1 && getStarts().values()[dim] == SymbolicInt(0) &&
                 shapeOf(getInput())[dim] == shapeOf(getResult())[dim];
  return isWhole ? std::optional<unsigned>(dim) : std::nullopt;
}

Value SliceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  SmallVector<Value> source;
  for (auto [position, start, step] : llvm::zip(index, getStarts().values(), getSteps())) {
    Value scaled = math.mulConstant(position, step);
    source.push_back(start == SymbolicInt(0) ? scaled : math.add(math.extent(start), scaled));
  }
  return emitter.element(builder, loc, getInput(), source);
}

ElementKind SliceOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getLow().getDims().size() != rank || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " low amounts and a result of that rank";
  if (getValue().getType() != scalarTypeOf(getResult()))
    return emitOpError("C2: the value has type ") << getValue().getType() << ", elements " << scalarTypeOf(getResult());
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 llvm::all_of(getLow().values(), [](const SymbolicInt &low) { return low == SymbolicInt(0); });
  return isWhole ? getInput() : Value();
}

std::optional<unsigned> PadOp::followingDim(OpOperand &, unsigned dim) {
  bool isWhole = getLow().values()[dim] == SymbolicInt(0) && shapeOf(getInput())[dim] == shapeOf(getResult())[dim];
  return isWhole ? std::optional<unsigned>(dim) : std::nullopt;
}

Value PadOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  Value inside;
  SmallVector<Value> source;
  for (auto [dim, low] : llvm::enumerate(getLow().values())) {
    bool isUntouched = low == SymbolicInt(0) && input[dim] == result[dim];
    source.push_back(low == SymbolicInt(0) ? index[dim] : math.sub(index[dim], math.extent(low)));
    if (!isUntouched)
      inside = math.conjunction(inside, math.isInside(source[dim], math.extent(input[dim])));
  }
  auto load = [&](OpBuilder &b) { return emitter.element(b, loc, getInput(), source); };
  if (!inside)
    return load(builder);
  return math.choose(inside, getValue().getType(), load,
                     [&](OpBuilder &b) { return b.create<arith::ConstantOp>(loc, getValue()).getResult(); });
}

ElementKind PadOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("C1: nothing to concatenate");
  Shape expected = shapeOf(getInputs()[0]);
  if (getAxis() >= static_cast<uint64_t>(expected.size()))
    return emitOpError("C1: axis ") << getAxis() << " of a tensor of rank " << expected.size();
  for (Value input : getInputs().drop_front()) {
    Shape shape = shapeOf(input);
    if (shape.size() != expected.size())
      return emitOpError("C2: ranks differ");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == static_cast<size_t>(getAxis()))
        expected[i] = expected[i] + shape[i];
      else if (provablyDiffer(shape[i], expected[i]))
        return emitOpError("C2: ") << toString(shape) << " does not fit beside " << toString(expected);
    }
  }
  return verifyExtents(*this, "C3", expected);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return getInputs().size() == 1 ? getInputs()[0] : Value(); }

void ConcatOp::addRequirements(Requirements &requirements) {
  Shape expected = shapeOf(getInputs().front());
  for (Value input : getInputs().drop_front())
    for (auto [dim, extent] : llvm::enumerate(shapeOf(input)))
      if (dim == getAxis())
        expected[dim] = expected[dim] + extent;
      else
        requirements.addEqual(extent, expected[dim]);
  requireExtents(requirements, getResult(), expected);
}

std::optional<unsigned> ConcatOp::followingDim(OpOperand &, unsigned dim) {
  return dim == getAxis() ? std::nullopt : std::optional<unsigned>(dim);
}

/// The element of that input in [first, last) which contains the index. Bisection keeps the code shallow: there may be
/// thousands of inputs.
static Value elementOfPiece(ConcatOp op, ArrayRef<Value> offsets, unsigned first, unsigned last, ValueRange index,
                            IndexMath math) {
  Value position = index[op.getAxis()];
  if (last - first == 1) {
    SmallVector<Value> source(index);
    if (first > 0)
      source[op.getAxis()] = math.sub(position, offsets[first]);
    return math.emitter.element(math.builder, math.loc, op.getInputs()[first], source);
  }
  unsigned middle = (first + last) / 2;
  auto half = [&](OpBuilder &b, unsigned from, unsigned to) {
    return elementOfPiece(op, offsets, from, to, index, IndexMath{b, math.loc, math.emitter});
  };
  return math.choose(
      math.isInside(position, offsets[middle]), scalarTypeOf(op.getResult()),
      [&](OpBuilder &then) { return half(then, first, middle); },
      [&](OpBuilder &otherwise) { return half(otherwise, middle, last); });
}

Value ConcatOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  SmallVector<Value> offsets{math.constant(0)};
  for (Value input : getInputs().drop_back()) {
    Value extent = math.extent(shapeOf(input)[getAxis()]);
    offsets.push_back(offsets.size() == 1 ? extent : builder.createOrFold<arith::AddIOp>(loc, offsets.back(), extent));
  }
  return elementOfPiece(*this, offsets, 0, getInputs().size(), index, math);
}

ElementKind ConcatOp::elementKind() { return ElementKind::View; }

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

static Shape gatheredShape(GatherOp op) {
  Shape input = shapeOf(op.getInput()), shape(input.begin(), input.begin() + op.getAxis());
  shape.append(shapeOf(op.getIndices()));
  shape.append(input.begin() + op.getAxis() + 1, input.end());
  return shape;
}

LogicalResult GatherOp::verify() {
  Shape input = shapeOf(getInput());
  if (getAxis() >= static_cast<uint64_t>(input.size()))
    return emitOpError("C1: axis ") << getAxis() << " of a tensor of rank " << input.size();
  if (!isa<IntegerType>(tensorTypeOf(getIndices()).getElementType()))
    return emitOpError("C3: the indices must be integers");
  return verifyExtents(*this, "C2", gatheredShape(*this));
}

void GatherOp::addRequirements(Requirements &requirements) {
  requirements.addReads(shapeOf(getInput())[getAxis()], shapeOf(getIndices()));
  requireExtents(requirements, getResult(), gatheredShape(*this));
}

std::optional<unsigned> GatherOp::followingDim(OpOperand &operand, unsigned dim) {
  unsigned axis = getAxis(), indexRank = tensorTypeOf(getIndices()).getRank();
  if (operand.getOperandNumber() == getIndicesMutable().getOperandNumber())
    return axis + dim;
  if (dim == axis)
    return std::nullopt;
  return dim < axis ? dim : dim + indexRank - 1;
}

Value GatherOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  unsigned indexRank = shapeOf(getIndices()).size(), axis = getAxis();
  Value chosen = emitter.element(builder, loc, getIndices(), index.slice(axis, indexRank));
  if (isUnsigned(tensorTypeOf(getIndices()).getElementType()))
    chosen = builder.create<arith::IndexCastUIOp>(loc, builder.getIndexType(), chosen);
  else
    chosen = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), chosen);
  Value last = math.addConstant(math.extent(shapeOf(getInput())[axis]), -1);
  chosen = builder.create<arith::MaxSIOp>(loc, math.constant(0), chosen);
  chosen = builder.create<arith::MinSIOp>(loc, last, chosen);
  SmallVector<Value> source(index.take_front(axis));
  source.push_back(chosen);
  llvm::append_range(source, index.drop_front(axis + indexRank));
  return emitter.element(builder, loc, getInput(), source);
}

ElementKind GatherOp::elementKind() { return ElementKind::View; }
