//===- Builder.cpp - builds graphs; the only place of shape inference -----===//

#include "graph/builder/Builder.h"
#include "graph/builder/TruthValues.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {

static bool anyNull(ArrayRef<Value> values) { return llvm::is_contained(values, Value()); }

template <typename Op, typename... Arguments>
Value Builder::create(Extents extents, Type elementType, Arguments &&...arguments) {
  Shape shape(extents);
  for (SymbolicInt &extent : shape) {
    std::optional<int64_t> high = extent.upperBound();
    if (extent.isPoison() || (high && *high < 0))
      return contradict(Op::getOperationName().drop_front(6) + ": the result would have the shape " +
                        toString(extents) + "\nhint: the model's shapes do not fit this operator");
    if (high && high == extent.lowerBound())
      extent = SymbolicInt(*high); // min(n, 3) + 2 floordiv 3 is 1
  }
  RankedTensorType type = tensorType(shape, elementType);
  return operations.createOrFold<Op>(location, type, std::forward<Arguments>(arguments)...);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Builder::constant(ElementsAttr value) {
  auto type = ::mlir::cast<RankedTensorType>(value.getType());
  return operations.create<ConstantOp>(location, type, value);
}

Value Builder::splat(Extents shape, double value, Type elementType) {
  if (isMinifloat(elementType))
    return cast(splat(shape, value, f32()), elementType);
  Type scalar = scalarType(elementType);
  if (!isa<FloatType, IntegerType>(elementType))
    return fail("expected numbers, got elements of type " + nameOf(elementType));
  auto type = RankedTensorType::get({}, elementType);
  Attribute element;
  if (auto floating = dyn_cast<FloatType>(scalar))
    element = FloatAttr::get(floating, value);
  else
    element = IntegerAttr::get(
        elementType, support::saturatedInteger(value, scalar.getIntOrFloatBitWidth(), isUnsigned(elementType)));
  return broadcast(constant(DenseElementsAttr::get(type, element)), {}, shape);
}

Value Builder::integers(Ints values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, i64());
  return constant(DenseElementsAttr::get(type, values));
}

Value Builder::dims(Extents values, bool isScalar) {
  Shape shape;
  if (!isScalar)
    shape.emplace_back(static_cast<int64_t>(values.size()));
  SmallVector<int64_t> numbers;
  for (const SymbolicInt &value : values)
    if (std::optional<int64_t> number = value.constant())
      numbers.push_back(*number);
  Value result;
  if (numbers.size() == values.size())
    result = constant(DenseElementsAttr::get(tensorType(shape, i64()), ArrayRef<int64_t>(numbers)));
  else
    result = create<DimsOp>(shape, i64(), ShapeAttr::get(context(), values));
  recordContents(result, values);
  return result;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Value Builder::bodyOp(StringRef name, Values inputs, Extents shape, Type elementType, ArrayRef<Type> argumentTypes,
                      llvm::function_ref<Value(OpBuilder &, Block &)> body) {
  OperationState state(location, name, inputs, {tensorType(shape, elementType)}, {});
  Region *region = state.addRegion();
  Block &block = region->emplaceBlock();
  for (Type type : argumentTypes)
    block.addArgument(type, location);
  OpBuilder inner(context()); // the region has no parent yet
  inner.setInsertionPointToStart(&block);
  inner.create<YieldOp>(location, body(inner, block));
  return operations.create(state)->getResult(0);
}

/// Null, with an error, for strings, lists and minifloats, which have no arithmetic. Composites convert minifloats
/// where ONNX allows them.
static Value numbers(Builder &builder, Value tensor) {
  Type type = tensor ? tensorTypeOf(tensor).getElementType() : Type();
  if (!tensor || !(isMinifloat(type) || isHandle(type)))
    return tensor;
  return builder.fail(
      "no arithmetic on elements of type " + nameOf(type) +
      (isHandle(type) ? "\nhint: cast them to numbers first" : "\nhint: cast them to a wider type first"));
}

/// Whether a body only compares a value for equality, selects it or yields it: all that strings and lists allow.
static bool isOnlyCompared(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (auto compare = dyn_cast<arith::CmpIOp>(user))
      return compare.getPredicate() == arith::CmpIPredicate::eq || compare.getPredicate() == arith::CmpIPredicate::ne;
    return isa<YieldOp>(user) || (isa<arith::SelectOp>(user) && isOnlyCompared(user->getResult(0)));
  });
}

Value Builder::map(Values inputs, Type elementType, ScalarBody body) {
  if (anyNull(inputs))
    return {};
  if (inputs.empty())
    return fail("map: no input");
  SmallVector<Type> types = llvm::map_to_vector(inputs, [](Value input) { return scalarTypeOf(input); });
  bool isArithmetic = false;
  Value result = bodyOp(MapOp::getOperationName(), inputs, shapeOf(inputs[0]), elementType, types,
                        [&](OpBuilder &builder, Block &block) {
                          Value scalar = body(builder, location, block.getArguments());
                          for (auto [input, argument] : llvm::zip(inputs, block.getArguments()))
                            isArithmetic |= isHandle(tensorTypeOf(input).getElementType()) && !isOnlyCompared(argument);
                          return scalar;
                        });
  return isArithmetic
             ? numbers(*this, *llvm::find_if(
                                  inputs, [](Value input) { return isHandle(tensorTypeOf(input).getElementType()); }))
             : result;
}

Value Builder::generate(Values inputs, Extents shape, Type elementType, ElementBody body) {
  if (anyNull(inputs))
    return {};
  SmallVector<Type> types(shape.size(), operations.getIndexType());
  for (Value input : inputs)
    types.push_back(input.getType());
  return bodyOp(
      GenerateOp::getOperationName(), inputs, shape, elementType, types, [&](OpBuilder &builder, Block &block) {
        ValueRange arguments = block.getArguments();
        return body(builder, location, arguments.take_front(shape.size()), arguments.drop_front(shape.size()));
      });
}

Value load(OpBuilder &builder, Location loc, Value tensor, ValueRange index) {
  return builder.create<LoadOp>(loc, scalarTypeOf(tensor), tensor, index);
}

Value extent(OpBuilder &builder, Location loc, const SymbolicInt &value) {
  if (std::optional<int64_t> constant = value.constant())
    return builder.create<arith::ConstantIndexOp>(loc, *constant);
  return builder.create<ExtentOp>(loc, value.str());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value Builder::broadcast(Value input, Ints dims, Extents shape) {
  if (!input)
    return {};
  Shape units = shapeOf(input);
  auto isInside = [&](int64_t dim) { return dim >= 0 && dim < static_cast<int64_t>(shape.size()); };
  if (units.size() != dims.size() || !llvm::all_of(dims, isInside))
    return contradict("cannot broadcast a tensor of shape " + toString(units) + " to " + toString(shape));
  for (auto [extent, dim] : llvm::zip(units, dims)) {
    if (extent == shape[dim])
      continue;
    if (isAtMostOne(extent))
      extent = SymbolicInt(1);
    else if (provablyDiffer(extent, shape[dim]))
      return contradict("cannot broadcast a tensor of shape " + toString(shapeOf(input)) + " to " + toString(shape));
  }
  if (units != shapeOf(input))
    input = reshape(input, units); // binding checks that an element exists
  Value result = create<BroadcastOp>(shape, tensorTypeOf(input).getElementType(), input, dims);
  std::optional<int64_t> count = elementCount(shape).constant();
  if (std::optional<Shape> known = contents(input);
      known && known->size() == 1 && count && *count <= maxFollowedElements)
    recordContents(result, Shape(*count, known->front()));
  return result;
}

/// Row-major positions of the elements at first + index * strides, for each index below the extents.
static SmallVector<int64_t> positions(ArrayRef<int64_t> extents, int64_t first, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> result{first};
  for (auto [extent, stride] : llvm::zip_equal(extents, strides)) {
    SmallVector<int64_t> next;
    for (int64_t position : result)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(position + i * stride);
    result = std::move(next);
  }
  return result;
}

static SmallVector<int64_t> strideNumbers(ArrayRef<int64_t> extents) {
  SmallVector<int64_t> strides(extents.size(), 1);
  for (int64_t i = static_cast<int64_t>(extents.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * extents[i + 1];
  return strides;
}

/// Records that the elements of `result` are those of `known` at these positions. If a position does not exist, emits
/// an error that begins with `what`.
static Value withElements(Builder &builder, Value result, const Shape &known, ArrayRef<int64_t> positions,
                          StringRef what) {
  Shape values;
  for (int64_t position : positions) {
    if (position < 0 || position >= static_cast<int64_t>(known.size()))
      return builder.contradict(what + Twine(position) + " of a tensor of " + Twine(known.size()) + " elements");
    values.push_back(known[position]);
  }
  builder.recordContents(result, values);
  return result;
}

Value Builder::transpose(Value input, Ints permutation) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), result;
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, shape.size())))
    return contradict("transpose: expected a permutation of " + Twine(shape.size()) + " dimensions, got " +
                      toString(permutation));
  for (int64_t dim : permutation)
    result.push_back(shape[dim]);
  Value transposed = create<TransposeOp>(result, tensorTypeOf(input).getElementType(), input, permutation);
  if (std::optional<Shape> known = contents(input); known && transposed) {
    SmallVector<int64_t> strides = strideNumbers(tensorTypeOf(input).getShape());
    strides = llvm::map_to_vector(permutation, [&](int64_t dim) { return strides[dim]; });
    return withElements(*this, transposed, *known, positions(tensorTypeOf(transposed).getShape(), 0, strides),
                        "transpose: position ");
  }
  return transposed;
}

Value Builder::reshape(Value input, Extents shape) {
  if (!input)
    return {};
  bool overflows =
      elementCount(shape).isPoison() && llvm::all_of(shape, [](auto &extent) { return extent.isConstant(); });
  if (overflows || provablyDiffer(elementCount(shapeOf(input)), elementCount(shape)))
    return contradict("cannot reshape a tensor of shape " + toString(shapeOf(input)) + " to " + toString(shape) +
                      ": the numbers of elements differ, " + elementCount(shapeOf(input)).str() + " and " +
                      (overflows ? "more than can be counted" : elementCount(shape).str()));
  if (elementCount(shapeOf(input)) != elementCount(shape))
    emitRemark(location) << subject << "reshaping " << toString(shapeOf(input)) << " to " << toString(shape)
                         << " assumes that these have the same number of elements";
  Value result = create<ReshapeOp>(shape, tensorTypeOf(input).getElementType(), input);
  if (std::optional<Shape> known = contents(input))
    recordContents(result, *known);
  return result;
}

/// Describes a slice that leaves its dimension for all values of the symbols: "positions 2 to 4 of dimension 1, which
/// has 4".
static std::optional<std::string> readsOutside(Value input, ArrayRef<SymbolicInt> starts, ArrayRef<SymbolicInt> sizes,
                                               ArrayRef<int64_t> steps) {
  auto isNegative = [](const SymbolicInt &value) {
    std::optional<int64_t> high = value.upperBound();
    return high && *high < 0;
  };
  for (auto [dim, extent] : llvm::enumerate(shapeOf(input))) {
    SymbolicInt first = starts[dim], last = first + (sizes[dim] - 1) * steps[dim];
    if (isNegative(sizes[dim]))
      return sizes[dim].str() + " positions of dimension " + std::to_string(dim);
    if (isNegative(steps[dim] > 0 ? first : last) || isNegative(extent - 1 - (steps[dim] > 0 ? last : first)))
      return "positions " + first.str() + " to " + last.str() + " of dimension " + std::to_string(dim) +
             ", which has the extent " + extent.str();
  }
  return std::nullopt;
}

Value Builder::slice(Value input, Extents starts, Extents sizes, Ints steps) {
  if (!input)
    return {};
  // A loop need not run.
  const bool isInLoop = isa<LoopOp>(operations.getInsertionBlock()->getParentOp());
  if (std::optional<std::string> outside = readsOutside(input, starts, sizes, steps); outside && !isInLoop)
    return contradict("slice: expected positions inside of a tensor of shape " + toString(shapeOf(input)) + ", got " +
                      *outside + "\nhint: compare the starts and sizes with the input's shape");
  Value result =
      create<SliceOp>(sizes, tensorTypeOf(input).getElementType(), input, ShapeAttr::get(context(), starts), steps);
  std::optional<Shape> known = contents(input);
  bool hasNumbers = llvm::all_of(starts, [](const SymbolicInt &start) { return start.isConstant(); });
  if (!result || !known || !hasNumbers || !tensorTypeOf(result).hasStaticShape())
    return result;
  SmallVector<int64_t> strides = strideNumbers(tensorTypeOf(input).getShape());
  int64_t first = 0;
  for (auto [start, step, stride] : llvm::zip_equal(starts, steps, strides)) {
    first += *start.constant() * stride;
    stride *= step;
  }
  return withElements(*this, result, *known, positions(tensorTypeOf(result).getShape(), first, strides),
                      "slice: position ");
}

Value Builder::pad(Value input, Extents low, Extents high, TypedAttr value) {
  if (!input)
    return {};
  Shape shape = shapeOf(input);
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = shape[i] + low[i] + high[i];
  return create<PadOp>(shape, tensorTypeOf(input).getElementType(), input, ShapeAttr::get(context(), low), value);
}

Value Builder::concat(Values inputs, int64_t axis) {
  if (anyNull(inputs))
    return {};
  if (inputs.empty())
    return fail("concat: no input");
  Shape result = shapeOf(inputs[0]);
  if (!checkAxis(axis, result.size(), "concat"))
    return {};
  for (Value input : inputs.drop_front()) {
    Shape shape = shapeOf(input);
    if (shape.size() != result.size())
      return contradict("concat: expected inputs of one rank, got shapes " + toString(result) + " and " +
                        toString(shape));
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) != axis && provablyDiffer(shape[i], result[i]))
        return contradict("concat along axis " + Twine(axis) + ": expected dimension " + Twine(i) + " to be " +
                          result[i].str() + ", as in " + toString(shapeOf(inputs[0])) + ", got shape " +
                          toString(shape));
    if (Type type = tensorTypeOf(input).getElementType(), first = tensorTypeOf(inputs[0]).getElementType();
        type != first)
      return fail("concat: expected inputs of one element type, got " + nameOf(first) + " and " + nameOf(type) +
                  "\nhint: cast them to one type");
    result[axis] = result[axis] + shape[axis];
  }
  Value joined = create<ConcatOp>(result, tensorTypeOf(inputs[0]).getElementType(), inputs, axis);
  Shape values;
  for (Value input : inputs) {
    std::optional<Shape> known = contents(input);
    if (!known || result.size() != 1 || known->size() + values.size() > maxFollowedElements)
      return joined;
    values.append(*known);
  }
  recordContents(joined, values);
  return joined;
}

Value Builder::gather(Value input, Value indices, int64_t axis) {
  if (!input || !indices)
    return {};
  Shape shape = shapeOf(input), indexShape = shapeOf(indices);
  if (!checkAxis(axis, shape.size(), "gather"))
    return {};
  Shape result(shape.begin(), shape.begin() + axis);
  result.append(indexShape);
  result.append(shape.begin() + axis + 1, shape.end());
  Value gathered = create<GatherOp>(result, tensorTypeOf(input).getElementType(), input, indices, axis);
  std::optional<Shape> known = contents(input);
  std::optional<SmallVector<int64_t>> positions = constantContents(indices);
  if (!known || !positions || shape.size() != 1)
    return gathered;
  return withElements(*this, gathered, *known, *positions, "gather: index ");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value Builder::reduce(ReductionKind kind, Value input, Ints dims, bool keepDims) {
  if (!numbers(*this, input))
    return {};
  Shape shape = shapeOf(input);
  SmallVector<int64_t> sorted;
  for (int64_t dim : dims)
    sorted.push_back(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
  llvm::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (int64_t dim : sorted)
    if (!checkAxis(dim, shape.size(), "reduce"))
      return {};
  Type type = tensorTypeOf(input).getElementType();
  Value result = sorted.empty()
                     ? input
                     : create<ReduceOp>(dropDims(shape, sorted), type, input, primitiveKind(kind, type), sorted);
  if (!keepDims)
    return result;
  for (int64_t dim : sorted)
    shape[dim] = SymbolicInt(1);
  return reshape(result, shape);
}

Value Builder::contract(Value lhs, Value rhs, Ints lhsBatch, Ints rhsBatch, Ints lhsContracted, Ints rhsContracted,
                        Type elementType) {
  if (!numbers(*this, lhs) || !numbers(*this, rhs))
    return {};
  Shape left = shapeOf(lhs), right = shapeOf(rhs), result;
  SmallVector<int64_t> leftUsed(lhsBatch), rightUsed(rhsBatch);
  llvm::append_range(leftUsed, lhsContracted);
  llvm::append_range(rightUsed, rhsContracted);
  for (auto [l, r] : llvm::zip(leftUsed, rightUsed))
    if (provablyDiffer(left[l], right[r]))
      return contradict("matrix multiplication: expected dimension " + Twine(l) + " of " + toString(left) +
                        " to be dimension " + Twine(r) + " of " + toString(right) + ", got " + left[l].str() + " and " +
                        right[r].str());
  for (int64_t dim : lhsBatch)
    result.push_back(left[dim]);
  result.append(dropDims(left, leftUsed));
  result.append(dropDims(right, rightUsed));
  if (!elementType)
    elementType = tensorTypeOf(lhs).getElementType();
  return create<ContractOp>(result, elementType, lhs, rhs, lhsBatch, rhsBatch, lhsContracted, rhsContracted);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static SymbolicInt windowCount(const SymbolicInt &extent, const SymbolicInt &size, int64_t stride, int64_t dilation,
                               int64_t low, int64_t high, bool ceilMode) {
  SymbolicInt span =
      extent + SymbolicInt(low + high) - (size - SymbolicInt(1)) * SymbolicInt(dilation) - SymbolicInt(1);
  if (!ceilMode)
    return floorDiv(span, SymbolicInt(stride)) + SymbolicInt(1);
  SymbolicInt count = ceilDiv(span, SymbolicInt(stride)) + SymbolicInt(1);
  // A window that would start in the padding at the end is dropped.
  SymbolicInt startable = ceilDiv(extent + SymbolicInt(low), SymbolicInt(stride));
  return min(count, startable);
}

Value Builder::conv(Value input, Value filter, const Window &window, Type elementType) {
  if (!input || !filter)
    return {};
  Shape shape = shapeOf(input), filterShape = shapeOf(filter), extents;
  size_t windows = window.strides.size();
  if (shape.size() != windows + 2 || filterShape.size() != windows + 2)
    return contradict("conv: expected input and filter of rank " + Twine(windows + 2) + ", got shapes " +
                      toString(shape) + " and " + toString(filterShape));
  for (size_t i = 0; i < windows; ++i) {
    SymbolicInt extent = shape[window.channelsLast ? 1 + i : 2 + i];
    extent = (extent - SymbolicInt(1)) * SymbolicInt(window.inputDilation[i]) + SymbolicInt(1);
    extents.push_back(windowCount(extent, filterShape[window.channelsLast ? i : 2 + i], window.strides[i],
                                  window.dilations[i], window.padLow[i], window.padHigh[i], false));
  }
  return conv(input, filter, window, extents, elementType);
}

Value Builder::conv(Value input, Value filter, const Window &window, Extents windowExtents, Type elementType) {
  if (!numbers(*this, input) || !numbers(*this, filter))
    return {};
  Shape shape = shapeOf(input), filterShape = shapeOf(filter), result{shape[0]};
  size_t windows = window.strides.size(), channel = window.channelsLast ? windows + 1 : 1;
  SymbolicInt channels = filterShape[window.channelsLast ? windows : 1] * SymbolicInt(window.groups);
  if (window.groups < 1 || provablyDiffer(shape[channel], channels))
    return contradict("conv: expected an input with " + channels.str() + " channels, for a filter " +
                      toString(filterShape) + " in " + Twine(window.groups) + " groups, got " + shape[channel].str() +
                      " in " + toString(shape) +
                      (shape.back() == channels
                           ? "\nhint: channels are dimension " + std::to_string(channel) + ": transpose the input"
                           : std::string()));
  SymbolicInt outputs = filterShape[window.channelsLast ? windows + 1 : 0];
  if (!window.channelsLast)
    result.push_back(outputs);
  result.append(windowExtents.begin(), windowExtents.end());
  if (window.channelsLast)
    result.push_back(outputs);
  if (!elementType)
    elementType = tensorTypeOf(input).getElementType();
  return create<ConvOp>(result, elementType, input, filter, window.strides, window.padLow, window.dilations,
                        window.inputDilation, window.groups, window.channelsLast);
}

Value Builder::windowReduce(ReductionKind kind, Value input, Ints size, const Window &window) {
  if (!numbers(*this, input))
    return {};
  for (int64_t extent : size)
    if (extent < 1)
      return fail("expected a window of at least 1 in every dimension, got " + Twine(extent) +
                  "\nhint: see the operator's kernel_shape");
  Shape result = shapeOf(input);
  size_t first = result.size() - size.size();
  SmallVector<int64_t> sizes(result.size(), 1), strides(result.size(), 1), low(result.size(), 0),
      dilations(result.size(), 1);
  for (size_t i = 0; i < size.size(); ++i) {
    sizes[first + i] = size[i];
    strides[first + i] = window.strides[i];
    low[first + i] = window.padLow[i];
    dilations[first + i] = window.dilations[i];
    result[first + i] = windowCount(result[first + i], SymbolicInt(size[i]), window.strides[i], window.dilations[i],
                                    window.padLow[i], window.padHigh[i], window.ceilMode);
  }
  Type type = tensorTypeOf(input).getElementType();
  return create<WindowReduceOp>(result, type, input, primitiveKind(kind, type), sizes, strides, low, dilations);
}
} // namespace perpend::graph
