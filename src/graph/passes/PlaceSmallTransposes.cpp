//===- PlaceSmallTransposes.cpp - transposes before tensors grow ----------===//
//
// PlaceTransposes moves transposes towards the results, where one may be left behind operators that make a tensor
// larger, such as an image that is resized to the extents of the input. This pass moves it in front of them, to where
// the fewest elements are transposed. Runs after PlaceTransposes.
//
// For each transpose, a set of operators before it grows, the last one first, as long as only the set reads their
// results. After each step, the transposes that the operands of the set would need cost their elements, and a gather
// along the last dimension, which reads no whole vectors, costs a part of its own. The cheapest set is transposed.
//
//   transpose(map(gather(x, i), broadcast(w)))  =>  map(gather'(transpose(x), i), broadcast'(w))
//
//===----------------------------------------------------------------------===//

#include "graph/Orders.h"
#include "graph/Work.h"
#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACESMALLTRANSPOSES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

namespace {
/// Operators before a transpose that could work on transposed operands.
class TransposedSet {
public:
  TransposedSet(Operation *transpose, const Order &permutation) : transpose(transpose), permutation(permutation) {
    border[transpose->getOperand(0)] = permutation;
    inside.insert(transpose);
  }

  /// Finds the cheapest set; returns whether that is worth it.
  bool grow() {
    const double before = cost();
    double least = leastGain * before;
    while (steps.size() < mostOperators && take())
      if (double now = cost(); now <= least) {
        least = now;
        best = steps.size();
      }
    return best > 0;
  }

  /// Moves the transpose in front of the set.
  void move() {
    OpBuilder operations(transpose);
    GraphBuilder builder(operations, transpose->getLoc());
    for (Step &step : llvm::reverse(MutableArrayRef(steps).take_front(best))) {
      builder.location = step.op->getLoc();
      SmallVector<Value> operands;
      for (OpOperand &operand : step.op->getOpOperands()) {
        Order order = *operandOrder(operand, step.order);
        operands.push_back(order.empty() ? operand.get() : inOrder(builder, operand.get(), order));
      }
      Value result = step.op->getResult(0);
      made[keyOf(result, step.order)] = transposed(builder, step.op, operands, step.order);
    }
    transpose->replaceAllUsesWith(ValueRange(inOrder(builder, transpose->getOperand(0), permutation)));
    transpose->erase();
    for (Step &step : MutableArrayRef(steps).take_front(best))
      if (step.op->use_empty())
        step.op->erase();
  }

private:
  struct Step {
    Operation *op;
    Order order; // of its result
  };
  static constexpr size_t mostOperators = 32;
  /// Elements transposed afterwards, of those before, for which operators are changed.
  static constexpr double leastGain = 0.75;
  /// Cost of an element that is gathered along the last dimension, of a transposed one.
  static constexpr double gathered = 0.125;

  static double costOf(Value value, ArrayRef<int64_t> order) {
    auto before = value.getDefiningOp<TransposeOp>();
    bool isFree = isIdentity(order) || matchPattern(value, m_Constant()) || (before && before->hasOneUse());
    return isFree ? 0 : estimatedElements(value);
  }

  /// The difference in the cost of an operator itself.
  static double ownCost(Operation *op, ArrayRef<int64_t> order) {
    auto last = static_cast<int64_t>(order.size()) - 1;
    return last < 0 ? 0
                    : gathered * estimatedElements(op->getResult(0)) *
                          (int(searchesAlong(op, order[last])) - int(searchesAlong(op, last)));
  }

  double cost() const {
    double sum = own;
    for (const auto &[value, order] : border)
      sum += costOf(value, order);
    return sum;
  }

  static bool repeats(Operation *op) {
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    return flow && flow.repeatsOperands();
  }

  /// Only the set reads it, or it costs nothing to have it twice.
  bool mayTake(Operation *op) const {
    return op && op->getBlock() == transpose->getBlock() && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
           (repeats(op) || llvm::all_of(op->getUsers(), [&](Operation *user) { return inside.contains(user); }));
  }

  /// Adds the last operator at the border; returns whether there is one.
  bool take() {
    Operation *last = nullptr;
    for (const auto &[value, order] : border)
      if (Operation *op = value.getDefiningOp();
          mayTake(op) && accepts(op, order) && (!last || last->isBeforeInBlock(op)))
        last = op;
    if (!last)
      return false;
    Order order = border.lookup(last->getResult(0));
    border.erase(last->getResult(0));
    inside.insert(last);
    for (OpOperand &operand : last->getOpOperands())
      if (Order needed = *operandOrder(operand, order); !needed.empty())
        border[operand.get()] = needed;
    own += ownCost(last, order);
    steps.push_back({last, order});
    return true;
  }

  /// Whether the operator can work on transposed operands, which nothing else needs in another order.
  bool accepts(Operation *op, ArrayRef<int64_t> order) const {
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      std::optional<Order> needed = operandOrder(operand, order);
      auto known = border.find(operand.get());
      return needed && (needed->empty() || known == border.end() || known->second == *needed);
    });
  }

  using Key = std::pair<Value, Attribute>;
  static Key keyOf(Value value, ArrayRef<int64_t> order) {
    return {value, DenseI64ArrayAttr::get(value.getContext(), order)};
  }

  Value inOrder(GraphBuilder &builder, Value value, const Order &order) {
    Value &known = made[keyOf(value, order)];
    if (!known)
      known = builder.transpose(value, order);
    return known;
  }

  Operation *transpose;
  Order permutation;
  llvm::MapVector<Value, Order> border;
  llvm::SetVector<Operation *> inside;
  SmallVector<Step> steps;
  size_t best = 0;
  double own = 0;
  DenseMap<Key, Value> made;
};

struct PlaceSmallTransposes : perpend::graph::impl::GraphPlaceSmallTransposesBase<PlaceSmallTransposes> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, Order>> transposes;
    getOperation().walk([&](TransposeOp op) { transposes.emplace_back(op, op.getPermutation()); });
    for (const auto &[transpose, permutation] : transposes)
      if (TransposedSet set(transpose, permutation); set.grow())
        set.move();
  }
};
} // namespace
