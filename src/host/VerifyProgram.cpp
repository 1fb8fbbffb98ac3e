//===- VerifyProgram.cpp - verifies host programs and memory plans --------===//
//
// Checks launches against the kernels' signatures, scratch sizes, constants, bounds of buffers, lifetimes, and that a
// read follows a write through the same place. It accepts every valid memory plan, also one that a person wrote or
// another strategy made: buffers that live at the same time must not overlap in memory.
//
//===----------------------------------------------------------------------===//

#include "host/VerifyProgram.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "host/Arena.h"
#include "host/Events.h"
#include "host/LiveRanges.h"
#include "host/Segments.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/Scratch.h"
#include "tile/kernel/Variants.h"

#include "perpend_module.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

/// Provably, or of a maximum one of whose operands is that.
static bool isAtLeast(const SymbolicInt &value, const SymbolicInt &least) {
  return value == max(value, least) || (value - least).knownNonNegative();
}

//===----------------------------------------------------------------------===//
// Kernels and segments
//===----------------------------------------------------------------------===//

/// C3: scratch memory has room for the parts of each function that a launch may run.
static LogicalResult verifyScratch(LaunchOp launch, func::FuncOp kernel) {
  SmallVector<func::FuncOp, 2> functions = tile::variantsOf(kernel);
  functions.push_back(kernel);
  for (func::FuncOp function : functions) {
    if (!tile::hasScratch(function))
      continue;
    tile::Scratch scratch = tile::Scratch::of(function);
    llvm::StringMap<SymbolicInt> symbols = launch.symbolsOf(function);
    SymbolicInt bytes = scratch.plannedBytes().substitute(symbols), parts = scratch.mostParts.substitute(symbols);
    Value memory = launch.getScratch();
    if (memory && isa<RoomType>(memory.getType()))
      continue; // the run makes it large enough
    auto buffer = memory ? memory.getDefiningOp<BufferOp>() : BufferOp();
    if (!buffer || !isAtLeast(buffer.getBytes().values()[0], bytes) || !isAtLeast(buffer.getParts().values()[0], parts))
      return launch.emitOpError("C3: expected a room, or a buffer of ")
             << bytes.str() << " bytes for each of " << parts.str() << " parts, as scratch memory of kernel '"
             << function.getSymName() << "'" << graph::Hint("`scratch %room` takes one of any size");
  }
  return success();
}

/// P6: what a launch writes shares no memory with its other operands; parts of a state may lie apart in it. A place of
/// a loop's argument counts as memory of its own.
static LogicalResult verifyDisjoint(LaunchOp launch) {
  SmallVector<PlaceRange> others;
  for (Value input : launch.getInputs())
    others.push_back(rangeOf(input));
  for (Value output : launch.getOutputs()) {
    PlaceRange range = rangeOf(output);
    if (llvm::any_of(others, [&](const PlaceRange &other) {
          return other.memory == range.memory && !(range.isState && range.isApartFrom(other));
        }))
      return launch.emitOpError("P6: writes memory that another of its operands is in")
             << graph::Hint("give each output memory of its own");
    others.push_back(range);
  }
  return success();
}

static LogicalResult verifyLaunch(LaunchOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
  if (!kernel || !kernel->hasAttr(graph::kernelAttribute))
    return launch.emitOpError("C1: '") << launch.getKernel() << "' is no kernel"
                                       << graph::Hint("a kernel has the attribute tile.kernel");
  unsigned buffers = launch.getInputs().size() + launch.getOutputs().size();
  if (failed(verifyDisjoint(launch)))
    return failure();
  if (!tile::KernelAbi::isLowered(kernel))
    return success(); // graph operators or blocks, as tests have them
  auto abi = tile::KernelAbi::ofLowered(kernel);
  if (buffers != abi.symbols() || launch.getSymbols().getDims().size() != graph::symbolsOfKernel(kernel).size())
    return launch.emitOpError("C2: expected ")
           << abi.symbols() << " places and " << graph::symbolsOfKernel(kernel).size() << " symbols, got " << buffers
           << " and " << launch.getSymbols().getDims().size()
           << graph::Hint("give those of kernel '" + launch.getKernel() + "'");
  return verifyScratch(launch, kernel);
}

static LogicalResult verifyConstant(ConstantOp constant) {
  auto segment = SymbolTable::lookupNearestSymbolFrom<SegmentOp>(constant, constant.getSegmentAttr());
  auto type = constant.getPlace().getType().getTensor();
  RankedTensorType given = segment ? segment.tensor() : RankedTensorType();
  if (segment && given.getShape() == type.getShape() && given.getElementType() == type.getElementType())
    return success();
  return constant.emitOpError("expected a segment of type ")
         << type << " called '" << constant.getSegment() << "'" << graph::Hint("host.segment defines it");
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static std::string textOf(const LiveRange &range) {
  return "[" + std::to_string(range.first) + ", " + std::to_string(range.last) + "]";
}

/// P1: the range that binding goes by is no shorter than the program's. P2: buffers with offsets are aligned.
static LogicalResult verifyBuffer(BufferOp buffer, const LiveRange *needed) {
  auto refuse = [&](const Twine &got) {
    std::string wanted = needed ? "that lives in " + textOf(*needed) : "without lifetime, since no step touches it";
    return buffer.emitOpError("P1: expected a buffer ")
           << wanted << ", got " << got
           << graph::Hint(
                  "steps are the operations that touch memory, in order; what is used in a loop lives to its end");
  };
  std::optional<ArrayRef<int64_t>> live = buffer.getLive();
  if (live && live->size() != 2)
    return refuse(Twine(live->size()) + " numbers");
  if (live.has_value() != (needed != nullptr))
    return refuse(live ? textOf({(*live)[0], (*live)[1]}) : "none");
  if (live && !LiveRange{(*live)[0], (*live)[1]}.contains(*needed))
    return refuse(textOf({(*live)[0], (*live)[1]}));
  int64_t offset = buffer.getOffset().value_or(0);
  if (offset < 0 || offset % PERPEND_ALIGNMENT)
    return buffer.emitOpError("P2: expected an offset that is a multiple of ")
           << PERPEND_ALIGNMENT << ", got " << offset;
  return success();
}

/// P5: a place in a buffer ends in it. In a region that does not run an extent may be negative; then it counts as 0.
static LogicalResult verifyPlace(PlaceOp place) {
  auto buffer = place.getSource().getDefiningOp<BufferOp>();
  if (!buffer)
    return success(); // of another place: see C1
  PlaceType type = place.getPlace().getType();
  graph::Shape extents = type.extents();
  for (SymbolicInt &extent : extents)
    extent = extent.knownNonNegative() ? extent : max(extent, SymbolicInt(0));
  SymbolicInt have = buffer.getBytes().values()[0], offset = place.getOffset().values()[0];
  SymbolicInt clamped =
      graph::elementCount(extents) * SymbolicInt(tile::elementBytes(type.getTensor().getElementType()));
  if (offset.knownNonNegative() && (isAtLeast(have, offset + type.bytes()) || isAtLeast(have, offset + clamped)))
    return success();
  return place.emitOpError("P5: expected a place within ")
         << have.str() << " bytes, got " << type.bytes().str() << " bytes at " << offset.str()
         << graph::Hint("make the buffer larger");
}

namespace {
struct Placed {
  BufferOp buffer;
  LiveRange range;
  int64_t begin, end;
};
} // namespace

/// P3: buffers of one memory that live at one time lie apart.
static LogicalResult verifyApart(ArrayRef<Placed> placed) {
  for (size_t i = 0; i < placed.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Placed &a = placed[j], &b = placed[i];
      if (a.range.meets(b.range) && a.begin < b.end && b.begin < a.end)
        return BufferOp(b.buffer).emitOpError("P3: at ")
               << b.begin << " it overlaps the buffer at " << a.begin << ", which lives at the same time, in "
               << textOf(a.range) << graph::Hint("leave all offsets out, and binding chooses them");
    }
  return success();
}

/// P7: rooms with one number do not live at one time.
static LogicalResult verifyRooms(const LiveRanges &ranges) {
  llvm::MapVector<uint64_t, SmallVector<LiveRange>> known; // by number
  for (auto [room, range] : ranges.rooms) {
    SmallVector<LiveRange> &others = known[RoomOp(room).getNumber()];
    for (const LiveRange &other : others)
      if (other.meets(range))
        return RoomOp(room).emitOpError("P7: has the number ")
               << RoomOp(room).getNumber() << " of another room, which lives at the same time, in " << textOf(other)
               << graph::Hint("give it a number of its own");
    others.push_back(range);
  }
  return success();
}

static LogicalResult verifyArenas(EntryOp entry) {
  struct Arena {
    size_t buffers = 0;
    std::vector<Placed> placed;
  };
  llvm::MapVector<Type, Arena> arenas; // by the type of their memory
  LiveRanges ranges = liveRangesOf(entry);
  if (failed(verifyRooms(ranges)))
    return failure();
  for (auto buffer : entry.getBody().getOps<BufferOp>()) {
    Arena &arena = arenas[buffer.getMemory().getType()];
    auto found = ranges.buffers.find(buffer);
    const LiveRange *range = found == ranges.buffers.end() ? nullptr : &found->second;
    ++arena.buffers;
    if (failed(verifyBuffer(buffer, range)))
      return failure();
    std::optional<int64_t> bytes = constantSizeOf(buffer);
    if (!buffer.getOffset())
      continue;
    if (!bytes)
      return buffer.emitOpError("P2: an offset needs a size that is a number") << graph::Hint("leave the offset out");
    if (*bytes < 0 || *bytes > mostArenaBytes - static_cast<int64_t>(*buffer.getOffset()))
      return buffer.emitOpError("P2: expected a size that fits behind the offset, got ") << *bytes;
    int64_t offset = *buffer.getOffset();
    arena.placed.push_back({buffer, range ? *range : LiveRange{0, -1}, offset, offset + *bytes}); // or at no time
  }
  for (auto &[memory, arena] : arenas) {
    if (!arena.placed.empty() && arena.placed.size() != arena.buffers)
      return entry.emitOpError("P2: expected an offset for each buffer or for none, got ")
             << arena.placed.size() << " for " << arena.buffers
             << graph::Hint("leave all out, and binding chooses them");
    if (failed(verifyApart(arena.placed)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// P4: what is read from a buffer was written to it before, through the same place.
class WrittenValues {
public:
  LogicalResult visit(Block &block) {
    for (Operation &op : block) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](LaunchOp launch) { return step(op, launch.getInputs(), launch.getOutputs()); })
              .Case([&](CallOp call) { return step(op, call.getInputs(), call.getOutputs()); })
              .Case([&](CopyOp copy) { return step(op, copy.getSource(), copy.getTarget()); })
              .Case([&](CopyRowsOp copy) { return step(op, copy.getSource(), copy.getTarget()); })
              .Case([&](CopySlicesOp scatter) {
                return step(op, {scatter.getSource(), scatter.getPositions()}, scatter.getTarget());
              })
              .Case([&](ReadOp read) { return step(op, read.getPlace(), {}); })
              .Case([&](IfOp branch) { return visitBranches(branch); })
              .Case([&](LoopOp loop) { return visitLoop(loop); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  using Contents = llvm::DenseMap<Value, Value>; ///< of each buffer, the place through which it was written

  /// The place behind views of it; null: not of one buffer, so that a loop or the caller gives the value.
  static Value originOf(Value value) {
    while (auto place = value.getDefiningOp<PlaceOp>()) {
      if (place.getSource().getDefiningOp<BufferOp>())
        return value;
      value = place.getSource();
    }
    return {};
  }
  static Value bufferOf(Value origin) { return origin.getDefiningOp<PlaceOp>().getSource(); }
  static ValueRange writtenBy(Operation *op) {
    return llvm::TypeSwitch<Operation *, ValueRange>(op)
        .Case([](LaunchOp launch) { return launch.getOutputs(); })
        .Case([](CallOp call) { return call.getOutputs(); })
        .Case([](CopyOp copy) { return copy->getOperands().slice(1, 1); })
        .Case<CopyRowsOp, CopySlicesOp>([](Operation *copy) { return copy->getOperands().take_back(); })
        .Default([](Operation *) { return ValueRange(); });
  }

  LogicalResult step(Operation &op, ValueRange read, ValueRange written) {
    for (Value value : read)
      if (Value origin = originOf(value))
        if (Value last = contents.lookup(bufferOf(origin)); !last || last != origin)
          return op.emitError("P4: reads a place ")
                 << (last ? "that another value was written to" : "that nothing was written to")
                 << graph::Hint("read the place that the value was written to");
    for (Value value : written)
      if (Value origin = originOf(value))
        contents[bufferOf(origin)] = origin;
    return success();
  }

  /// Behind a branch a buffer holds what both of its regions leave there.
  LogicalResult visitBranches(IfOp branch) {
    Contents before = contents;
    if (failed(visit(branch.getThen().front())))
      return failure();
    Contents then = std::exchange(contents, std::move(before));
    if (failed(visit(branch.getOtherwise().front())))
      return failure();
    for (auto &[buffer, origin] : contents)
      if (then.lookup(buffer) != origin)
        origin = {};
    return success();
  }

  /// An iteration finds what was there before the loop only if no iteration writes another value there. Behind the loop
  /// a buffer holds what the body left: without iterations, a value that only the body writes has no elements.
  LogicalResult visitLoop(LoopOp loop) {
    Contents before = contents;
    loop.getBody().walk([&](Operation *op) {
      for (Value value : writtenBy(op))
        if (Value origin = originOf(value))
          if (auto known = contents.find(bufferOf(origin)); known != contents.end() && known->second != origin)
            known->second = {};
    });
    if (failed(visit(loop.getBody().front())))
      return failure();
    for (auto [buffer, origin] : before)
      if (contents.lookup(buffer) != origin)
        contents[buffer] = {};
    return success();
  }

  Contents contents;
};
} // namespace

static LogicalResult verifyProgram(EntryOp entry) {
  if (failed(verifyEntry(entry)))
    return failure();
  WalkResult result = entry.walk([](Operation *op) {
    LogicalResult fits = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                             .Case([](LaunchOp launch) { return verifyLaunch(launch); })
                             .Case([](ConstantOp constant) { return verifyConstant(constant); })
                             .Case([](PlaceOp place) { return verifyPlace(place); })
                             .Default([](Operation *) { return success(); });
    return failed(fits) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(verifyStates(entry)) || failed(verifyArenas(entry)) ||
                 failed(WrittenValues().visit(entry.getBody().front())) || failed(verifyEvents(entry)));
}

LogicalResult perpend::host::verifyPrograms(ModuleOp module) {
  return success(succeeded(verifySegments(module)) &&
                 llvm::all_of(module.getOps<EntryOp>(), [](EntryOp entry) { return succeeded(verifyProgram(entry)); }));
}
