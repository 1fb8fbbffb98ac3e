//===- Verify.cpp - the constraints of the primitives ---------------------===//
//
// Each constraint carries the label that Ops.td gives it (C1, C2 ...).
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"

using namespace mlir;
using namespace perpend::graph;

/// Emits an error unless the result's extents are `expected` (as far as known).
static LogicalResult verifyExtents(Operation *op, StringRef label, ArrayRef<SymbolicInt> expected) {
  Shape got = shapeOf(op->getResult(0));
  bool matches = expected.size() == got.size();
  for (size_t i = 0; matches && i < got.size(); ++i)
    matches = !provablyDiffer(expected[i], got[i]);
  if (matches)
    return success();
  return op->emitOpError() << label << ": expected a result of shape " << toString(expected) << ", got "
                           << toString(got);
}

static bool isStrictlyIncreasing(ArrayRef<int64_t> dims, int64_t rank) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= rank)
      return false;
    previous = dim;
  }
  return true;
}

static LogicalResult verifyBody(Operation *op, ArrayRef<Type> argumentTypes) {
  Block &body = op->getRegion(0).front();
  if (!llvm::equal(body.getArgumentTypes(), argumentTypes))
    return op->emitOpError("C2: the body's arguments do not match the inputs");
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  Type expected = scalarTypeOf(op->getResult(0));
  if (!yield || yield.getValues().size() != 1 || yield.getValues()[0].getType() != expected)
    return op->emitOpError("C3: the body must yield one ") << expected;
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getValue().getShapedType().getShape() != type.getShape() || getValue().getElementType() != type.getElementType())
    return emitOpError("C1: the value has type ") << getValue().getType() << ", the result " << type;
  return success();
}

LogicalResult DimsOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() > 1 || !type.hasStaticShape() ||
      type.getNumElements() != static_cast<int64_t>(getValues().getDims().size()))
    return emitOpError("C1: ") << getValues().getDims().size() << " values for a result of type " << type;
  if (!type.getElementType().isInteger(64))
    return emitOpError("C2: expected elements of type i64, got ") << type.getElementType();
  return success();
}

LogicalResult MapOp::verify() {
  SmallVector<Type> arguments;
  Shape result = shapeOf(getResult());
  for (Value input : getInputs()) {
    Shape shape = shapeOf(input);
    bool same = shape.size() == result.size();
    for (size_t i = 0; same && i < shape.size(); ++i)
      same = !provablyDiffer(shape[i], result[i]);
    if (!same)
      return emitOpError("C1: expected inputs of shape ") << toString(result) << ", got " << toString(shape);
    arguments.push_back(scalarTypeOf(input));
  }
  return verifyBody(*this, arguments);
}

LogicalResult GenerateOp::verify() {
  SmallVector<Type> arguments(cast<RankedTensorType>(getType()).getRank(), IndexType::get(getContext()));
  llvm::append_range(arguments, getInputs().getTypes());
  return verifyBody(*this, arguments);
}

LogicalResult LoadOp::verify() {
  int64_t rank = cast<RankedTensorType>(getTensor().getType()).getRank();
  if (static_cast<int64_t>(getIndex().size()) != rank)
    return emitOpError("C1: ") << getIndex().size() << " indices into a tensor of rank " << rank;
  return success();
}

LogicalResult BroadcastOp::verify() {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  if (getDims().size() != input.size() || !isStrictlyIncreasing(getDims(), result.size()))
    return emitOpError("C1: expected ") << input.size() << " strictly increasing dimensions below " << result.size();
  for (auto [extent, dim] : llvm::zip(input, getDims()))
    if (extent != SymbolicInt(1) && provablyDiffer(extent, result[dim]))
      return emitOpError("C2: cannot broadcast ") << toString(input) << " to " << toString(result);
  return success();
}

LogicalResult TransposeOp::verify() {
  Shape input = shapeOf(getInput()), expected;
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.size())))
    return emitOpError("C1: not a permutation of ") << input.size() << " dimensions";
  for (int64_t dim : getPermutation())
    expected.push_back(input[dim]);
  return verifyExtents(*this, "C2", expected);
}

LogicalResult ReshapeOp::verify() {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  if (provablyDiffer(elementCount(input), elementCount(result)))
    return emitOpError("C1: cannot reshape ")
           << toString(input) << " to " << toString(result) << ": the numbers of elements differ";
  return success();
}

LogicalResult SliceOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getStarts().getDims().size() != rank || getSteps().size() != rank || llvm::is_contained(getSteps(), 0) ||
      shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " starts and steps other than 0, and a result of that rank";
  return success();
}

LogicalResult PadOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getLow().getDims().size() != rank || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " low amounts and a result of that rank";
  if (getValue().getType() != scalarTypeOf(getResult()))
    return emitOpError("C2: the value has type ") << getValue().getType() << ", elements " << scalarTypeOf(getResult());
  return success();
}

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

LogicalResult GatherOp::verify() {
  Shape input = shapeOf(getInput()), indices = shapeOf(getIndices());
  if (getAxis() >= static_cast<uint64_t>(input.size()))
    return emitOpError("C1: axis ") << getAxis() << " of a tensor of rank " << input.size();
  if (!isa<IntegerType>(tensorTypeOf(getIndices()).getElementType()))
    return emitOpError("C3: the indices must be integers");
  Shape expected(input.begin(), input.begin() + getAxis());
  expected.append(indices);
  expected.append(input.begin() + getAxis() + 1, input.end());
  return verifyExtents(*this, "C2", expected);
}

/// Arithmetic on minifloats is done on what they are converted to.
static LogicalResult verifyNumbers(Operation *op, StringRef label) {
  SmallVector<Value> tensors(op->getOperands());
  llvm::append_range(tensors, op->getResults());
  for (Value tensor : tensors)
    if (Type type = tensorTypeOf(tensor).getElementType(); isMinifloat(type))
      return op->emitOpError() << label << ": no arithmetic on elements of type " << type;
  return success();
}

LogicalResult ReduceOp::verify() {
  Shape input = shapeOf(getInput());
  if (!isStrictlyIncreasing(getDims(), input.size()))
    return emitOpError("C1: dims must be strictly increasing and below ") << input.size();
  return failed(verifyNumbers(*this, "C3")) ? failure() : verifyExtents(*this, "C2", dropDims(input, getDims()));
}

LogicalResult ContractOp::verify() {
  if (failed(verifyNumbers(*this, "C4")))
    return failure();
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs()), expected;
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContracted().size() != getRhsContracted().size())
    return emitOpError("C1: batch and contracted dimensions come in pairs");
  SmallVector<int64_t> lhsUsed(getLhsBatch()), rhsUsed(getRhsBatch());
  llvm::append_range(lhsUsed, getLhsContracted());
  llvm::append_range(rhsUsed, getRhsContracted());
  auto isValid = [](SmallVector<int64_t> dims, size_t rank) {
    llvm::sort(dims);
    return isStrictlyIncreasing(dims, rank);
  };
  if (!isValid(lhsUsed, lhs.size()) || !isValid(rhsUsed, rhs.size()))
    return emitOpError("C1: a dimension is listed twice or out of range");
  for (auto [l, r] : llvm::zip(lhsUsed, rhsUsed))
    if (provablyDiffer(lhs[l], rhs[r]))
      return emitOpError("C2: dimension ")
             << l << " of " << toString(lhs) << " is paired with dimension " << r << " of " << toString(rhs);
  for (int64_t dim : getLhsBatch())
    expected.push_back(lhs[dim]);
  expected.append(dropDims(lhs, lhsUsed));
  expected.append(dropDims(rhs, rhsUsed));
  return verifyExtents(*this, "C3", expected);
}

LogicalResult ConvOp::verify() {
  if (failed(verifyNumbers(*this, "C4")))
    return failure();
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  size_t windows = getStrides().size();
  if (input.size() != windows + 2 || filter.size() != input.size() || result.size() != input.size() ||
      getPadLow().size() != windows || getDilations().size() != windows || getInputDilation().size() != windows)
    return emitOpError("C1: expected tensors of rank ")
           << windows + 2 << " and " << windows << " entries per attribute";
  if (getGroups() < 1 || provablyDiffer(input[channelDim()], filter[filterInputDim()] * SymbolicInt(getGroups())))
    return emitOpError("C2: ") << input[channelDim()].str() << " input channels, but a filter for " << getGroups()
                               << " groups of " << filter[filterInputDim()].str();
  if (provablyDiffer(result[channelDim()], filter[filterOutputDim()]) || provablyDiffer(result[0], input[0]))
    return emitOpError("C3: a result of shape ")
           << toString(result) << " does not fit input " << toString(input) << " and filter " << toString(filter);
  return success();
}

LogicalResult WindowReduceOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getWindow().size() != rank || getStrides().size() != rank || getPadLow().size() != rank ||
      getDilations().size() != rank || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " entries per attribute and a result of that rank";
  return verifyNumbers(*this, "C2");
}

//===----------------------------------------------------------------------===//
// Results whose elements depend on one another
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() {
  Shape input = shapeOf(getInput()), indices = shapeOf(getIndices());
  std::optional<int64_t> depth = indices.empty() ? std::nullopt : indices.back().constant();
  if (!isa<IntegerType>(tensorTypeOf(getIndices()).getElementType()) || !depth ||
      *depth > static_cast<int64_t>(input.size()))
    return emitOpError("C1: expected integer indices whose last extent is at most ")
           << input.size() << ", got " << getIndices().getType();
  Shape expected(indices.begin(), indices.end() - 1), updates = shapeOf(getUpdates());
  expected.append(input.begin() + *depth, input.end());
  bool fits = updates.size() == expected.size();
  for (size_t i = 0; fits && i < updates.size(); ++i)
    fits = !provablyDiffer(updates[i], expected[i]);
  if (!fits || scalarTypeOf(getUpdates()) != scalarTypeOf(getInput()))
    return emitOpError("C2: expected updates of shape ") << toString(expected) << ", got " << getUpdates().getType();
  return getType() == getInput().getType() ? success() : emitOpError("C3: the result has the input's type");
}

LogicalResult SortOp::verify() {
  Shape expected = shapeOf(getInput());
  if (getLexicographic() && !expected.empty())
    expected.pop_back();
  if (getDim() >= expected.size())
    return emitOpError("C1: dim ") << getDim() << " of a result of rank " << expected.size();
  if (!tensorTypeOf(getResult()).getElementType().isInteger(64))
    return emitOpError("C2: expected elements of type i64, got ") << getType();
  return verifyExtents(*this, "C2", expected);
}

LogicalResult ScanOp::verify() {
  Shape input = shapeOf(getInput());
  if (getDim() >= input.size())
    return emitOpError("C1: dim ") << getDim() << " of a tensor of rank " << input.size();
  return getType() == getInput().getType() ? success() : emitOpError("C2: the result has the input's type");
}
