//===- PlanMemory.cpp - assigns a place to every value of main ------------===//
//
// Runs on main when it consists of constants, reshapes (aliases), kernel calls
// and control flow. Results of main go to the caller's memory, constants to the
// weights. Every other value gets a buffer with a lifetime: in the arena if its
// size is known once inputs are bound, otherwise a growing buffer. Offsets in the
// arena are chosen here if all sizes are constant, otherwise at run time by the
// same planner. Values with disjoint lifetimes share growing buffers.
//
// A value that a region yields is computed directly in its destination if
// possible: a result of main or of an if, the next carried value or an element of
// a loop. Otherwise it is copied there. A carried value has two buffers that swap
// roles after each iteration, so that it need not be copied.
//
// A value lives from the step that writes it to the last step that reads it; if
// defined outside a loop that reads it, until the end of the loop.
//
//===----------------------------------------------------------------------===//

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "tile/Attributes.h"
#include "tile/Buffers.h"
#include "tile/Scratch.h"
#include "tile/Variants.h"
#include "tile/passes/Passes.h"

#include "../runtime/Planner.h"

#include "llvm/ADT/TypeSwitch.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEPLANMEMORY
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::SymbolicInt;

namespace {
/// A buffer in the arena, or a growing one.
struct PlannedBuffer {
  SymbolicInt bytes;
  int64_t first, last;
  size_t depth;          ///< number of loops around it
  SymbolicInt parts = 1; ///< most parts of `bytes` each; at run time at most one per thread
};

/// The destination of a yielded value.
struct Target {
  Place place;
  Type type;        ///< the type at the destination
  bool mayBeFilled; ///< can be written early; otherwise it is known only when it is copied
};

class MemoryPlanner {
public:
  explicit MemoryPlanner(func::FuncOp main)
      : main(main), builder(main.getContext()), dataSymbols(graph::dataSymbolsOf(main)) {}

  LogicalResult run();

private:
  bool dependsOnData(Type type) const {
    return graph::mentionsAny(graph::shapeOf(cast<RankedTensorType>(type)), dataSymbols);
  }
  static Value originOf(Value value);
  static SymbolicInt bytesOf(Type type);
  SymbolicInt roomFor(Value value);
  bool mayFill(Value value, const Target &target);

  Place createBuffer(bool isGrowing, const SymbolicInt &bytes);
  PlannedBuffer *bufferAt(Place place);
  void touch(Place place);
  Place placeOf(Value value) { return places.at(originOf(value)); }
  Place placeResult(Value result);
  void placeOperands(Operation *op, SmallVector<Place> &list);
  void record(Operation *op, StringRef name, ArrayRef<Place> list) { records.emplace_back(op, name, list); }

  void planBlock(Block &block, ArrayRef<Target> targets);
  void planConstant(graph::ConstantOp constant);
  void planCall(graph::CallKernelOp call);
  void planScratch(graph::CallKernelOp call, ArrayRef<func::FuncOp> functions);
  void planOperands(Operation *op, ValueRange results);
  void planIf(graph::IfOp op);
  void planLoop(graph::LoopOp loop);
  Target planCarried(graph::LoopOp loop, unsigned number, SmallVector<Place> &spares);
  Target planElement(graph::LoopOp loop, unsigned number);

  void shareGrowing();
  void writeAttributes();
  void chooseOffsets();

  func::FuncOp main;
  Builder builder;
  std::vector<std::string> dataSymbols;
  llvm::DenseMap<Value, Place> places;
  std::vector<PlannedBuffer> arena, growing; ///< growing: those of outputs first
  /// For each enclosing loop, the outside buffers that it reads.
  std::vector<SmallVector<Place>> loops;
  std::vector<std::tuple<Operation *, StringRef, SmallVector<Place>>> records;
  std::vector<int64_t> sharedNumbers; ///< the shared number of each growing buffer
  int64_t step = 0, slots = 0, weightBytes = 0, kernelCount = 0;
  bool hasFailed = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values and buffers
//===----------------------------------------------------------------------===//

Value MemoryPlanner::originOf(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

SymbolicInt MemoryPlanner::bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return graph::elementCount(graph::shapeOf(tensor)) * SymbolicInt(elementBytes(tensor.getElementType()));
}

static SymbolicInt atLeastZero(const SymbolicInt &value) {
  return value.knownNonNegative() ? value : max(value, SymbolicInt(0));
}

/// Like bytesOf(). In a region that does not run, requirements on extents may be violated; negative sizes count as 0.
SymbolicInt MemoryPlanner::roomFor(Value value) {
  if (value.getParentBlock() == &main.getBody().front())
    return bytesOf(value.getType());
  auto tensor = cast<RankedTensorType>(value.getType());
  graph::Shape shape = graph::shapeOf(tensor);
  for (SymbolicInt &extent : shape)
    extent = atLeastZero(extent);
  return graph::elementCount(shape) * SymbolicInt(elementBytes(tensor.getElementType()));
}

/// Whether the operator that computes a yielded value can write to its destination.
bool MemoryPlanner::mayFill(Value value, const Target &target) {
  Value origin = originOf(value);
  Operation *producer = origin.getDefiningOp();
  if (!target.mayBeFilled || !producer || isa<graph::ConstantOp>(producer) || places.contains(origin))
    return false;
  if (producer->getBlock() != value.getParentBlock())
    return false;
  return target.place.space == Space::Growing || bytesOf(origin.getType()) == bytesOf(target.type);
}

Place MemoryPlanner::createBuffer(bool isGrowing, const SymbolicInt &bytes) {
  std::vector<PlannedBuffer> &buffers = isGrowing ? growing : arena;
  buffers.push_back({bytes, step, step, loops.size()});
  return {isGrowing ? Space::Growing : Space::Arena, static_cast<int64_t>(buffers.size()) - 1};
}

PlannedBuffer *MemoryPlanner::bufferAt(Place place) {
  if (place.space == Space::Arena)
    return &arena[place.number];
  return place.space == Space::Growing ? &growing[place.number] : nullptr;
}

/// Extends the lifetime of a place to the current step.
void MemoryPlanner::touch(Place place) {
  PlannedBuffer *buffer = bufferAt(place);
  if (!buffer)
    return;
  buffer->last = std::max(buffer->last, step);
  if (buffer->depth < loops.size())
    loops[buffer->depth].push_back(place);
}

Place MemoryPlanner::placeResult(Value result) {
  auto [known, isNew] = places.try_emplace(result, Place{});
  if (isNew) {
    SymbolicInt bytes = roomFor(result);
    if (bytes.isPoison()) {
      reportTooLarge(result);
      hasFailed = true;
    }
    known->second = createBuffer(dependsOnData(result.getType()), bytes);
  }
  touch(known->second);
  return known->second;
}

void MemoryPlanner::placeOperands(Operation *op, SmallVector<Place> &list) {
  for (Value operand : op->getOperands()) {
    list.push_back(placeOf(operand));
    touch(list.back());
  }
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void MemoryPlanner::planBlock(Block &block, ArrayRef<Target> targets) {
  Operation *terminator = block.getTerminator();
  for (auto [value, target] : llvm::zip_equal(terminator->getOperands(), targets))
    if (mayFill(value, target))
      places[originOf(value)] = target.place;
  for (Operation &op : block) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](graph::ConstantOp constant) { planConstant(constant); })
        .Case([&](graph::CallKernelOp call) { planCall(call); })
        .Case([&](graph::CallLibraryOp call) { planOperands(call, call.getOutputs()); })
        .Case([&](graph::MeasureOp measure) { planOperands(measure, {}); })
        .Case([&](graph::IfOp op) { planIf(op); })
        .Case([&](graph::LoopOp loop) { planLoop(loop); });
    step += isa<graph::ConstantOp, graph::ReshapeOp>(op) ? 0 : 1;
  }
  SmallVector<Place> sources;
  placeOperands(terminator, sources);
  record(terminator, buffersAttribute, sources);
}

void MemoryPlanner::planConstant(graph::ConstantOp constant) {
  if (constant->use_empty())
    return;
  auto type = cast<RankedTensorType>(constant.getType());
  constant->setAttr(weightOffsetAttribute, builder.getI64IntegerAttr(weightBytes));
  places[constant] = {Space::Weights, weightBytes};
  weightBytes =
      llvm::alignTo(weightBytes + type.getNumElements() * elementBytes(type.getElementType()), PERPEND_ALIGNMENT);
}

void MemoryPlanner::planCall(graph::CallKernelOp call) {
  planOperands(call, call.getOutputs());
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  SmallVector<func::FuncOp, 2> functions = variantsOf(kernel);
  functions.push_back(kernel);
  for (func::FuncOp function : functions)
    if (!function->hasAttr(numberAttribute))
      function->setAttr(numberAttribute, builder.getI64IntegerAttr(kernelCount++));
  if (llvm::any_of(functions, [](func::FuncOp function) { return hasScratch(function); }))
    planScratch(call, functions);
}

/// Scratch memory lives during the call and is as large as the most demanding function needs, of which one runs. As in
/// roomFor(), extents may be negative if the call does not run.
void MemoryPlanner::planScratch(graph::CallKernelOp call, ArrayRef<func::FuncOp> functions) {
  func::FuncOp kernel = functions.back();
  llvm::StringMap<SymbolicInt> values = graph::symbolsAt(call, kernel);
  SymbolicInt bytes = 0, parts = 0;
  for (func::FuncOp function : functions)
    if (hasScratch(function)) {
      Scratch scratch = Scratch::of(function);
      bytes = max(bytes, scratch.plannedBytes().substitute(values));
      parts = max(parts, scratch.mostParts.substitute(values));
    }
  if (bytes.isPoison() || parts.isPoison()) {
    call.emitError("the size of the scratch memory of kernel '")
        << kernel.getSymName() << "' is too long an expression" << graph::ErrorKind::Unsupported
        << graph::Hint("give dimensions as numbers (--dim)");
    hasFailed = true;
    return;
  }
  Place place = createBuffer(graph::mentionsAny({bytes, parts}, dataSymbols), bytes);
  bufferAt(place)->parts = parts;
  record(call, scratchPlaceAttribute, place);
}

/// For operators without regions: plans each operand, then each result.
void MemoryPlanner::planOperands(Operation *op, ValueRange results) {
  SmallVector<Place> list;
  placeOperands(op, list);
  for (Value result : results)
    list.push_back(placeResult(result));
  record(op, buffersAttribute, list);
}

void MemoryPlanner::planIf(graph::IfOp op) {
  SmallVector<Place> list;
  placeOperands(op, list);
  SmallVector<Target> targets;
  for (Value result : op.getResults()) {
    list.push_back(placeResult(result));
    targets.push_back({list.back(), result.getType(), true});
  }
  record(op, buffersAttribute, list);
  for (Region *region : op.getRegions())
    planBlock(region->front(), targets);
  for (const Target &target : targets)
    touch(target.place);
}

/// A carried value and its successor. If both have a fixed size, two slots hold their addresses, which swap.
Target MemoryPlanner::planCarried(graph::LoopOp loop, unsigned number, SmallVector<Place> &spares) {
  Value argument = loop.carriedArguments()[number], result = loop.carriedResults()[number];
  Place place = places.at(result);
  if (originOf(loop.yieldedCarried()[number]) == argument) { // it never changes
    places[argument] = place;
    spares.push_back(place);
    return {place, result.getType(), false};
  }
  spares.push_back(createBuffer(place.space == Space::Growing, roomFor(result)));
  if (place.space == Space::Growing) {
    places[argument] = place;
    return {spares.back(), result.getType(), true};
  }
  places[argument] = {Space::Slot, slots++};
  return {{Space::Slot, slots++}, result.getType(), true};
}

/// An element of a scan result. A slot holds its address if that is known before the element is computed; otherwise the
/// element is appended.
Target MemoryPlanner::planElement(graph::LoopOp loop, unsigned number) {
  Value result = loop.scanResults()[number];
  Type element = loop.yieldedElements()[number].getType();
  SmallVector<std::string> inner;
  loop->walk([&](graph::SymbolInterface op) {
    for (StringAttr name : op.definedSymbols())
      inner.push_back(name.str());
  });
  if (graph::mentionsAny(graph::shapeOf(cast<RankedTensorType>(element)), inner))
    return {places.at(result), element, false};
  return {{Space::Slot, slots++}, element, true};
}

void MemoryPlanner::planLoop(graph::LoopOp loop) {
  SmallVector<Place> list, arguments, spares;
  placeOperands(loop, list);
  for (Value result : loop.getResults())
    list.push_back(placeResult(result));
  places[loop.getBody().getArgument(0)] = {Space::Slot, slots++};
  SmallVector<Target> targets;
  if (Value condition = loop.yieldedCondition())
    targets.push_back({{}, condition.getType(), false});
  for (unsigned i = 0; i < loop.carriedCount(); ++i)
    targets.push_back(planCarried(loop, i, spares));
  for (unsigned i = 0; i < loop.scanResults().size(); ++i)
    targets.push_back(planElement(loop, i));
  for (BlockArgument argument : loop.getBody().getArguments())
    arguments.push_back(places.at(argument));
  record(loop, buffersAttribute, list);
  record(loop, argumentsAttribute, arguments);
  record(loop, sparesAttribute, spares);
  auto yielded = ArrayRef<Target>(targets).drop_front(loop.getCondition() ? 1 : 0);
  record(loop, targetsAttribute, llvm::map_to_vector(yielded, [](const Target &target) { return target.place; }));
  loops.emplace_back();
  planBlock(loop.getBody().front(), targets);
  SmallVector<Place> used = loops.back();
  loops.pop_back();
  llvm::for_each(used, [&](Place place) { touch(place); });
  llvm::for_each(spares, [&](Place place) { touch(place); });
  llvm::for_each(loop.getResults(), [&](Value result) { touch(places.at(result)); });
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

LogicalResult MemoryPlanner::run() {
  for (BlockArgument argument : main.getArguments())
    places[argument] = {Space::Input, argument.getArgNumber()};
  SmallVector<Target> targets;
  for (auto [number, type] : llvm::enumerate(main.getResultTypes())) {
    growing.push_back({bytesOf(type), 0, 0, 0});
    targets.push_back(
        {{dependsOnData(type) ? Space::Growing : Space::Output, static_cast<int64_t>(number)}, type, true});
  }
  planBlock(main.getBody().front(), targets);
  if (hasFailed)
    return failure();
  shareGrowing();
  writeAttributes();
  return success(!hasFailed);
}

/// Numbers growing buffers: in order of first use, each takes the first number that is free by then. Those of outputs
/// keep theirs.
void MemoryPlanner::shareGrowing() {
  sharedNumbers.resize(growing.size());
  size_t outputs = main.getNumResults();
  std::vector<int64_t> lasts; // last use of each shared number, without outputs
  for (size_t i = 0; i < outputs; ++i)
    sharedNumbers[i] = i;
  for (size_t i = outputs; i < growing.size(); ++i) {
    auto free = llvm::find_if(lasts, [&](int64_t last) { return last < growing[i].first; });
    sharedNumbers[i] = outputs + (free - lasts.begin());
    if (free == lasts.end())
      lasts.push_back(growing[i].last);
    else
      *free = growing[i].last;
  }
  main->setAttr(growingAttribute, builder.getI64IntegerAttr(lasts.size()));
}

void MemoryPlanner::writeAttributes() {
  for (auto &[op, name, list] : records) {
    SmallVector<int64_t> pairs;
    for (Place place : list)
      pairs.append({static_cast<int64_t>(place.space),
                    place.space == Space::Growing ? sharedNumbers[place.number] : place.number});
    op->setAttr(name, builder.getDenseI64ArrayAttr(pairs));
  }
  SmallVector<SymbolicInt> sizes, parts;
  SmallVector<int64_t> lifetimes;
  for (const PlannedBuffer &buffer : arena) {
    sizes.push_back(buffer.bytes);
    parts.push_back(buffer.parts);
    lifetimes.append({buffer.first, buffer.last});
  }
  main->setAttr(slotsAttribute, builder.getI64IntegerAttr(slots));
  main->setAttr(weightBytesAttribute, builder.getI64IntegerAttr(weightBytes));
  main->setAttr(bufferBytesAttribute, graph::ShapeAttr::get(main.getContext(), sizes));
  main->setAttr(lifetimesAttribute, builder.getDenseI64ArrayAttr(lifetimes));
  bool hasParts = llvm::any_of(parts, [](const SymbolicInt &count) { return count != SymbolicInt(1); });
  if (hasParts)
    main->setAttr(bufferPartsAttribute, graph::ShapeAttr::get(main.getContext(), parts));
  else if (llvm::all_of(sizes, [](const SymbolicInt &size) { return size.isConstant(); }))
    chooseOffsets();
}

void MemoryPlanner::chooseOffsets() {
  std::vector<int64_t> sizes, offsets(arena.size());
  std::vector<perpend_buffer_lifetime> lifetimes;
  for (const PlannedBuffer &buffer : arena) {
    sizes.push_back(*buffer.bytes.constant());
    lifetimes.push_back({static_cast<int32_t>(buffer.first), static_cast<int32_t>(buffer.last)});
  }
  int64_t total = runtime::planOffsets(sizes.data(), lifetimes.data(), sizes.size(), offsets.data());
  if (total < 0) {
    main.emitError("the intermediate values do not fit in memory")
        << graph::Hint("check the dimensions of the model's inputs");
    hasFailed = true;
    return;
  }
  main->setAttr(offsetsAttribute, builder.getDenseI64ArrayAttr(offsets));
  main->setAttr(arenaBytesAttribute, builder.getI64IntegerAttr(total));
}

//===----------------------------------------------------------------------===//
// Plans written by hand
//===----------------------------------------------------------------------===//

/// All attributes of a plan except the offsets of arena buffers.
static constexpr StringLiteral plannedNames[] = {
    buffersAttribute, argumentsAttribute,    targetsAttribute,     sparesAttribute,      weightOffsetAttribute,
    numberAttribute,  slotsAttribute,        weightBytesAttribute, bufferBytesAttribute, lifetimesAttribute,
    growingAttribute, scratchPlaceAttribute, bufferPartsAttribute};

/// Buffers that live at the same time must be disjoint and within the arena.
static bool fitsArena(ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, ArrayRef<int64_t> lifetimes, int64_t bytes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] % PERPEND_ALIGNMENT || offsets[i] > bytes || sizes[i] > bytes - offsets[i])
      return false;
    for (size_t j = 0; j < i; ++j) {
      bool meet = lifetimes[2 * i] <= lifetimes[2 * j + 1] && lifetimes[2 * j] <= lifetimes[2 * i + 1];
      if (meet && offsets[i] < offsets[j] + sizes[j] && offsets[j] < offsets[i] + sizes[i])
        return false;
    }
  }
  return true;
}

static bool areOffsets(func::FuncOp main) {
  auto offsets = main->getAttrOfType<DenseI64ArrayAttr>(offsetsAttribute);
  auto arena = main->getAttrOfType<IntegerAttr>(arenaBytesAttribute);
  if (!main->hasAttr(offsetsAttribute) && !main->hasAttr(arenaBytesAttribute))
    return true; // the runtime chooses
  SmallVector<int64_t> sizes;
  for (const SymbolicInt &size : main->getAttrOfType<graph::ShapeAttr>(bufferBytesAttribute).values())
    sizes.push_back(size.constant().value_or(-1));
  return !main->hasAttr(bufferPartsAttribute) && offsets && arena && arena.getType().isSignlessInteger(64) &&
         offsets.size() == static_cast<int64_t>(sizes.size()) && !llvm::is_contained(sizes, -1) &&
         fitsArena(offsets, sizes, main->getAttrOfType<DenseI64ArrayAttr>(lifetimesAttribute), arena.getInt());
}

LogicalResult perpend::tile::verifyPlan(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return success(); // the plan has been lowered
  OwningOpRef<ModuleOp> planned = module.clone();
  SmallVector<Operation *> expected, got;
  planned->walk([&](Operation *op) {
    expected.push_back(op);
    for (StringLiteral name : plannedNames)
      op->removeAttr(name);
  });
  module.walk([&](Operation *op) { got.push_back(op); });
  if (failed(MemoryPlanner(planned->lookupSymbol<func::FuncOp>("main")).run()))
    return failure();
  for (auto [right, op] : llvm::zip_equal(expected, got))
    for (StringLiteral name : plannedNames)
      if (right->getAttr(name) != op->getAttr(name))
        return op->emitError("'") << op->getName() << "': " << name << " is not what the phase 'plan' makes of this "
                                  << "module"
                                  << graph::Hint("change operators before that phase; of a plan, only tile.offsets may "
                                                 "be changed");
  return areOffsets(main) ? success()
                          : main.emitError("tile.offsets: expected a multiple of 64 for each of tile.buffer_bytes, so "
                                           "that buffers that live at one time lie apart, in tile.arena_bytes")
                                << graph::Hint("leave both out, and the offsets are chosen when the model runs");
}

namespace {
struct PlanMemory : perpend::tile::impl::TilePlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main"))
      if (failed(MemoryPlanner(main).run()))
        signalPassFailure();
  }
};
} // namespace
