//===- Lists.cpp - lists and optional values ------------------------------===//
//
// A list whose elements are known when the graph is built is a call of sequence.construct. Operators that read or
// change it at known positions use the operands of that call, so the call is dead unless a loop, a branch, a position
// computed at run time, or the model's interface needs the list.
//
//===----------------------------------------------------------------------===//

#include "graph/SequenceTypes.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

std::optional<SmallVector<Value>> listElements(Value list) {
  while (auto retyped = list.getDefiningOp<MapOp>())
    list = retyped.getInputs()[0];
  auto call = list.getDefiningOp<CallLibraryOp>();
  if (!call || call.getFunction() != "sequence.construct")
    return std::nullopt;
  return llvm::to_vector(ValueRange(call.getInputs()));
}

Value makeList(Builder &b, Values elements, Type elementType, bool isOptional) {
  Type joined = elementType ? elementType : Type(NoneType::get(b.context()));
  for (Value element : elements) {
    if (!element)
      return {};
    joined = joined ? joinElements(joined, elementOf(tensorTypeOf(element))) : joined;
  }
  if (!joined)
    return b.fail("the elements of a list must have one element type");
  return b.callLibrary("sequence.construct", elements,
                       CallResult{{}, SequenceType::get(b.context(), joined, isOptional)})[0];
}

static SequenceType listType(Builder &b, Value value) {
  SequenceType type = sequenceTypeOf(value);
  if (!type && value)
    b.fail("expected a sequence or optional value, got a tensor");
  return type;
}

static Value positionOf(Builder &b, Value position) {
  return position ? b.reshape(b.cast(position, b.i64()), {}) : Value();
}

/// A known position in [0, count); negative ones count from the end. nullopt if unknown.
static std::optional<int64_t> knownPosition(Builder &b, Value position, int64_t count) {
  std::optional<SmallVector<int64_t>> known = position ? b.constantContents(position) : std::nullopt;
  if (!known || known->size() != 1)
    return std::nullopt;
  return known->front() < 0 ? known->front() + count : known->front();
}

static Value outside(Builder &b, int64_t position, size_t count) {
  return b.fail("position " + Twine(position) + " of a list of " + Twine(count) + " elements");
}

Value listElement(Builder &b, Value list, Value position) {
  SequenceType type = listType(b, list);
  if (!type || !position)
    return {};
  if (std::optional<SmallVector<Value>> elements = listElements(list))
    if (std::optional<int64_t> known = knownPosition(b, position, elements->size()))
      return *known >= 0 && *known < static_cast<int64_t>(elements->size()) ? (*elements)[*known]
                                                                            : outside(b, *known, elements->size());
  auto element = dyn_cast<RankedTensorType>(type.getElement());
  if (!element)
    return b.fail(isa<NoneType>(type.getElement())
                      ? "nothing was put into this list"
                      : "the elements of this list have no known number of dimensions\nhint: for an input, give it: "
                        "NAME:rank=2 among the dimensions; elements made in the model must have equal ranks");
  Shape shape; // the call defines symbolic extents
  for (int64_t extent : element.getShape())
    shape.push_back(ShapedType::isDynamic(extent) ? SymbolicInt::poison() : SymbolicInt(extent));
  return b.callLibrary("sequence.at", {list, positionOf(b, position)}, CallResult{shape, element.getElementType()})[0];
}

Value listLength(Builder &b, Value list) {
  if (!listType(b, list))
    return {};
  if (std::optional<SmallVector<Value>> elements = listElements(list))
    return b.dims(SymbolicInt(static_cast<int64_t>(elements->size())), /*isScalar=*/true);
  return b.callLibrary("sequence.length", list, CallResult{{}, b.i64()})[0];
}

namespace composites {
Results sequence_construct(Builder &b, Values in, const Attributes &) { return {makeList(b, in)}; }
Results sequence_empty(Builder &b, Values, const Attributes &) { return {makeList(b, {})}; }
Results sequence_length(Builder &b, Values in, const Attributes &) { return {listLength(b, in[0])}; }
Results sequence_at(Builder &b, Values in, const Attributes &) { return {listElement(b, in[0], in[1])}; }

/// in: list, element, position (without one: at the end).
Results sequence_insert(Builder &b, Values in, const Attributes &) {
  SequenceType type = listType(b, in[0]);
  if (!type)
    return {};
  Value position = optionalInput(in, 2);
  if (std::optional<SmallVector<Value>> elements = listElements(in[0])) {
    int64_t count = elements->size();
    std::optional<int64_t> known = position ? knownPosition(b, position, count) : count;
    if (known && (*known < 0 || *known > count))
      return {outside(b, *known, count)};
    if (known) {
      elements->insert(elements->begin() + *known, in[1]);
      return {makeList(b, *elements, type.getElement())};
    }
  }
  Type joined = joinElements(type.getElement(), elementOf(tensorTypeOf(in[1])));
  if (!joined)
    return {b.fail("the element has another element type than the list")};
  SmallVector<Value> operands{in[0], in[1]};
  if (position)
    operands.push_back(positionOf(b, position));
  return b.callLibrary("sequence.insert", operands, CallResult{{}, SequenceType::get(b.context(), joined, false)});
}

/// in: list, position (without one: the last element).
Results sequence_erase(Builder &b, Values in, const Attributes &) {
  SequenceType type = listType(b, in[0]);
  if (!type)
    return {};
  Value position = optionalInput(in, 1);
  if (std::optional<SmallVector<Value>> elements = listElements(in[0])) {
    int64_t count = elements->size();
    std::optional<int64_t> known = position ? knownPosition(b, position, count) : count - 1;
    if (known && (*known < 0 || *known >= count))
      return {outside(b, *known, count)};
    if (known) {
      elements->erase(elements->begin() + *known);
      return {makeList(b, *elements, type.getElement())};
    }
  }
  SmallVector<Value> operands{in[0]};
  if (position)
    operands.push_back(positionOf(b, position));
  return b.callLibrary("sequence.erase", operands, CallResult{{}, type});
}

//===----------------------------------------------------------------------===//
// To and from tensors
//===----------------------------------------------------------------------===//

/// The sizes of the parts when their number is known: in[1] is a vector of sizes, or the size of all but the last part.
static std::optional<Shape> partSizes(Builder &b, Values in, const SymbolicInt &extent) {
  Value given = optionalInput(in, 1);
  std::optional<Shape> known = given ? b.contents(given) : Shape{SymbolicInt(1)};
  if (given && rankOf(given) == 1)
    return known;
  std::optional<int64_t> size = known ? known->front().constant() : std::nullopt, total = extent.constant();
  constexpr int64_t mostParts = 4096;
  if (!size || !total || *size < 1 || *total / *size > mostParts)
    return std::nullopt;
  Shape sizes;
  for (int64_t start = 0; start < *total; start += *size)
    sizes.emplace_back(std::min(*size, *total - start));
  return sizes;
}

static Results splitAtRunTime(Builder &b, Values in, int64_t axis, bool keepsAxis) {
  RankedTensorType type = tensorTypeOf(in[0]);
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = ShapedType::kDynamic;
  Value given = optionalInput(in, 1);
  std::optional<SmallVector<int64_t>> size = given && rankOf(given) == 0 ? b.constantContents(given) : std::nullopt;
  if (!given || (size && size->front() == 1))
    shape[axis] = 1;
  if (!keepsAxis)
    shape.erase(shape.begin() + axis);
  NamedAttribute parameters[] = {b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis)),
                                 b.operations.getNamedAttr("keepsAxis", b.operations.getI64IntegerAttr(keepsAxis))};
  auto list = SequenceType::get(b.context(), RankedTensorType::get(shape, type.getElementType()), false);
  SmallVector<Value> operands{in[0]};
  if (given)
    operands.push_back(b.cast(given, b.i64()));
  return b.callLibrary("sequence.split", operands, CallResult{{}, list}, parameters);
}

Results split_to_sequence(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  if (axis < 0)
    return {};
  bool keepsAxis = optionalInput(in, 1) || a.getInt("keepdims", 1);
  std::optional<Shape> sizes = partSizes(b, in, shapeOf(in[0])[axis]);
  if (!sizes)
    return splitAtRunTime(b, in, axis, keepsAxis);
  Results parts = applyComposite(
      b, "split", in[0],
      Attributes(b.context(), {b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis)),
                               b.operations.getNamedAttr("sizes", ShapeAttr::get(b.context(), *sizes))}));
  for (Value &part : parts)
    part = keepsAxis ? part : b.squeeze(part, axis);
  return {makeList(b, parts)};
}

Results concat_from_sequence(Builder &b, Values in, const Attributes &a) {
  SequenceType type = listType(b, in[0]);
  bool isNew = a.getInt("new_axis") != 0;
  if (!type)
    return {};
  auto axisAttribute = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(a.getInt("axis")));
  if (std::optional<SmallVector<Value>> elements = listElements(in[0]); elements && !elements->empty())
    return applyComposite(b, isNew ? "stack" : "concat", *elements, Attributes(b.context(), axisAttribute));
  auto element = dyn_cast<RankedTensorType>(type.getElement());
  if (!element)
    return {b.fail("the elements of this list have no known number of dimensions")};
  int64_t axis = normalAxis(b, a.getInt("axis"), element.getRank() + isNew);
  if (axis < 0)
    return {};
  Shape shape;
  for (int64_t extent : element.getShape())
    shape.push_back(ShapedType::isDynamic(extent) ? SymbolicInt::poison() : SymbolicInt(extent));
  if (isNew)
    shape.insert(shape.begin() + axis, SymbolicInt::poison());
  shape[axis] = SymbolicInt::poison();
  NamedAttribute parameters[] = {b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis)),
                                 b.operations.getNamedAttr("isNew", b.operations.getI64IntegerAttr(isNew))};
  return b.callLibrary("sequence.concat", in[0], CallResult{shape, element.getElementType()}, parameters);
}

//===----------------------------------------------------------------------===//
// Optional values
//===----------------------------------------------------------------------===//

/// Without an input: no element, of the type that the attribute `type` says.
Results optional(Builder &b, Values in, const Attributes &a) {
  return {makeList(b, in, a.getType("type"), /*isOptional=*/true)};
}

/// A tensor or list that is no optional value is its own element.
Results optional_get_element(Builder &b, Values in, const Attributes &) {
  SequenceType type = sequenceTypeOf(in[0]);
  if (!type || !type.getIsOptional())
    return {in[0]};
  return {listElement(b, in[0], b.dims(SymbolicInt(0), /*isScalar=*/true))};
}

Results optional_has_element(Builder &b, Values in, const Attributes &) {
  Type boolean = b.operations.getI1Type();
  Value given = optionalInput(in, 0);
  SequenceType type = sequenceTypeOf(given);
  if (!given || !type || !type.getIsOptional())
    return {b.scalar(given ? 1 : 0, boolean)};
  return {b.cast(listLength(b, given), boolean)};
}
} // namespace composites
} // namespace perpend::graph
