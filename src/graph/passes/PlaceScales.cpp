//===- PlaceScales.cpp - moves scales past operators ----------------------===//
//
// Exporters write quantised models as float operators between conversions (DequantizeLinear, Conv, QuantizeLinear).
// This pass turns them into operators on integers by algebra: if the operands are integers minus a zero point, times a
// scale, the scale is moved past the operator, which then works on integers and is exact. It runs before constant
// folding, which would turn quantised weights into floats. Scales are constants: one number, or one for each index of
// a dimension that the operator keeps separate. Sums must provably stay below 2^31 (docs/decisions/0028).
//
//   conv(s (x - z), t w)              =>  s t conv(x - z, w)       in i32, then f32
//   s a + s b                         =>  s (a + b)                in i32, then f32
//   view(s (x - z)), or its maximum   =>  s (view(x) - z)
//   round((s a + ...) / t)            =>  round((s / t) a + ...)
//   a map that is the identity on bytes    =>  nothing
//
//===----------------------------------------------------------------------===//

#include "graph/ScaleDivision.h"
#include "graph/composites/Formulas.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACESCALES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

/// Whether sums up to this magnitude cannot overflow i32.
static bool isSumOfI32(double largest) { return largest <= 2147483647; }

static MapOp mapOf(Value value) { return value.getDefiningOp<MapOp>(); }
static Value yielded(MapOp map) { return map.getBody().front().getTerminator()->getOperand(0); }

/// Erases an operator with its exclusively used operands, so that uses can be counted.
static void eraseUnused(Operation *op) {
  SmallVector<Operation *> unused{op};
  while (!unused.empty()) {
    Operation *next = unused.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    SetVector<Operation *> producers;
    for (Value operand : next->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        producers.insert(producer);
    next->erase();
    llvm::append_range(unused, producers);
  }
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Translates a parameter of an operand to dimensions of the result.
static std::optional<Parameter> behind(const Parameter &parameter, OpOperand &operand) {
  if (parameter.isOne())
    return parameter;
  auto flow = dyn_cast<DimensionFlowInterface>(operand.getOwner());
  std::optional<unsigned> dim = flow ? flow.followingDim(operand, *parameter.dim) : std::nullopt;
  return dim ? std::optional(Parameter{parameter.values, *dim}) : std::nullopt;
}

namespace {
class ScalePlacer {
public:
  explicit ScalePlacer(Operation *op) : op(op), operations(op), builder(operations, op->getLoc()) {}

  /// The operator in its new form, or null.
  Value placed();

private:
  Value reduction(ReductionInterface reduction);
  Value product(const Shape &summed);
  Value sum(const Shape &summed);
  Value extremum();
  Value view(ElementInterface view);
  Value map(MapOp map);
  Value sumOfMap(MapOp map);
  Value clone(ArrayRef<Value> operands, Type element);

  Operation *op;
  OpBuilder operations;
  GraphBuilder builder;
};
} // namespace

/// Clones the operator on other operands.
Value ScalePlacer::clone(ArrayRef<Value> operands, Type element) {
  Operation *copy = operations.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(tensorType(shapeOf(op->getResult(0)), element));
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Operators on integers
//===----------------------------------------------------------------------===//

Value ScalePlacer::reduction(ReductionInterface reduction) {
  Shape combined = reduction.reducedExtents();
  std::optional<int64_t> count = elementCount(combined).constant();
  switch (reduction.getKind()) {
  case ReductionKind::Sum:
    return isa<ProductInterface>(op) ? product(combined) : op->getNumOperands() == 1 ? sum(combined) : Value();
  case ReductionKind::Max:
  case ReductionKind::Min:
    // The extremum of nothing is not a byte. And rows that others read as floats are floats in the common kernel
    // (softmax).
    return count && *count > 0 && (isa<WindowReduceOp>(op) || op->getOperand(0).hasOneUse()) ? extremum() : Value();
  case ReductionKind::Product:
    return {};
  }
  llvm_unreachable("unknown kind");
}

Value ScalePlacer::product(const Shape &summed) {
  std::optional<ScaledIntegers> lhs = scaledIntegersOf(op->getOperand(0));
  std::optional<ScaledIntegers> rhs = scaledIntegersOf(op->getOperand(1));
  if (!lhs || !rhs || !elementTypeOf(op->getResult(0)).isF32())
    return {};
  std::optional<Parameter> left = behind(lhs->scale, op->getOpOperand(0)),
                           right = behind(rhs->scale, op->getOpOperand(1));
  std::optional<Parameter> scale = left && right ? times(*left, *right) : std::nullopt;
  if (!scale || !isSumOfI32(largestSum(summed, largestMagnitude(*lhs) * largestMagnitude(*rhs))))
    return {};
  Value product = clone({withoutZeroPoint(builder, *lhs), withoutZeroPoint(builder, *rhs)}, operations.getI32Type());
  return realNumbers(builder, {product, Parameter::of(0), *scale});
}

/// The scaled integers of an operand, with parameters in the dimensions of the result.
static std::optional<ScaledIntegers> movedIntegers(OpOperand &operand) {
  std::optional<ScaledIntegers> numbers = scaledIntegersOf(operand.get());
  std::optional<Parameter> zero = numbers ? behind(numbers->zero, operand) : std::nullopt,
                           scale = numbers ? behind(numbers->scale, operand) : std::nullopt;
  return zero && scale ? std::optional(ScaledIntegers{numbers->integers, *zero, *scale, numbers->repeats})
                       : std::nullopt;
}

/// Moves bytes; where a view inserts zeros, it inserts the zero point.
Value ScalePlacer::view(ElementInterface view) {
  SmallVector<ScaledIntegers> parts;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFloat(operand.get()))
      continue; // an operand of indices
    std::optional<ScaledIntegers> part = movedIntegers(operand);
    const ScaledIntegers *first = parts.empty() ? nullptr : parts.begin();
    if (!part || (first && (part->zero != first->zero || part->scale != first->scale ||
                            elementTypeOf(part->integers) != elementTypeOf(first->integers))))
      return {};
    parts.push_back(*part);
  }
  TypedAttr filling = view.getFilling();
  if (parts.empty() || (filling && (!parts[0].zero.isOne() || !matchPattern(filling, m_PosZeroFloat()))))
    return {};
  SmallVector<Value> operands(op->getOperands());
  for (auto *part = parts.begin(); Value & operand : operands)
    operand = isFloat(operand) ? repeatedIntegers(builder, *part++) : operand;
  Type element = elementTypeOf(parts[0].integers);
  Value moved = clone(operands, element);
  if (filling)
    moved.getDefiningOp<ElementInterface>().setFilling(operations.getIntegerAttr(
        scalarTypeOf(moved), APInt(bitWidth(element), static_cast<int64_t>(parts[0].zero.values.front()))));
  return realNumbers(builder, {moved, parts[0].zero, parts[0].scale});
}

/// Scaling is monotonic, so extrema of the values are those of the bytes.
Value ScalePlacer::extremum() {
  std::optional<ScaledIntegers> numbers = scaledIntegersOf(op->getOperand(0));
  if (!numbers || !numbers->zero.isOne() || !numbers->scale.isOne() || numbers->scale.values.front() <= 0)
    return {};
  Value bytes = clone({repeatedIntegers(builder, *numbers)}, elementTypeOf(numbers->integers));
  return realNumbers(builder, {bytes, numbers->zero, numbers->scale});
}

Value ScalePlacer::sum(const Shape &summed) {
  Value input = op->getOperand(0);
  std::optional<ScaledIntegers> numbers = input.hasOneUse() ? scaledIntegersOf(input) : std::nullopt;
  if (!numbers || !numbers->zero.isOne() || !numbers->scale.isOne() ||
      !isSumOfI32(largestSum(summed, largestMagnitude(*numbers))))
    return {};
  Type i32 = operations.getI32Type();
  Value sum = clone({builder.cast(withoutZeroPoint(builder, *numbers), i32)}, i32);
  return realNumbers(builder, {sum, Parameter::of(0), numbers->scale});
}

/// s a + s b, such as a product and its bias.
Value ScalePlacer::sumOfMap(MapOp map) {
  auto addition = yielded(map).getDefiningOp<arith::AddFOp>();
  if (!addition || map.getInputs().size() != 2 || !isa<BlockArgument>(addition.getLhs()) ||
      !isa<BlockArgument>(addition.getRhs()) || addition.getLhs() == addition.getRhs())
    return {};
  std::optional<ScaledIntegers> a = scaledIntegersOf(map.getInputs()[0]);
  std::optional<ScaledIntegers> b = scaledIntegersOf(map.getInputs()[1]);
  if (!a || !b || a->scale != b->scale || !isSumOfI32(largestMagnitude(*a) + largestMagnitude(*b)))
    return {};
  Type i32 = operations.getI32Type();
  Value left = builder.cast(withoutZeroPoint(builder, *a), i32),
        right = builder.cast(withoutZeroPoint(builder, *b), i32);
  return realNumbers(builder, {perpend::graph::add(builder, left, right), Parameter::of(0), a->scale});
}

//===----------------------------------------------------------------------===//
// Maps from bytes to bytes
//===----------------------------------------------------------------------===//

/// Applies a map with one operand to these elements.
static Attribute evaluated(MapOp map, ElementsAttr elements) {
  auto *dialect = map->getContext()->getLoadedDialect<GraphDialect>();
  if (!dialect->evaluator)
    return {};
  OpBuilder builder(map);
  auto copy = cast<MapOp>(builder.clone(*map));
  copy.getResult().setType(RankedTensorType::get(elements.getShapedType().getShape(), elementTypeOf(map.getResult())));
  SmallVector<Attribute> results;
  bool isKnown = succeeded(dialect->evaluator(copy, {elements}, results));
  copy.erase();
  return isKnown ? results.front() : Attribute();
}

namespace {
/// The function from each of the 256 bytes to the map's result, through the maps that compute its operand.
struct ByteFunction {
  Value bytes;
  SmallVector<int64_t> results;
};
} // namespace

static std::optional<ByteFunction> byteFunctionOf(MapOp last) {
  Type byte = elementTypeOf(last.getResult());
  SmallVector<MapOp> maps;
  for (MapOp map = last; map && map.getInputs().size() == 1; map = mapOf(map.getInputs()[0])) {
    maps.push_back(map);
    if (bitWidth(elementTypeOf(map.getInputs()[0])) == 8)
      break;
  }
  if (!byte.isInteger(8) || maps.size() < 2 || elementTypeOf(maps.back().getInputs().front()) != byte)
    return std::nullopt;
  std::array<char, 256> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i);
  Attribute numbers = DenseElementsAttr::getFromRawBuffer(RankedTensorType::get({256}, byte), bytes);
  for (MapOp map : llvm::reverse(maps))
    if (numbers)
      numbers = evaluated(map, cast<ElementsAttr>(numbers));
  auto table = dyn_cast_or_null<DenseElementsAttr>(numbers);
  if (!table)
    return std::nullopt;
  ByteFunction function{maps.back().getInputs().front(), {}};
  for (const APInt &result : table.getValues<APInt>())
    function.results.push_back(isUnsigned(byte) ? static_cast<int64_t>(result.getZExtValue()) : result.getSExtValue());
  return function;
}

/// Recognises bytes that are recomputed from their own scaled values, or clamped, as functions of bytes.
static Value asBytes(GraphBuilder &builder, MapOp map) {
  std::optional<ByteFunction> function = byteFunctionOf(map);
  if (!function)
    return {};
  Type byte = elementTypeOf(map.getResult());
  auto [low, high] = std::minmax_element(function->results.begin(), function->results.end());
  int64_t least = *low, most = *high, first = isUnsigned(byte) ? 0 : -128;
  for (int64_t number = first; number < first + 256; ++number)
    if (function->results[number & 255] != std::clamp(number, least, most))
      return {};
  if (least == first && most == first + 255)
    return function->bytes;
  return builder.map({function->bytes}, byte, [&](OpBuilder &b, Location loc, ValueRange v) {
    Scalar number(b, loc, v[0], isUnsigned(byte));
    return perpend::graph::min(perpend::graph::max(number, number.integer(least)), number.integer(most)).value;
  });
}

/// Concatenates the narrower elements: map(concat(a, b)) = concat(map(a), map(b)).
static Value ofParts(GraphBuilder &builder, MapOp map) {
  auto whole = map.getInputs().size() == 1 ? map.getInputs()[0].getDefiningOp<ConcatOp>() : nullptr;
  Type element = elementTypeOf(map.getResult());
  if (!whole || !whole->hasOneUse() || bitWidth(element) >= bitWidth(elementTypeOf(whole.getResult())))
    return {};
  SmallVector<Value> parts;
  for (Value part : whole.getInputs()) {
    auto copy = cast<MapOp>(builder.operations.clone(*map));
    copy->setOperand(0, part);
    copy.getResult().setType(tensorType(shapeOf(part), element));
    Value bytes = asBytes(builder, copy);
    parts.push_back(bytes ? bytes : copy.getResult());
    if (bytes)
      copy.erase();
  }
  return builder.concat(parts, whole.getAxis());
}

Value ScalePlacer::map(MapOp map) {
  PatternRewriter rewriter(map.getContext());
  while (succeeded(MapOp::canonicalize(map, rewriter))) {
  }
  if (Value sum = sumOfMap(map))
    return sum;
  if (Value bytes = asBytes(builder, map))
    return bytes;
  MapOp undivided = withoutDivision(builder, map);
  Value parts = ofParts(builder, undivided ? undivided : map);
  if (undivided && parts)
    eraseUnused(undivided);
  return parts ? parts : undivided ? undivided.getResult() : Value();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

Value ScalePlacer::placed() {
  if (auto map = dyn_cast<MapOp>(op))
    return this->map(map);
  if (auto reduction = dyn_cast<ReductionInterface>(op))
    return this->reduction(reduction);
  auto element = cast<ElementInterface>(op);
  auto flow = dyn_cast<DimensionFlowInterface>(op);
  // Repeated values are recognised without being moved.
  bool isMoved = element.elementKind() == ElementKind::View && !(flow && flow.repeatsOperands());
  return isMoved ? view(element) : Value();
}

namespace {
struct PlaceScales : perpend::graph::impl::GraphPlaceScalesBase<PlaceScales> {
  void runOnOperation() override {
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      if (isa<ElementInterface>(op) && !op->hasTrait<OpTrait::ConstantLike>())
        operators.push_back(op);
    });
    for (Operation *op : operators) {
      Value placed = ScalePlacer(op).placed();
      if (!placed)
        continue;
      op->getResult(0).replaceAllUsesWith(placed);
      eraseUnused(op);
    }
  }
};
} // namespace
