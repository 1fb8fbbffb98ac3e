//===- VerifyStates.cpp - states in a host program --------------------------===//
//
// A state that is updated in place has its old value in the same memory. So what is
// written must not be read as the old value afterwards, and a kernel must not write
// what it reads.
//
//===----------------------------------------------------------------------===//

#include "host/VerifyProgram.h"

#include "graph/ErrorKind.h"
#include "graph/Shapes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

PlaceRange perpend::host::rangeOf(Value place) {
  PlaceRange range;
  auto type = dyn_cast<PlaceType>(place.getType());
  while (Operation *op = place.getDefiningOp()) {
    if (auto inner = dyn_cast<PlaceOp>(op))
      range.begin = range.begin + inner.getOffset().values()[0];
    else if (!isa<ContentOp, ReserveOp>(op))
      break;
    place = op->getOperand(0);
  }
  range.end = type ? range.begin + type.bytes() : range.begin;
  range.memory = place;
  auto argument = dyn_cast<BlockArgument>(place);
  auto entry = argument ? dyn_cast<EntryOp>(argument.getOwner()->getParentOp()) : EntryOp();
  if (!entry || entry.stateOf(argument.getArgNumber()).empty())
    return range;
  range.isState = true;
  if (argument.getArgNumber() >= entry.inputCount() && entry.getArgAttr(argument.getArgNumber(), inPlaceAttribute))
    for (unsigned input = 0; input < entry.inputCount(); ++input)
      if (entry.stateOf(input) == entry.stateOf(argument.getArgNumber()))
        range.memory = entry.input(input);
  return range;
}

bool PlaceRange::isApartFrom(const PlaceRange &other) const {
  return (other.begin - end).knownNonNegative() || (begin - other.end).knownNonNegative();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static SmallVector<Value> writtenBy(Operation &op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(&op)
      .Case<LaunchOp, CallOp>([](auto call) { return SmallVector<Value>(call.getOutputs()); })
      .Case<CopyOp, CopyRowsOp, CopySlicesOp>([](auto copy) { return SmallVector<Value>{copy.getTarget()}; })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

bool perpend::host::overwrites(EntryOp entry, unsigned state) {
  PlaceRange before = rangeOf(entry.input(entry.inputCount() - entry.stateCount() + state));
  WalkResult result = entry.walk([&](Operation *op) {
    bool overlaps = llvm::any_of(writtenBy(*op), [&](Value place) {
      PlaceRange range = rangeOf(place);
      return range.memory == before.memory && !range.isApartFrom(before);
    });
    return overlaps ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
/// S2: no operation reads a part of an old value that an earlier one has overwritten.
class OldValues {
public:
  explicit OldValues(EntryOp entry) : entry(entry) {}

  LogicalResult visit(Block &block) {
    for (Operation &op : block) {
      if (failed(read(op)))
        return failure();
      for (Value place : writtenBy(op))
        if (PlaceRange range = rangeOf(place); range.isState)
          written[range.memory].push_back(range);
      for (int turn = 0; turn < (isa<LoopOp>(op) ? 2 : 1); ++turn) // an iteration reads behind the one before
        for (Region &region : op.getRegions())
          if (failed(visit(region.front())))
            return failure();
    }
    return success();
  }

private:
  static SmallVector<Value> readBy(Operation &op) {
    return llvm::TypeSwitch<Operation *, SmallVector<Value>>(&op)
        .Case<LaunchOp, CallOp>([](auto call) { return SmallVector<Value>(call.getInputs()); })
        .Case<CopyOp, CopyRowsOp>([](auto copy) { return SmallVector<Value>{copy.getSource()}; })
        .Case([](CopySlicesOp scatter) { return SmallVector<Value>{scatter.getSource(), scatter.getPositions()}; })
        .Case([](ReadOp read) { return SmallVector<Value>{read.getPlace()}; })
        .Default([](Operation *) { return SmallVector<Value>(); });
  }

  /// Whether the place is in the input, so that it means the value before the run.
  bool isOld(Value place) {
    while (auto inner = place.getDefiningOp<PlaceOp>())
      place = inner.getSource();
    auto argument = dyn_cast<BlockArgument>(place);
    return argument && argument.getOwner()->getParentOp() == entry && argument.getArgNumber() < entry.inputCount();
  }

  LogicalResult read(Operation &op) {
    for (Value place : readBy(op)) {
      PlaceRange range = rangeOf(place);
      if (!range.isState || !isOld(place))
        continue;
      for (const PlaceRange &other : written.lookup(range.memory))
        if (!range.isApartFrom(other))
          return op.emitError("S2: reads the old value of state '")
                 << nameOf(range.memory) << "' behind an update of it"
                 << graph::Hint("move it before the update, or read the new value");
    }
    return success();
  }

  StringRef nameOf(Value input) {
    auto module = entry->getParentOfType<ModuleOp>();
    auto state = module.lookupSymbol<StateOp>(entry.stateOf(cast<BlockArgument>(input).getArgNumber()));
    return state ? state.getName() : "";
  }

  EntryOp entry;
  llvm::DenseMap<Value, SmallVector<PlaceRange>> written;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// S1: the last inputs and outputs are states of this module, in one order, with their shapes.
static LogicalResult verifyArguments(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  unsigned count = entry.stateCount(), inputs = entry.inputCount() - count;
  auto fail = [&](const Twine &message) {
    return entry.emitOpError("S1: ") << message.str()
                                     << graph::Hint("host.state = @s0 on the state's input and on its output");
  };
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    unsigned ofOutputs = number - entry.inputCount();
    bool isInput = number < entry.inputCount();
    bool mayBe = isInput ? number >= inputs : count <= entry.outputCount() && ofOutputs >= entry.outputCount() - count;
    StringRef name = entry.stateOf(number);
    if (mayBe == name.empty())
      return fail("expected the states behind all other inputs and outputs, and all of them in both");
    if (name.empty())
      continue;
    auto state = module.lookupSymbol<StateOp>(name);
    unsigned input = isInput ? number : ofOutputs - (entry.outputCount() - count) + inputs;
    if (!state || entry.stateOf(input) != name)
      return fail("expected a state, the same for input and output, got '" + name + "'");
    if (isInput && llvm::any_of(llvm::seq(number), [&](unsigned before) { return entry.stateOf(before) == name; }))
      return fail("expected each state once, got '" + name + "' again");
    RankedTensorType given = entry.tensorOf(number), most = state.tensor();
    bool fits = given.getElementType() == most.getElementType() && given.getRank() == most.getRank();
    for (int64_t dim = 0; fits && dim < given.getRank(); ++dim)
      fits = given.getDimSize(dim) == most.getDimSize(dim) || state.getGrowing() == static_cast<uint64_t>(dim);
    if (!fits || !isa<PlaceType>(entry.getArgumentTypes()[number]))
      return fail("expected a place for the state '" + state.getName() + "'");
    auto first = state.getInitially() ? module.lookupSymbol<SegmentOp>(*state.getInitially()) : SegmentOp();
    if (state.getInitially() && (!first || first.isInFile()))
      return fail("expected a segment with values, not one in a file, to begin the state '" + state.getName() + "'");
  }
  return success();
}

LogicalResult perpend::host::verifyStates(EntryOp entry) {
  if (failed(verifyArguments(entry)))
    return failure();
  return entry.stateCount() ? OldValues(entry).visit(entry.getBody().front()) : success();
}
