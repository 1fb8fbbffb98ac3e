//===- Gradients.cpp - reverse-mode differentiation -----------------------===//

#include "graph/gradients/Gradients.h"
#include "graph/Attributes.h"
#include "graph/composites/Formulas.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace perpend::graph {

/// Whether derivatives pass through values of this type. Integers, booleans and strings are constant almost everywhere;
/// a list may hold floats.
/// everywhere; a list may hold floats.
static bool carriesDerivative(Value value) { return isa<FloatType, MinifloatType, SequenceType>(elementTypeOf(value)); }

namespace {
class Backpropagation {
public:
  Backpropagation(Builder &builder, OperatorLabel label) : b(builder), label(label) {}

  /// Marks the values that depend on the xs, up to y.
  void findPath(Value y, Values xs);
  LogicalResult run(Value y);
  Value gradientOf(Value x) const { return found.lookup(x); }

private:
  bool usesPath(Operation &op) const;
  LogicalResult visit(Operation *op);
  void add(Value value, Value gradient);

  Builder &b;
  OperatorLabel label;
  DenseSet<Value> onPath;
  SmallVector<Operation *> path;
  DenseMap<Value, Value> found;
};
} // namespace

bool Backpropagation::usesPath(Operation &op) const {
  auto isOnPath = [&](Value operand) { return onPath.contains(operand); };
  if (llvm::any_of(op.getOperands(), isOnPath))
    return true;
  if (op.hasTrait<OpTrait::IsIsolatedFromAbove>())
    return false;
  return op
      .walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(), isOnPath) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void Backpropagation::findPath(Value y, Values xs) {
  onPath.insert(xs.begin(), xs.end());
  Operation *last = y.getDefiningOp();
  if (!last)
    return;
  for (Operation &op : *last->getBlock()) {
    if (usesPath(op) && !op.hasAttr(cancelsAttribute)) {
      for (Value result : op.getResults())
        if (carriesDerivative(result))
          onPath.insert(result);
      path.push_back(&op);
    }
    if (&op == last)
      break;
  }
}

void Backpropagation::add(Value value, Value gradient) {
  // Extents that are equal only by assumption may have other names in the gradient.
  gradient = b.broadcast(gradient, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value))), shapeOf(value));
  Value &sum = found[value];
  sum = sum ? graph::add(b, sum, gradient) : gradient;
}

LogicalResult Backpropagation::visit(Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value result) { return found.contains(result); }))
    return success();
  auto differentiable = dyn_cast<DifferentiableInterface>(op);
  if (!differentiable) {
    b.fail("no derivative of " + label(op) + " (" + op->getName().getStringRef() +
           ")\nhint: compute the gradient in values that do not pass through it");
    return failure();
  }
  llvm::SaveAndRestore location(b.location, op->getLoc());
  llvm::SaveAndRestore subject(b.subject, b.subject + "the derivative of " + label(op) + ": ");
  Value gradient = found.lookup(op->getResult(0));
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!onPath.contains(operand))
      continue;
    if (Value part = differentiable.operandGradient(b, gradient, index))
      add(operand, part);
    if (b.hasFailed())
      return failure();
  }
  return success();
}

LogicalResult Backpropagation::run(Value y) {
  if (!onPath.contains(y))
    return success();
  found[y] = b.splat(shapeOf(y), 1, elementTypeOf(y));
  for (Operation *op : llvm::reverse(path))
    if (failed(visit(op)))
      return failure();
  return success();
}

SmallVector<Value> gradients(Builder &builder, Value y, Values xs, OperatorLabel label) {
  auto isReal = [](Value value) { return isa<FloatType>(elementTypeOf(value)); };
  for (Value value : xs)
    if (!isReal(value))
      builder.fail("no derivative in elements of type " + nameOf(elementTypeOf(value)) +
                   "\nhint: differentiate in floating-point tensors");
  if (!isReal(y))
    builder.fail("no derivative of elements of type " + nameOf(elementTypeOf(y)) +
                 "\nhint: differentiate a floating-point tensor");
  if (builder.hasFailed())
    return {};
  Backpropagation backpropagation(builder, label);
  backpropagation.findPath(y, xs);
  if (failed(backpropagation.run(y)))
    return {};
  return llvm::map_to_vector(xs, [&](Value x) {
    Value gradient = backpropagation.gradientOf(x);
    return gradient ? gradient : builder.splat(shapeOf(x), 0, elementTypeOf(x));
  });
}
} // namespace perpend::graph
