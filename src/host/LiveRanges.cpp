//===- LiveRanges.cpp - when buffers and rooms are in use -------------------===//

#include "host/LiveRanges.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::host {

/// A buffer or a room, and the operation that gives the value in it its place; null for memory without a value.
using Origin = std::pair<Operation *, Operation *>;

static void collectOrigins(Value value, Operation *place, SmallPtrSetImpl<Value> &seen,
                           SmallVectorImpl<Origin> &origins) {
  if (!seen.insert(value).second)
    return;
  auto collectCarried = [&](LoopOp loop, unsigned number) {
    collectOrigins(loop.getInitial()[number], nullptr, seen, origins);
    collectOrigins(loop.getBody().front().getTerminator()->getOperand(number), nullptr, seen, origins);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<LoopOp>(argument.getOwner()->getParentOp()))
      collectCarried(loop, argument.getArgNumber());
    return;
  }
  llvm::TypeSwitch<Operation *>(value.getDefiningOp())
      .Case<BufferOp, RoomOp>([&](Operation *memory) { origins.emplace_back(memory, place); })
      .Case<PlaceOp, ContentOp, ReserveOp>(
          [&](Operation *place) { collectOrigins(place->getOperand(0), place, seen, origins); })
      .Case([&](LoopOp loop) { collectCarried(loop, cast<OpResult>(value).getResultNumber()); });
}

namespace {
class LiveRangeAnalysis {
public:
  LiveRanges ranges;

  void visit(Block &block) {
    for (Operation &op : block) {
      if (auto reserve = dyn_cast<ReserveOp>(op))
        visitReserve(reserve);
      bool touches = isa<LaunchOp, CallOp, CopyOp, CopyRowsOp, CopySlicesOp, ReadOp, LoopOp, IfOp>(op);
      step += touches;
      if (touches || isa<ExchangeOp>(op)) // which belongs to the loop before it
        for (Value operand : op.getOperands())
          touch(operand);
      if (auto call = dyn_cast<CallOp>(op))
        llvm::for_each(call.getOutputs(), [&](Value output) { write(output); });
      auto loop = dyn_cast<LoopOp>(op);
      if (loop)
        loops.push_back({loop, step, {}, {}});
      for (Region &region : op.getRegions())
        visit(region.front());
      if (loop)
        endLoop(loop);
    }
  }

private:
  struct OpenLoop {
    LoopOp op;
    int64_t first;
    SmallVector<Operation *> outer;            ///< memory that the loop touches, of values that it did not make
    llvm::SmallPtrSet<Operation *, 4> written; ///< rooms to which an iteration has given a value
  };

  static SmallVector<Origin, 2> originsOf(Value value) {
    SmallVector<Origin, 2> origins;
    SmallPtrSet<Value, 8> seen;
    collectOrigins(value, nullptr, seen, origins);
    return origins;
  }

  LiveRange &rangeOf(Operation *memory) {
    if (auto buffer = dyn_cast<BufferOp>(memory))
      return ranges.buffers.insert({buffer, {step, step}}).first->second;
    return ranges.rooms.insert({cast<RoomOp>(memory), {step, step}}).first->second;
  }

  /// Whether the value was made before this iteration of the loop.
  static bool isOuter(OpenLoop &loop, Operation *memory, Operation *place) {
    if (isa<BufferOp>(memory) || !loop.op->isAncestor(place))
      return !loop.op->isAncestor(place);
    auto reserve = dyn_cast<ReserveOp>(place);
    return (!reserve || reserve.getKept()) && !loop.written.contains(memory);
  }

  void touch(Value value) {
    for (auto [memory, place] : originsOf(value)) {
      LiveRange &range = rangeOf(memory);
      range.last = std::max(range.last, step);
      for (OpenLoop &loop : loops)
        if (place && isOuter(loop, memory, place)) {
          range.first = std::min(range.first, loop.first);
          loop.outer.push_back(memory);
        }
    }
  }

  /// It belongs to the next step, which writes there.
  void visitReserve(ReserveOp reserve) {
    ++step;
    touch(reserve.getPlace());
    --step;
    if (!reserve.getKept())
      write(reserve.getRoom());
  }

  void write(Value value) {
    if (isa<RoomType>(value.getType()))
      for (auto [memory, place] : originsOf(value))
        for (OpenLoop &loop : loops)
          loop.written.insert(memory);
  }

  void endLoop(LoopOp loop) {
    ++step;
    for (Operation *memory : loops.pop_back_val().outer)
      rangeOf(memory).last = step;
    for (Value result : loop.getResults())
      touch(result);
  }

  SmallVector<OpenLoop> loops;
  int64_t step = -1;
};
} // namespace

LiveRanges liveRangesOf(EntryOp entry) {
  LiveRangeAnalysis analysis;
  analysis.visit(entry.getBody().front());
  return std::move(analysis.ranges);
}
} // namespace perpend::host
