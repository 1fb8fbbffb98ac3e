//===- ScheduleCalls.cpp - kernels run when their results are read --------===//
//
// A value takes memory from its kernel to its last reader. If what the kernel reads lives on anyway, as the input of
// several products does that is added to their result, the kernel can as well run in front of the first reader, and
// the values of the kernels between do not lie beside its result. Calls move over other calls, constants and what lies
// in its operand's memory, from the last one to the first, where the results are larger than all operands that would
// have to live longer. What reads a state stays in front of the kernel whose result an update writes over the state:
// that kernel then computes its result there (MemoryPlan.cpp).
//
//   %q = call_kernel @f(%x)                           %q = call_kernel @f(%x)
//   %v = call_kernel @g(%x)                      =>   %s = call_kernel @h(%q)
//   %s = call_kernel @h(%q)                           %v = call_kernel @g(%x)
//   %y = call_kernel @i(%s, %v, %x)                   %y = call_kernel @i(%s, %v, %x)
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Parts.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/StoredElements.h"
#include "graph/Updates.h"
#include "graph/passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHSCHEDULECALLS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

static bool isAlias(Operation *op) { return isInOperandsMemory(op) && !op->hasAttr(assembledAttribute); }

/// The first operator of its block that reads a value, directly. Null: another block does, or none.
static Operation *firstReader(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    if (user->getBlock() != op->getBlock())
      return nullptr;
    first = !first || user->isBeforeInBlock(first) ? user : first;
  }
  return first;
}

/// Whether something reads a value, or what lies in its memory, there or later.
static bool livesUntil(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op) ||
           (isInOperandsMemory(user) && livesUntil(user->getResult(0), op));
  });
}

/// Whether results are larger than what has to live longer.
static bool savesMemory(Operation *call, Operation *reader) {
  int64_t saved = 0;
  for (Value result : call->getResults())
    saved += storedBytes(result);
  llvm::SmallDenseSet<Value> origins;
  for (Value operand : call->getOperands()) {
    Value origin = originOf(operand);
    Operation *maker = origin.getDefiningOp();
    const bool isKept = !maker || maker->hasTrait<OpTrait::ConstantLike>() || livesUntil(origin, reader);
    if (isKept || !origins.insert(origin).second)
      continue;
    if (!tensorTypeOf(origin).hasStaticShape())
      return false; // which may be large
    saved -= storedBytes(origin);
  }
  return saved > 0;
}

/// Whether an update in place writes a result of `producer` over a value that `reader` reads.
static bool overwrites(Operation *producer, Operation *reader) {
  return llvm::any_of(producer->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isInOperandsMemory(user))
      return overwrites(user, reader);
    auto update = dyn_cast<UpdateInterface>(user);
    if (!update || !user->hasAttr(inPlaceAttribute) || update.positionsOperand())
      return false;
    auto isBlock = [&](const UpdatedBlock &block) { return block.operand == use.getOperandNumber(); };
    return llvm::any_of(update.updatedBlocks(), isBlock) &&
           llvm::is_contained(llvm::map_range(reader->getOperands(), originOf), originOf(user->getOperand(0)));
  });
}

static bool mayPass(Operation *op, Operation &other) {
  return (DividedKernels::isCall(&other) || isAlias(&other) || other.hasTrait<OpTrait::ConstantLike>()) &&
         !overwrites(&other, op);
}

namespace {
struct ScheduleCalls : perpend::graph::impl::GraphScheduleCallsBase<ScheduleCalls> {
  void runOnOperation() override {
    for (func::FuncOp main : entriesOf(getOperation()))
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
        moveToReader(&op);
  }

  static void moveToReader(Operation *op) {
    Operation *reader = DividedKernels::isCall(op) || isAlias(op) ? firstReader(op) : nullptr;
    if (!reader || reader->hasTrait<OpTrait::IsTerminator>() || reader == op->getNextNode())
      return;
    const bool isFree = llvm::all_of(llvm::make_range(std::next(op->getIterator()), reader->getIterator()),
                                     [&](Operation &other) { return mayPass(op, other); });
    if (isFree && (isAlias(op) || savesMemory(op, reader)))
      op->moveBefore(reader);
  }
};
} // namespace
