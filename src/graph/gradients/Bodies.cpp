//===- Bodies.cpp - gradients of map and generate -------------------------===//
//
// Builds the scalar code of the body together with that of its derivative
// (ScalarDerivative.h): one operator per operand of a map, and one per load of a
// generate. The derivative with respect to a loaded element is added to the
// gradient at the position of the load.
//
//===----------------------------------------------------------------------===//

#include "graph/gradients/Placement.h"
#include "graph/gradients/ScalarDerivative.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// A copy of scalar code with the derivative of what it yields in one of its values.
class DerivedBody {
public:
  DerivedBody(OpBuilder &builder, Location loc, Block &body) : builder(builder), loc(loc), body(body) {}

  IRMapping mapping;
  /// Arguments of the original code that are given constants.
  SmallVector<Value> constants;

  /// `variable`: a value of the original code. Errors: false, and the operation that has no derivative.
  bool emit(Value variable);
  /// gradient * derivative as `type`. Omits the last rounding of the code, so that the result is rounded once.
  Value times(Value gradient, Type type);
  bool isZero() const { return !tangent; }
  Operation *obstacle = nullptr;

private:
  OpBuilder &builder;
  Location loc;
  Block &body;
  ScalarDerivative::Tangent tangent;
};
} // namespace

bool DerivedBody::emit(Value variable) {
  ScalarDerivative derivative(builder, loc);
  for (Value constant : constants)
    derivative.noteConstant(mapping.lookup(constant));
  if (isa<BlockArgument>(variable))
    derivative.seed(mapping.lookup(variable));
  for (Operation &op : body.without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    if (!derivative.add(clone)) {
      obstacle = &op;
      return false;
    }
    if (op.getNumResults() == 1 && op.getResult(0) == variable)
      derivative.seed(clone->getResult(0));
  }
  tangent = derivative.tangentOf(mapping.lookup(cast<YieldOp>(body.getTerminator()).getValues()[0]));
  return true;
}

/// gradient * slope, but 0 for a gradient of 0 even if the slope is infinite or NaN: values that are computed but not
/// selected (the root of a negative number, the softmax of a row without keys) must not affect the result.
static Scalar weighted(Scalar gradient, Scalar slope) {
  if (matchPattern(slope.value, m_Constant()))
    return gradient * slope;
  Scalar isFinite = abs(slope) < std::numeric_limits<double>::infinity();
  return gradient * select(isFinite | notEqual(gradient, 0), slope, slope.constant(0));
}

Value DerivedBody::times(Value gradient, Type type) {
  if (!tangent)
    return builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, 0));
  Scalar slope = *tangent;
  if (auto rounded = slope.value.getDefiningOp<arith::TruncFOp>())
    slope = slope.with(rounded.getIn());
  return weighted(Scalar(builder, loc, gradient).to(slope.type()), slope).to(type).value;
}

static Value noDerivative(Builder &b, Operation *op) {
  return b.fail("no derivative of the scalar operation " + op->getName().getStringRef());
}

/// Scalar code represents minifloats as integers.
static bool isScalarFloat(Value tensor) { return isa<FloatType>(scalarTypeOf(tensor)); }

/// A constant, possibly broadcast.
static bool isConstant(Value tensor) {
  while (auto broadcast = tensor.getDefiningOp<BroadcastOp>())
    tensor = broadcast.getInput();
  return matchPattern(tensor, m_Constant());
}

Value MapOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  if (!isScalarFloat(getResult()) || !isScalarFloat(getInputs()[operand]))
    return b.fail("no derivative of a conversion of minifloats");
  SmallVector<Value> inputs(getInputs());
  inputs.push_back(gradient);
  Block &body = getBody().front();
  Type type = elementTypeOf(getInputs()[operand]);
  Operation *obstacle = nullptr;
  bool isZero = true;
  Value result = b.map(inputs, type, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    DerivedBody derived(builder, loc, body);
    derived.mapping.map(body.getArguments(), arguments.drop_back());
    for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs()))
      if (isConstant(input))
        derived.constants.push_back(argument);
    derived.emit(body.getArgument(operand));
    obstacle = derived.obstacle;
    isZero = derived.isZero();
    return derived.times(arguments.back(), type);
  });
  return obstacle ? noDerivative(b, obstacle) : isZero ? Value() : result;
}

namespace {
/// One load in the code of a generate.
class LoadGradient {
public:
  LoadGradient(Builder &b, GenerateOp op, LoadOp load) : b(b), op(op), load(load), body(op.getBody().front()) {}

  /// The contribution of the result's gradient to each element read; null if it is 0, or after an error.
  Value updates(Value gradient);
  /// The row-major positions of these elements in the tensor.
  Value positions();
  /// Whether each element of the result reads the one at its own index.
  bool isInPlace() {
    return llvm::equal(load.getIndex(), body.getArguments().take_front(rankOf(op.getResult()))) &&
           shapeOf(load.getTensor()) == shapeOf(op.getResult());
  }

private:
  void mapArguments(IRMapping &mapping, ValueRange index, ValueRange tensors) {
    mapping.map(body.getArguments().take_front(index.size()), index);
    mapping.map(body.getArguments().drop_front(index.size()), tensors);
  }

  Builder &b;
  GenerateOp op;
  LoadOp load;
  Block &body;
};
} // namespace

Value LoadGradient::updates(Value gradient) {
  SmallVector<Value> inputs(op.getInputs());
  inputs.push_back(gradient);
  Type type = elementTypeOf(load.getTensor());
  Operation *obstacle = nullptr;
  bool isZero = true;
  Value result = b.generate(inputs, shapeOf(op.getResult()), type,
                            [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                              DerivedBody derived(builder, loc, body);
                              mapArguments(derived.mapping, index, tensors.drop_back());
                              derived.emit(load.getResult());
                              obstacle = derived.obstacle;
                              isZero = derived.isZero();
                              return derived.times(graph::load(builder, loc, tensors.back(), index), type);
                            });
  return obstacle ? noDerivative(b, obstacle) : isZero ? Value() : result;
}

Value LoadGradient::positions() {
  Shape shape = shapeOf(load.getTensor());
  return b.generate(SmallVector<Value>(op.getInputs()), shapeOf(op.getResult()), b.i64(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      IRMapping mapping;
                      mapArguments(mapping, index, tensors);
                      for (Operation &inner : body.without_terminator())
                        builder.clone(inner, mapping);
                      Scalar flat(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0));
                      for (auto [dim, at] : llvm::enumerate(load.getIndex()))
                        flat = flat * flat.with(extent(builder, loc, shape[dim])) + flat.with(mapping.lookup(at));
                      return flat.to(builder.getI64Type()).value;
                    });
}

Value GenerateOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  if (!isScalarFloat(getResult()) || !isScalarFloat(getInputs()[operand]))
    return b.fail("no derivative of a conversion of minifloats");
  Value tensor = getBody().front().getArgument(rankOf(getResult()) + operand), total;
  for (LoadOp load : getBody().front().getOps<LoadOp>()) {
    if (load.getTensor() != tensor)
      continue;
    LoadGradient part(b, *this, load);
    Value updates = part.updates(gradient);
    if (b.hasFailed())
      return {};
    if (!updates)
      continue;
    Value spread = part.isInPlace() ? updates : scatterSum(b, shapeOf(tensor), part.positions(), updates);
    total = total ? add(b, total, spread) : spread;
  }
  return total;
}
} // namespace perpend::graph
