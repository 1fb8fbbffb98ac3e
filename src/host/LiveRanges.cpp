//===- LiveRanges.cpp - when buffers of the arena are in use ----------------===//

#include "host/LiveRanges.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::host {

/// A buffer, and the operation that gives the value in it its place; the buffer itself for scratch memory.
using Origin = std::pair<BufferOp, Operation *>;

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
      .Case([&](BufferOp buffer) { origins.emplace_back(buffer, place); })
      .Case([&](PlaceOp place) { collectOrigins(place.getSource(), place, seen, origins); })
      .Case([&](LoopOp loop) { collectCarried(loop, cast<OpResult>(value).getResultNumber()); });
}

namespace {
class LiveRangeAnalysis {
public:
  llvm::MapVector<BufferOp, LiveRange> ranges;

  void visit(Block &block) {
    for (Operation &op : block) {
      bool touches = isa<LaunchOp, CallOp, CopyOp, CopyRowsOp, CopySlicesOp, ReadOp, LoopOp, IfOp>(op);
      step += touches;
      if (touches)
        for (Value operand : op.getOperands())
          touch(operand);
      auto loop = dyn_cast<LoopOp>(op);
      if (loop)
        loops.push_back({loop, step, {}});
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
    SmallVector<BufferOp> outer; ///< that the loop touches, of values from outside
  };

  void touch(Value value) {
    SmallVector<Origin, 2> origins;
    SmallPtrSet<Value, 8> seen;
    collectOrigins(value, nullptr, seen, origins);
    for (auto &[buffer, place] : origins) {
      auto [known, isNew] = ranges.insert({buffer, {step, step}});
      known->second.last = step;
      for (OpenLoop &loop : loops)
        if (place && !loop.op->isAncestor(place)) {
          known->second.first = std::min(known->second.first, loop.first);
          loop.outer.push_back(buffer);
        }
    }
  }

  void endLoop(LoopOp loop) {
    ++step;
    for (BufferOp buffer : loops.pop_back_val().outer)
      ranges[buffer].last = step;
    for (Value result : loop.getResults())
      touch(result);
  }

  SmallVector<OpenLoop> loops;
  int64_t step = -1;
};
} // namespace

llvm::MapVector<BufferOp, LiveRange> liveRangesOf(EntryOp entry) {
  LiveRangeAnalysis analysis;
  analysis.visit(entry.getBody().front());
  return std::move(analysis.ranges);
}
} // namespace perpend::host
