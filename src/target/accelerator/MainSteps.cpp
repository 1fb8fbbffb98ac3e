//===- MainSteps.cpp - main as steps on addresses -----------------------===//
#include "target/accelerator/MainSteps.h"

#include "graph/ElementTypes.h"
#include "graph/ErrorKind.h"
#include "graph/Graph.h"
#include "graph/NodeNames.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "host/Arena.h"
#include "host/Devices.h"
#include "host/Segments.h"
#include "runtime/library/CallSignature.h"
#include "target/accelerator/NumberLimits.h"
#include "target/cpu/LibraryCalls.h"
#include "tile/Attributes.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/Scratch.h"
#include "tile/kernel/Variants.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::accelerator {
namespace {

/// Of what begins in main memory: a DMA burst, and a line of the race check.
constexpr uint64_t alignment = 64;
constexpr StringLiteral giveNumbers = "give symbols as numbers (--dim n=4; in Python, dims={\"n\": 4} or no "
                                      "dynamic_shapes), or compile for a processor";
/// Of a program that calls functions.
constexpr uint64_t leastHeapBytes = uint64_t{4} << 20;

/// When it lives, and where.
struct NearValue {
  host::LiveRange lives;
  Range range;
};

class Planner {
public:
  explicit Planner(host::EntryOp entry) : entry(entry), module(entry->getParentOfType<ModuleOp>()) {}
  FailureOr<MainProgram> plan();
  /// For main as code.
  FailureOr<MainProgram> planDynamic(std::string cause);

private:
  LogicalResult placeMemory();
  LogicalResult add(Operation *op);
  LogicalResult addSteps(Operation *op);
  LogicalResult addLaunch(host::LaunchOp launch);
  LogicalResult addCopy(host::CopyOp copy);
  LogicalResult addScalar(host::ScalarOp scalar);
  LogicalResult addPlace(host::PlaceOp place);
  LogicalResult addCall(host::CallOp call);
  LogicalResult addCheck(host::CheckOp check);
  /// Errors: no function of the runtime's library that needs no operating system.
  LogicalResult checkFunction(host::CallOp call);
  LogicalResult unsupported(Operation *op, StringRef what, StringRef hint = "compile for a processor");

  Range take(uint64_t bytes);
  std::vector<Range> nearNow() const;
  /// Errors: it is no number.
  FailureOr<int64_t> numberOf(Operation *op, const SymbolicInt &value);
  FailureOr<uint64_t> bytesOf(Operation *op, host::PlaceType type);
  accelerator::Value valueOf(mlir::Value place) {
    auto constant = place.getDefiningOp<host::ConstantOp>();
    auto segment = constant ? module.lookupSymbol<host::SegmentOp>(constant.getSegment()) : host::SegmentOp();
    return {cast<host::PlaceType>(place.getType()).getTensor(), spots.at(place),
            segment ? segment.getValue().value_or(ElementsAttr()) : ElementsAttr(), arenaOf(place)};
  }

  std::optional<unsigned> arenaOf(mlir::Value place) const {
    auto found = arenas.find(place);
    return found == arenas.end() ? std::nullopt : std::optional(found->second);
  }

  host::EntryOp entry;
  ModuleOp module;
  MainProgram program;
  llvm::DenseMap<mlir::Value, Spot> spots;
  llvm::DenseMap<mlir::Value, unsigned> arenas; ///< of places, and of the memory of buffers
  std::vector<NearValue> near;
  int64_t number = -1;                        ///< of the step, as in host::LiveRanges
  std::map<std::string, mlir::Value> numbers; ///< places of symbols that data decides
};

} // namespace

static std::string locationOf(Operation *op) {
  StringRef name = graph::nodeName(op);
  return name.empty() ? op->getName().getStringRef().str() : ("node '" + name + "'").str();
}

LogicalResult Planner::unsupported(Operation *op, StringRef what, StringRef hint) {
  return op->emitError("a program of an accelerator cannot have ") << what << graph::Hint(hint);
}

Range Planner::take(uint64_t bytes) {
  Range range{llvm::alignTo(program.end, alignment), bytes};
  program.end = range.end();
  return range;
}

FailureOr<int64_t> Planner::numberOf(Operation *op, const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return *number;
  return unsupported(op, "the size " + value.str(), giveNumbers);
}

FailureOr<uint64_t> Planner::bytesOf(Operation *op, host::PlaceType type) {
  FailureOr<int64_t> bytes = numberOf(op, type.bytes());
  return failed(bytes) ? FailureOr<uint64_t>(failure()) : static_cast<uint64_t>(*bytes);
}

/// Whether its values are numbers, and their sizes are known.
static bool isOfFixedSizes(host::CallOp call) {
  return llvm::none_of(call.getOutputs().getTypes(), llvm::IsaPred<host::RoomType>) &&
         llvm::none_of(target::tensorsOf(call),
                       [](RankedTensorType type) { return graph::isHandle(type.getElementType()); });
}

/// What data decides of the order of main, or of sizes; empty: nothing.
static std::string decidedByData(host::EntryOp entry) {
  const std::set<std::string> limited = limitedSymbolsOf(entry);
  for (const std::string &name : entry.symbolNames())
    if (!limited.count(name))
      return "the number '" + name + "'";
  std::string cause;
  entry.walk([&](Operation *op) {
    auto call = dyn_cast<host::CallOp>(op);
    const bool isFixed =
        call ? isOfFixedSizes(call)
             : isa<host::EntryOp, host::LaunchOp, host::CopyOp, host::PlaceOp, host::ScalarOp, host::ConstantOp,
                   host::BufferOp, host::ReturnOp, host::ExpectOp, host::RequireOp, host::ReadOp, host::CheckOp>(op);
    if (isFixed)
      return WalkResult::advance();
    cause = locationOf(op);
    return WalkResult::interrupt();
  });
  return cause;
}

/// Whether what touches it, or a place in it, are kernels, which read and write it.
static bool isOnlyOfKernels(mlir::Value memory) {
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    if (auto place = dyn_cast<host::PlaceOp>(user))
      return isOnlyOfKernels(place.getPlace());
    auto launch = dyn_cast<host::LaunchOp>(user);
    return launch && launch.getScratch() != memory;
  });
}

/// Weights, inputs and outputs, then the arena.
LogicalResult Planner::placeMemory() {
  program.weights = take(static_cast<uint64_t>(host::segmentBytesOf(module)));
  for (BlockArgument argument : entry.getArguments()) {
    const bool isInput = argument.getArgNumber() < entry.inputCount();
    RankedTensorType tensor = entry.tensorOf(argument.getArgNumber());
    if (graph::isHandle(tensor.getElementType()))
      return unsupported(entry, isInput ? "an input of texts or lists" : "an output of texts or lists");
    auto type = dyn_cast<host::PlaceType>(argument.getType());
    if (program.dynamic && !isInput)
      program.dynamic->ranks.push_back(static_cast<unsigned>(tensor.getRank()));
    if (!type || (program.dynamic && !isInput && !type.bytes().isConstant())) {
      if (!program.dynamic)
        return unsupported(entry, "an output whose size a run decides");
      program.dynamic->outputs.emplace_back();
      continue;
    }
    FailureOr<uint64_t> bytes = bytesOf(entry, type);
    if (failed(bytes))
      return failure();
    spots[argument] = {false, (isInput ? program.inputs : program.outputs).emplace_back(take(*bytes)).byte};
    if (program.dynamic && !isInput)
      program.dynamic->outputs.emplace_back(program.outputs.back());
  }
  auto sizeOf = [&](host::BufferOp buffer) -> std::optional<int64_t> {
    return buffer.getBytes().values()[0].constant(); // one part: one core runs a kernel
  };
  const host::LiveRanges ranges = host::liveRangesOf(entry);
  for (StringRef memory : host::arenaMemoriesOf(entry)) {
    std::optional<host::Arena> arena = host::planArena(entry, memory, ranges, sizeOf);
    if (!arena || arena->bytes < 0)
      return unsupported(entry, "buffers whose sizes are no numbers", giveNumbers);
    const auto bytes = static_cast<uint64_t>(arena->bytes);
    const bool isFar = memory == host::hostMemory;
    const Range &range = isFar ? program.arena = take(bytes) : program.near = {0, bytes};
    for (auto [buffer, offset, size] : llvm::zip_equal(arena->buffers, arena->offsets, arena->sizes)) {
      const mlir::Value values = host::BufferOp(buffer).getMemory();
      const Spot spot{!isFar, range.byte + static_cast<uint64_t>(offset)};
      const host::LiveRange lives = ranges.buffers.lookup(buffer);
      const bool mayBeNear = !isFar || (isOnlyOfKernels(values) && !buffer->hasAttr(host::pinnedAttribute));
      spots[values] = spot;
      arenas[values] = static_cast<unsigned>(program.arenas.size());
      program.arenas.push_back({spot, static_cast<uint64_t>(size), lives.first, lives.last, mayBeNear});
      if (!isFar)
        near.push_back({ranges.buffers.lookup(buffer), {static_cast<uint64_t>(offset), static_cast<uint64_t>(size)}});
    }
  }
  return success();
}

LogicalResult Planner::addPlace(host::PlaceOp place) {
  FailureOr<int64_t> offset = numberOf(place, place.getOffset().values()[0]);
  if (failed(offset))
    return failure();
  Spot spot = spots.at(place.getSource());
  spot.byte += static_cast<uint64_t>(*offset);
  spots[place.getPlace()] = spot;
  if (const std::optional<unsigned> arena = arenaOf(place.getSource()))
    arenas[place.getPlace()] = *arena;
  return success();
}

LogicalResult Planner::addScalar(host::ScalarOp scalar) {
  FailureOr<int64_t> number = numberOf(scalar, scalar.getValue().values()[0]);
  if (failed(number))
    return failure();
  Range range = take(sizeof(int64_t));
  program.scalars.emplace_back(range, *number);
  spots[scalar.getPlace()] = {false, range.byte};
  return success();
}

LogicalResult Planner::addCopy(host::CopyOp copy) {
  FailureOr<uint64_t> bytes = bytesOf(copy, copy.getSource().getType());
  if (failed(bytes))
    return failure();
  accelerator::Value source = valueOf(copy.getSource()), target = valueOf(copy.getTarget());
  if (source.spot == target.spot || *bytes == 0)
    return success();
  Step &step = program.steps.emplace_back();
  step.inputs = {source};
  step.outputs = {target};
  step.location = locationOf(copy);
  return success();
}

LogicalResult Planner::addLaunch(host::LaunchOp launch) {
  Step step;
  llvm::StringMap<int64_t> symbols;
  auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
  for (const SymbolicInt &value : launch.getSymbols().values()) {
    FailureOr<int64_t> number = numberOf(launch, value);
    if (failed(number))
      return failure();
    step.symbols.push_back(*number);
  }
  func::FuncOp function = tile::functionFor(
      kernel, [&](StringRef symbol) { return launch.symbolsOf(kernel).lookup(symbol).constant().value_or(0); });
  step.kernel = function.getSymName().str();
  SymbolicInt extent = function->getAttrOfType<graph::ShapeAttr>(tile::extentAttribute).values()[0];
  FailureOr<int64_t> units = numberOf(launch, extent.substitute(launch.symbolsOf(function)));
  if (failed(units))
    return failure();
  step.units = *units;
  for (mlir::Value place : launch.getInputs())
    step.inputs.push_back(valueOf(place));
  for (mlir::Value place : launch.getOutputs())
    step.outputs.push_back(valueOf(place));
  if (tile::hasScratch(function)) {
    if (isa<host::RoomType>(launch.getScratch().getType()))
      return unsupported(launch, "scratch memory whose size a run decides", giveNumbers);
    step.scratch = spots.at(launch.getScratch());
    step.scratchArena = arenaOf(launch.getScratch());
  }
  step.location = locationOf(launch);
  if (step.units)
    program.steps.push_back(std::move(step));
  return success();
}

std::vector<Range> Planner::nearNow() const {
  std::vector<Range> ranges;
  for (const NearValue &value : near)
    if (value.lives.meets({number, number}))
      ranges.push_back(value.range);
  return ranges;
}

LogicalResult Planner::add(Operation *op) {
  number += isa<host::LaunchOp, host::CopyOp, host::CallOp, host::ReadOp>(op); // as host::LiveRanges counts
  const size_t before = program.steps.size();
  const LogicalResult added = addSteps(op);
  for (Step &step : MutableArrayRef(program.steps).drop_front(before))
    step.near = nearNow(), step.number = number;
  return added;
}

LogicalResult Planner::addSteps(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](host::LaunchOp launch) { return addLaunch(launch); })
      .Case([&](host::CopyOp copy) { return addCopy(copy); })
      .Case([&](host::PlaceOp place) { return addPlace(place); })
      .Case([&](host::CallOp call) { return addCall(call); })
      .Case([&](host::ScalarOp scalar) { return addScalar(scalar); })
      .Case([&](host::ReadOp read) {
        numbers.insert_or_assign(read.getSymbol().str(), read.getPlace());
        return success();
      })
      .Case([&](host::CheckOp check) { return addCheck(check); })
      .Case([&](host::ConstantOp constant) {
        auto segment = module.lookupSymbol<host::SegmentOp>(constant.getSegment());
        spots[constant.getPlace()] = {false, program.weights.byte + static_cast<uint64_t>(segment.getOffset())};
        return success();
      })
      .Case<host::BufferOp, host::ReturnOp, host::ExpectOp, host::RequireOp>([](auto) { return success(); })
      .Default([&](Operation *other) { return unsupported(other, other->getName().getStringRef()); });
}

LogicalResult Planner::addCheck(host::CheckOp check) {
  std::optional<NumberLimits> limits = limitsOf(check);
  auto place = limits ? numbers.find(limits->symbol) : numbers.end();
  if (place == numbers.end())
    return unsupported(check, "such a check");
  mlir::Builder builder(check.getContext());
  const std::pair<StringRef, mlir::Attribute> parameters[] = {
      {"least", builder.getI64IntegerAttr(limits->least)},
      {"most", builder.getI64IntegerAttr(limits->most)},
      {"message", builder.getStringAttr(locationOf(check) + ": " + limits->message)}};
  SmallVector<mlir::NamedAttribute> named;
  for (const auto &[name, value] : parameters)
    named.push_back(builder.getNamedAttr(name, value));
  Step &step = program.steps.emplace_back();
  step.inputs.push_back(valueOf(place->second));
  step.call = {"perpend_scalar_check",
               graph::parametersText(builder.getDictionaryAttr(named)),
               {/*inputs=*/1, /*outputs=*/0, PERPEND_I64, /*rank=*/0, library::Fixed},
               {}};
  step.location = locationOf(check);
  program.heapBytes = std::max(program.heapBytes, leastHeapBytes);
  return success();
}

constexpr llvm::StringLiteral libraryFunctions[] = {
#define LIBRARY_FUNCTION(library, name) #library "." #name,
#include "runtime/library/Functions.def"
};

LogicalResult Planner::checkFunction(host::CallOp call) {
  StringRef name = call.getFunction();
  if (llvm::is_contained(libraryFunctions, name) && name != "host.call") // which is one of this process
    return success();
  return call.emitError("a program of an accelerator cannot have a call of '")
         << name << "'" << graph::Hint("compile for a processor, or compute its result outside of the model");
}

LogicalResult Planner::addCall(host::CallOp call) {
  if (failed(checkFunction(call)))
    return failure();
  Step &step = program.steps.emplace_back();
  step.call = {target::symbolOfFunction(call), graph::parametersText(call.getParameters()), {}, {}};
  llvm::append_range(step.call->signature, target::signatureOf(call));
  SmallVector<RankedTensorType> tensors = target::tensorsOf(call);
  uint64_t operandBytes = 0;
  for (RankedTensorType tensor : tensors) {
    auto bytes = static_cast<uint64_t>(tile::elementBytes(tensor.getElementType()));
    for (const SymbolicInt &extent : graph::shapeOf(tensor)) {
      FailureOr<int64_t> number = numberOf(call, extent);
      if (failed(number))
        return failure();
      step.call->extents.push_back(*number);
      bytes *= static_cast<uint64_t>(*number);
    }
    operandBytes += bytes;
  }
  for (mlir::Value place : call.getInputs())
    step.inputs.push_back(valueOf(place));
  for (auto [place, type] : llvm::zip_equal(call.getOutputs(), ArrayRef(tensors).drop_front(step.inputs.size())))
    step.outputs.push_back({type, spots.at(place), {}, arenaOf(place)});
  step.location = locationOf(call);
  constexpr uint64_t copies = 16; // in other types, and of what lies between passes
  program.heapBytes = std::max(program.heapBytes, leastHeapBytes + copies * operandBytes);
  return success();
}

FailureOr<MainProgram> Planner::planDynamic(std::string cause) {
  for (const std::string &symbol : entry.symbolNames())
    if (!llvm::is_contained(entry.dataSymbolNames(), symbol))
      return unsupported(entry, "the symbol '" + symbol + "'", giveNumbers);
  program.dynamic.emplace();
  program.dynamic->cause = std::move(cause);
  WalkResult calls = entry.walk([&](host::CallOp call) {
    if (failed(checkFunction(call)))
      return WalkResult::interrupt();
    program.dynamic->functions.push_back(target::symbolOfFunction(call));
    return WalkResult::advance();
  });
  if (calls.wasInterrupted() || failed(placeMemory()))
    return failure();
  constexpr uint64_t least = uint64_t{16} << 20, copies = 8;
  program.heapBytes = least + copies * (program.end - program.weights.end());
  for (auto buffer : entry.getBody().getOps<host::BufferOp>())
    program.dynamic->buffers.push_back(spots.at(buffer.getMemory()));
  program.dynamic->symbols = entry.symbolNames().size();
  program.dynamic->growing = entry.outputCount() + entry.roomCount();
  return std::move(program);
}

FailureOr<MainProgram> Planner::plan() {
  if (!module.getOps<host::StateOp>().empty())
    return unsupported(entry, "states", "without --state and --cache, a call takes all that came before");
  if (std::string cause = decidedByData(entry); !cause.empty())
    return planDynamic(std::move(cause));
  if (failed(placeMemory()))
    return failure();
  for (Operation &op : entry.getBody().front())
    if (failed(add(&op)))
      return failure();
  return std::move(program);
}

uint64_t Value::bytes() const {
  return static_cast<uint64_t>(type.getNumElements() * tile::elementBytes(type.getElementType()));
}

FailureOr<MainProgram> mainProgramOf(ModuleOp module) {
  llvm::SmallVector<host::EntryOp, 2> entries = host::entriesOf(module);
  if (entries.size() > 1)
    return entries[1].emitError("a program of an accelerator has one entry, got ")
           << entries.size()
           << graph::Hint("`perpend compile` makes one entry; `perpend llm compile` is for processors");
  return Planner(entries.front()).plan();
}

} // namespace perpend::accelerator
