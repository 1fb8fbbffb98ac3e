//===- Events.cpp - what may still run when an operation begins -------------===//

#include "host/Events.h"

#include "host/VerifyProgram.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::host {

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

SmallVector<Touched> touchedBy(Operation *op) {
  SmallVector<Touched> touched;
  auto add = [&](ValueRange values, bool isWritten) {
    for (Value value : values)
      touched.push_back({value, isWritten});
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](LaunchOp launch) {
        add(launch.getInputs(), false);
        add(launch.getOutputs(), true);
        if (launch.getScratch())
          add(launch.getScratch(), true);
      })
      .Case([&](CallOp call) {
        add(call.getInputs(), false);
        add(call.getOutputs(), true);
      })
      .Case([&](CopyOp copy) {
        add(copy.getSource(), false);
        add(copy.getTarget(), true);
      })
      .Case([&](ReadOp read) { add(read.getPlace(), false); })
      .Case([&](ReserveOp reserve) { add(reserve.getRoom(), true); })
      .Case<PlaceOp, ContentOp, IfOp, LoopOp, YieldOp>([](Operation *) {})
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (isa<PlaceType, MemoryType, RoomType>(operand.getType()))
            add(operand, true);
      });
  return touched;
}

OperandRange eventsBefore(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return launch.getAfter();
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getAfter();
  return op->getOperands().take_front(0);
}

Value eventOf(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return launch.getEvent();
  auto copy = dyn_cast<CopyOp>(op);
  return copy ? copy.getEvent() : Value();
}

std::string describe(Operation *asynchronous) {
  auto launch = dyn_cast<LaunchOp>(asynchronous);
  return launch ? ("the launch of '" + launch.getKernel() + "'").str() : "a copy";
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Follows a place to the memory that it is in.
void EventOrder::collect(Value value, Access access, SmallVectorImpl<Value> &seen, SmallVectorImpl<Access> &accesses) {
  if (llvm::is_contained(seen, value))
    return;
  seen.push_back(value);
  auto carried = [&](LoopOp loop, unsigned number) {
    access.range.reset();
    collect(loop.getInitial()[number], access, seen, accesses);
    collect(loop.getBody().front().getTerminator()->getOperand(number), access, seen, accesses);
  };
  Operation *producer = value.getDefiningOp();
  if (auto place = dyn_cast_or_null<PlaceOp>(producer)) {
    std::optional<int64_t> offset = place.getOffset().values()[0].constant();
    if (!offset)
      access.range.reset();
    if (access.range)
      access.range = {access.range->first + *offset, access.range->second + *offset};
    return collect(place.getSource(), access, seen, accesses);
  }
  if (isa_and_nonnull<ContentOp, ReserveOp>(producer))
    return collect(producer->getOperand(0), access, seen, accesses);
  if (auto loop = dyn_cast_or_null<LoopOp>(producer))
    return carried(loop, cast<OpResult>(value).getResultNumber());
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto loop = dyn_cast<LoopOp>(argument.getOwner()->getParentOp()))
      return carried(loop, argument.getArgNumber());
  access.root = rangeOf(value).memory; // one for both values of a state that is updated in place
  accesses.push_back(access);
}

SmallVector<EventOrder::Access> EventOrder::accessesOf(Operation *op) {
  SmallVector<Access> accesses;
  auto copy = dyn_cast<CopyOp>(op);
  for (const Touched &touched : touchedBy(op)) {
    auto place = dyn_cast<PlaceType>(copy ? copy.getSource().getType() : touched.value.getType());
    std::optional<int64_t> bytes = place ? place.bytes().constant() : std::nullopt;
    Access access{{}, std::nullopt, touched.isWritten};
    if (bytes)
      access.range = {0, *bytes};
    SmallVector<Value> seen;
    collect(touched.value, access, seen, accesses);
  }
  return accesses;
}

static bool meet(const std::pair<int64_t, int64_t> &a, const std::pair<int64_t, int64_t> &b) {
  return a.first < b.second && b.first < a.second;
}

/// Buffers with offsets lie where these say. Binding may put others into the same bytes if they do not live at one
/// time. Rooms exchange their memory.
bool EventOrder::mayMeet(const Access &a, const Access &b) {
  if (!a.isWritten && !b.isWritten)
    return false;
  if (a.root == b.root)
    return !a.range || !b.range || meet(*a.range, *b.range);
  if (isa<RoomType>(a.root.getType()) && isa<RoomType>(b.root.getType()))
    return true;
  auto first = a.root.getDefiningOp<BufferOp>(), second = b.root.getDefiningOp<BufferOp>();
  if (!first || !second || first.getMemory().getType() != second.getMemory().getType())
    return false;
  auto placed = [](const Access &access, BufferOp buffer) -> std::optional<std::pair<int64_t, int64_t>> {
    std::optional<int64_t> bytes = buffer.getBytes().values()[0].constant();
    if (!buffer.getOffset() || !bytes)
      return std::nullopt;
    auto offset = static_cast<int64_t>(*buffer.getOffset());
    auto [begin, end] = access.range.value_or(std::pair<int64_t, int64_t>(0, *bytes));
    return std::pair(offset + begin, offset + end);
  };
  auto here = placed(a, first), there = placed(b, second);
  if (here && there)
    return meet(*here, *there);
  ArrayRef<int64_t> one = first.getLive().value_or(ArrayRef<int64_t>()),
                    other = second.getLive().value_or(ArrayRef<int64_t>());
  return one.size() != 2 || other.size() != 2 || one[1] < other[0] || other[1] < one[0];
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

llvm::BitVector EventOrder::endedBefore(ValueRange events) const {
  llvm::BitVector all = ended;
  all.resize(started.size());
  for (Value event : events)
    if (auto known = numbers.find(event); known != numbers.end()) {
      all |= started[known->second].before;
      all.set(known->second);
    }
  return all;
}

void EventOrder::wait(ValueRange events) { ended = endedBefore(events); }

SmallVector<Operation *> EventOrder::running(ArrayRef<Access> accesses, const llvm::BitVector &ended) const {
  SmallVector<Operation *> found;
  for (size_t number = started.size(); number-- > 0;) {
    const Started &other = started[number];
    bool meets = !ended.test(number) && llvm::any_of(accesses, [&](const Access &access) {
      return llvm::any_of(other.accesses, [&](const Access &theirs) { return mayMeet(access, theirs); });
    });
    if (meets)
      found.push_back(other.op);
  }
  return found;
}

LogicalResult EventOrder::visit(Operation &op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return this->wait(wait.getEvents()), success();
  if (auto branch = dyn_cast<IfOp>(op))
    return visitBranches(branch);
  if (auto loop = dyn_cast<LoopOp>(op)) {
    llvm::BitVector before = ended;
    size_t first = started.size();
    if (failed(visit(loop.getBody().front())))
      return failure();
    ended = before;
    ended.resize(started.size());
    ended.set(first, started.size());
    return success();
  }
  SmallVector<Access> accesses = accessesOf(&op);
  for (;;) {
    llvm::BitVector before = endedBefore(eventsBefore(&op));
    SmallVector<Operation *> conflicts = running(accesses, before);
    if (conflicts.empty()) {
      if (Value event = eventOf(&op)) {
        numbers[event] = started.size();
        started.push_back({&op, before, accesses});
      }
      return success();
    }
    if (failed(order(&op, conflicts)))
      return failure();
  }
}

LogicalResult EventOrder::visitBranches(IfOp branch) {
  llvm::BitVector before = ended;
  size_t first = started.size();
  if (failed(visit(branch.getThen().front())))
    return failure();
  before.resize(started.size());
  before.set(first, started.size()); // where the other region runs, this one has not
  llvm::BitVector then = std::exchange(ended, before);
  if (failed(visit(branch.getOtherwise().front())))
    return failure();
  then.resize(started.size());
  ended.resize(started.size());
  ended &= then;
  ended.set(first, started.size());
  return success();
}

LogicalResult EventOrder::visit(Block &block) {
  size_t first = started.size();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(op)))
      return failure();
  for (;;) {
    ended.resize(started.size());
    SmallVector<Operation *> left;
    for (size_t number = started.size(); number-- > first;)
      if (!ended.test(number))
        left.push_back(started[number].op);
    if (left.empty())
      return success();
    if (failed(end(block, left)))
      return failure();
  }
}
} // namespace perpend::host
