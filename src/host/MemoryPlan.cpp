//===- MemoryPlan.cpp - assigns a place to every value of main ------------===//
//
// Runs on main when it consists of constants, views in memory (aliases),
// kernel calls and control flow. Results of main go to the caller's memory, constants to
// segments. Every other value gets a buffer in the arena if its size is known once
// inputs are bound, otherwise a room.
//
// A value that a region yields is computed directly in its destination if
// possible: a result of main or of an if, the next carried value or an element of
// a loop. Otherwise it is copied there. A carried value has two buffers that swap
// roles after each iteration, so that it need not be copied.
//
// A state that is updated in place (graph/passes/PlaceStates.cpp) is one result of
// main from its first update on. Blocks that are written into it are computed there
// where that is possible, and copied there otherwise.
//
//===----------------------------------------------------------------------===//

#include "host/MemoryPlan.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "host/Devices.h"
#include "host/Host.h"
#include "tile/Attributes.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/Scratch.h"
#include "tile/kernel/Variants.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;
using tile::elementBytes;
using tile::Scratch;

static bool isAssembled(Operation *op) { return op->hasAttr(graph::assembledAttribute); }

namespace {
/// The destination of a yielded value.
struct Target {
  Storage place;
  Type type;        ///< the type at the destination
  bool mayBeFilled; ///< can be written early; otherwise it is known only when it is copied
};

class MemoryPlanner {
public:
  MemoryPlanner(func::FuncOp main, const target::Machine &machine)
      : main(main), machine(machine), dataSymbols(graph::dataSymbolsOf(main)) {
    for (auto kernel : main->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) // those that other entries launch
      kernelCount += kernel->hasAttr(tile::numberAttribute);
  }

  LogicalResult run();

  MemoryPlan plan;

private:
  bool dependsOnData(Type type) const {
    return graph::mentionsAny(graph::shapeOf(cast<RankedTensorType>(type)), dataSymbols);
  }
  static SymbolicInt bytesOf(Type type);
  SymbolicInt roomFor(Value value);
  bool mayFill(Value value, const Target &target);

  Storage createBuffer(bool isGrowing, const SymbolicInt &bytes, StringRef memory = hostMemory);
  Storage placeOf(Value value) { return places.at(originOf(value)); }
  Storage placeResult(Value result);
  void placeOperands(Operation *op, SmallVector<Storage> &list);

  void planBlock(Block &block, ArrayRef<Target> targets);
  void planAssembled(graph::UpdateInterface whole);
  void planStates();
  void planBlocks(graph::UpdateInterface update, const graph::State &state);
  bool mayFill(graph::UpdateInterface update, const graph::UpdatedBlock &block);
  int64_t planSegment(RankedTensorType type);
  void planConstant(graph::ConstantOp constant);
  void planTransfer(TransferOp transfer);
  void planCall(graph::CallKernelOp call);
  void planScratch(graph::CallKernelOp call, ArrayRef<func::FuncOp> functions);
  void planOperands(Operation *op, ValueRange results);
  void planIf(graph::IfOp op);
  void planLoop(graph::LoopOp loop);
  Target planCarried(graph::LoopOp loop, unsigned number, SmallVector<Storage> &spares);
  Target planElement(graph::LoopOp loop, unsigned number);

  func::FuncOp main;
  const target::Machine &machine;
  std::vector<std::string> dataSymbols;
  llvm::DenseMap<Value, Storage> places;
  int64_t slots = 0, weightBytes = 0, kernelCount = 0;
  bool hasFailed = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values and buffers
//===----------------------------------------------------------------------===//

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
  return target.place.space == Space::Room || bytesOf(origin.getType()) == bytesOf(target.type);
}

Storage MemoryPlanner::createBuffer(bool isGrowing, const SymbolicInt &bytes, StringRef memory) {
  if (isGrowing)
    return {Space::Room, plan.rooms++};
  plan.arena.push_back({bytes, memory.str()});
  return {Space::Arena, static_cast<int64_t>(plan.arena.size()) - 1};
}

Storage MemoryPlanner::placeResult(Value result) {
  auto [known, isNew] = places.try_emplace(result, Storage{});
  if (isNew) {
    SymbolicInt bytes = roomFor(result);
    if (bytes.isPoison()) {
      tile::reportTooLarge(result);
      hasFailed = true;
    }
    known->second = createBuffer(dependsOnData(result.getType()), bytes, memoryOf(result, machine));
    if (known->second.space == Space::Arena)
      plan.arena.back().isPinned = isPinned(result);
  }
  return known->second;
}

void MemoryPlanner::placeOperands(Operation *op, SmallVector<Storage> &list) {
  for (Value operand : op->getOperands())
    list.push_back(placeOf(operand));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void MemoryPlanner::planBlock(Block &block, ArrayRef<Target> targets) {
  Operation *terminator = block.getTerminator();
  for (auto [value, target] : llvm::zip_equal(terminator->getOperands(), targets))
    if (mayFill(value, target))
      places[originOf(value)] = target.place;
  for (graph::UpdateInterface whole : llvm::make_filter_range(block.getOps<graph::UpdateInterface>(), isAssembled))
    planAssembled(whole);
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](graph::ConstantOp constant) { planConstant(constant); })
        .Case([&](TransferOp transfer) { planTransfer(transfer); })
        .Case([&](graph::CallKernelOp call) { planCall(call); })
        .Case([&](graph::CallLibraryOp call) { planOperands(call, call.getOutputs()); })
        .Case([&](graph::UpdateInterface update) { planOperands(update, update->getResults()); })
        .Case([&](graph::MeasureOp measure) { planOperands(measure, {}); })
        .Case([&](graph::IfOp op) { planIf(op); })
        .Case([&](graph::LoopOp loop) { planLoop(loop); });
  SmallVector<Storage> sources;
  placeOperands(terminator, sources);
  plan.values[terminator] = sources;
}

/// Kernels compute its parts in its memory; what cannot be computed there is copied.
void MemoryPlanner::planAssembled(graph::UpdateInterface update) {
  auto type = cast<RankedTensorType>(update->getResult(0).getType());
  const Storage whole = placeResult(update->getResult(0));
  if (whole.space != Space::Arena && whole.space != Space::Output)
    return;
  SymbolicInt offset = 0;
  for (OpOperand &operand : update->getOpOperands()) {
    Value origin = originOf(operand.get());
    auto call = origin.getDefiningOp<graph::CallKernelOp>();
    if (call && call->getBlock() == update->getBlock() && !places.contains(origin) &&
        bytesOf(origin.getType()) == bytesOf(operand.get().getType())) {
      places[origin] = {Space::Slot, slots};
      plan.parts[slots++] = {whole, type, offset, update, operand.getOperandNumber()};
    }
    offset = offset + bytesOf(operand.get().getType());
  }
}

void MemoryPlanner::planConstant(graph::ConstantOp constant) {
  if (constant->use_empty())
    return;
  int64_t begin = planSegment(cast<RankedTensorType>(constant.getType()));
  plan.segments[constant] = begin;
  places[constant] = {Space::Segment, begin};
}

int64_t MemoryPlanner::planSegment(RankedTensorType type) {
  int64_t bytes = type.getNumElements() * elementBytes(type.getElementType());
  return std::exchange(weightBytes, llvm::alignTo(weightBytes + bytes, PERPEND_ALIGNMENT));
}

/// Loading a program brings its constants to the memories that read them.
void MemoryPlanner::planTransfer(TransferOp transfer) {
  if (places.lookup(originOf(transfer.getValue())).space == Space::Segment)
    places[transfer] = placeOf(transfer.getValue());
  else
    planOperands(transfer, transfer->getResults());
}

void MemoryPlanner::planCall(graph::CallKernelOp call) {
  planOperands(call, call.getOutputs());
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  SmallVector<func::FuncOp, 2> functions = tile::variantsOf(kernel);
  functions.push_back(kernel);
  for (func::FuncOp function : functions)
    if (!function->hasAttr(tile::numberAttribute))
      function->setAttr(tile::numberAttribute, Builder(main.getContext()).getI64IntegerAttr(kernelCount++));
  if (llvm::any_of(functions, [](func::FuncOp function) { return tile::hasScratch(function); }))
    planScratch(call, functions);
}

/// Scratch memory lives during the call and is as large as the most demanding function needs, of which one runs. As in
/// roomFor(), extents may be negative if the call does not run.
void MemoryPlanner::planScratch(graph::CallKernelOp call, ArrayRef<func::FuncOp> functions) {
  func::FuncOp kernel = functions.back();
  llvm::StringMap<SymbolicInt> values = graph::symbolsAt(call, kernel);
  SymbolicInt bytes = 0, parts = 0;
  for (func::FuncOp function : functions)
    if (tile::hasScratch(function)) {
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
  StringRef memory = scratchMemoryOf(call, machine);
  if (memory.empty()) {
    call.emitError("kernel '") << kernel.getSymName() << "' needs scratch memory, but there is no memory that its "
                               << "machine both reads and writes" << graph::ErrorKind::Unsupported
                               << graph::Hint("let the host run it");
    hasFailed = true;
    return;
  }
  Storage place = createBuffer(graph::mentionsAny({bytes, parts}, dataSymbols), bytes, memory);
  if (place.space == Space::Arena)
    plan.arena.back().parts = parts;
  plan.scratch[call] = place;
}

/// For operators without regions: plans each operand, then each result.
void MemoryPlanner::planOperands(Operation *op, ValueRange results) {
  SmallVector<Storage> list;
  placeOperands(op, list);
  for (Value result : results)
    list.push_back(placeResult(result));
  plan.values[op] = list;
}

void MemoryPlanner::planIf(graph::IfOp op) {
  SmallVector<Storage> list;
  placeOperands(op, list);
  SmallVector<Target> targets;
  for (Value result : op.getResults()) {
    list.push_back(placeResult(result));
    targets.push_back({list.back(), result.getType(), true});
  }
  plan.values[op] = list;
  for (Region *region : op.getRegions())
    planBlock(region->front(), targets);
}

/// A carried value and its successor. If both have a fixed size, two slots hold their addresses, which swap.
Target MemoryPlanner::planCarried(graph::LoopOp loop, unsigned number, SmallVector<Storage> &spares) {
  Value argument = loop.carriedArguments()[number], result = loop.carriedResults()[number];
  Storage place = places.at(result);
  if (originOf(loop.yieldedCarried()[number]) == argument) { // it never changes
    places[argument] = place;
    spares.push_back(place);
    return {place, result.getType(), false};
  }
  spares.push_back(createBuffer(place.space == Space::Room, roomFor(result)));
  if (place.space == Space::Room) {
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
  SmallVector<Storage> list, arguments, spares;
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
  plan.values[loop] = list;
  auto yielded = ArrayRef<Target>(targets).drop_front(loop.getCondition() ? 1 : 0);
  plan.loops[loop] = {arguments, llvm::map_to_vector(yielded, [](const Target &target) { return target.place; }),
                      spares};
  planBlock(loop.getBody().front(), targets);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether the operator that computes a block can write to the state, into which the update puts the block. Until then
/// nothing may read what lies there.
bool MemoryPlanner::mayFill(graph::UpdateInterface update, const graph::UpdatedBlock &block) {
  Value base = originOf(update->getOperand(0)), value = update->getOperand(block.operand), origin = originOf(value);
  auto producer = origin.getDefiningOp<graph::CallKernelOp>();
  graph::Shape shape = graph::shapeOf(update->getOperand(0));
  bool isContiguous = llvm::all_of(ArrayRef(shape).take_front(update.updatedDim()),
                                   [](const SymbolicInt &extent) { return extent == SymbolicInt(1); });
  if (!producer || !isContiguous || places.contains(origin) || producer->getBlock() != update->getBlock() ||
      graph::mentionsAny(block.offset, dataSymbols) || dependsOnData(value.getType()))
    return false;
  if ((block.offset - shape[update.updatedDim()]).knownNonNegative())
    return true; // behind all that the state has
  if (Operation *before = base.getDefiningOp(); before && !before->isBeforeInBlock(producer))
    return false;
  bool isReadMeanwhile = llvm::any_of(base.getUses(), [&](OpOperand &use) {
    Operation *reader = update->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return reader != update && (graph::isInOperandsMemory(reader) || !reader->isBeforeInBlock(producer));
  });
  return !isReadMeanwhile && origin.hasOneUse() && value.hasOneUse();
}

void MemoryPlanner::planBlocks(graph::UpdateInterface update, const graph::State &state) {
  if (update.positionsOperand())
    return;
  auto type = cast<RankedTensorType>(update->getResult(0).getType());
  graph::Shape shape = graph::shapeOf(type);
  SymbolicInt row = graph::elementCount(ArrayRef(shape).drop_front(update.updatedDim() + 1)) *
                    SymbolicInt(elementBytes(type.getElementType()));
  for (const graph::UpdatedBlock &block : update.updatedBlocks()) {
    if (!mayFill(update, block))
      continue;
    places[originOf(update->getOperand(block.operand))] = {Space::Slot, slots};
    plan.parts[slots++] = {{Space::Output, state.result}, type, block.offset * row, update, block.operand};
  }
}

void MemoryPlanner::planStates() {
  for (const graph::State &state : graph::statesOf(main)) {
    if (state.initial)
      plan.initial[state.name] = planSegment(cast<RankedTensorType>(state.initial.getType()));
    if (!main.getResultAttr(state.result, graph::inPlaceAttribute))
      continue;
    auto updates = graph::updatesOf(main, state);
    for (graph::UpdateInterface update : *updates) {
      places[update->getResult(0)] = {Space::Output, state.result};
      planBlocks(update, state);
    }
  }
}

LogicalResult MemoryPlanner::run() {
  for (BlockArgument argument : main.getArguments())
    places[argument] = {Space::Input, argument.getArgNumber()};
  SmallVector<Target> targets;
  for (auto [number, type] : llvm::enumerate(main.getResultTypes()))
    targets.push_back({{dependsOnData(type) ? Space::Room : Space::Output, static_cast<int64_t>(number)}, type, true});
  plan.rooms = main.getNumResults();
  planStates();
  planBlock(main.getBody().front(), targets);
  return failure(hasFailed);
}

FailureOr<MemoryPlan> MemoryPlan::of(func::FuncOp main, const target::Machine &machine) {
  MemoryPlanner planner(main, machine);
  if (failed(planner.run()))
    return failure();
  return std::move(planner.plan);
}
