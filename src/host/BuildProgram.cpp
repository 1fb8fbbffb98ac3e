//===- BuildProgram.cpp - main as a host program ----------------------------===//
//
// Runs with a memory plan: writes main as launches, calls and copies on places,
// with the checks and the values of symbols that graph operators imply.
//
//===----------------------------------------------------------------------===//

#include "host/ProgramBuilder.h"

#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "host/BuildBinding.h"
#include "host/Devices.h"
#include "support/Inequality.h"
#include "tile/Attributes.h"
#include "tile/kernel/Buffers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;
using graph::shapeOf;

EntryOp perpend::host::buildProgram(func::FuncOp main, const MemoryPlan &plan, const target::Machine &machine) {
  return ProgramBuilder(main, plan, machine).run();
}

ProgramBuilder::ProgramBuilder(func::FuncOp main, const MemoryPlan &plan, const target::Machine &machine)
    : main(main), plan(plan), machine(machine), b(main.getContext()) {
  for (const std::string &name : graph::symbolsOf(main))
    symbols.insert(name);
  segments = llvm::range_size(main->getParentOfType<ModuleOp>().getOps<SegmentOp>()); // of other entries
}

EntryOp ProgramBuilder::run() {
  entry = createEntry();
  createStates();
  b.setInsertionPointToStart(&entry.getBody().front());
  buildBinding(b, main, entry);
  createMemory();
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments())
    places[argument] = entry.input(argument.getArgNumber());
  emitOperators(body);
  emitResults(body.getTerminator());
  b.create<ReturnOp>(main.getLoc());
  main.erase();
  return entry;
}

//===----------------------------------------------------------------------===//
// The entry and its memory
//===----------------------------------------------------------------------===//

EntryOp ProgramBuilder::createEntry() {
  std::vector<std::string> dataSymbols = graph::dataSymbolsOf(main);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Attribute> outputs;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    types.push_back(PlaceType::get(cast<RankedTensorType>(main.getArgumentTypes()[i])));
    attributes.push_back(main.getArgAttrDict(i));
  }
  for (auto [number, type] : llvm::enumerate(main.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (graph::mentionsAny(shapeOf(tensor), dataSymbols))
      types.push_back(RoomType::get(b.getContext()));
    else
      types.push_back(PlaceType::get(tensor));
    attributes.push_back(main.getResultAttrDict(number));
    outputs.push_back(TypeAttr::get(type));
  }
  b.setInsertionPoint(main);
  auto texts = [&](const std::vector<std::string> &names) {
    return b.getStrArrayAttr(
        llvm::to_vector(llvm::map_range(names, [](const std::string &name) { return StringRef(name); })));
  };
  auto created = b.create<EntryOp>(main.getLoc(), main.getSymName(), b.getFunctionType(types, {}), ArrayAttr(),
                                   ArrayAttr(), main.getNumArguments(), b.getArrayAttr(outputs),
                                   texts(graph::symbolsOf(main)), texts(dataSymbols));
  created.setAllArgAttrs(attributes);
  for (StringLiteral name :
       {graph::requirementsAttribute, graph::requirementSubjectsAttribute, graph::resultsAttribute})
    if (Attribute value = main->getAttr(name))
      created->setAttr(name, value);
  Block &body = created.getBody().emplaceBlock();
  body.addArguments(types, SmallVector<Location>(types.size(), main.getLoc()));
  return created;
}

/// The declaration of a state, which entries share: it has the rows that any of them reads.
StateOp ProgramBuilder::declared(const graph::State &state) {
  auto all = main->getParentOfType<ModuleOp>().getOps<StateOp>();
  for (StateOp op : all)
    if (op.getName() == state.name) {
      if (!state.readRows)
        op.removeReadsAttr();
      else if (op.getReads())
        op.setReads(std::max(static_cast<int64_t>(*op.getReads()), *state.readRows));
      return op;
    }
  std::string name = "s" + std::to_string(llvm::range_size(all));
  FlatSymbolRefAttr initially;
  if (state.initial) {
    SegmentOp segment = createSegment(main.getLoc(), plan.initial.lookup(state.name), state.initial);
    initially = FlatSymbolRefAttr::get(segment.getSymNameAttr());
  }
  b.setInsertionPoint(entry);
  return b.create<StateOp>(main.getLoc(), name, state.name, PlaceType::get(state.capacity),
                           state.growing ? b.getI64IntegerAttr(*state.growing) : IntegerAttr(),
                           state.readRows ? b.getI64IntegerAttr(*state.readRows) : IntegerAttr(), initially);
}

/// The arguments name their states, whose declarations have the rest.
void ProgramBuilder::createStates() {
  for (const graph::State &state : graph::statesOf(main)) {
    StringAttr name = declared(state).getSymNameAttr();
    for (unsigned argument : {state.argument, main.getNumArguments() + state.result}) {
      for (StringLiteral attribute :
           {graph::stateAttribute, graph::capacityAttribute, graph::initialAttribute, graph::readRowsAttribute})
        entry.removeArgAttr(argument, attribute);
      entry.setArgAttr(argument, stateAttribute, FlatSymbolRefAttr::get(name));
      if (entry.removeArgAttr(argument, graph::inPlaceAttribute))
        entry.setArgAttr(argument, inPlaceAttribute, b.getUnitAttr());
    }
  }
}

void ProgramBuilder::createMemory() {
  for (const PlannedBuffer &buffer : plan.arena) {
    auto type = MemoryType::get(b.getContext(), b.getStringAttr(buffer.memory));
    memories.push_back(b.create<BufferOp>(main.getLoc(), type, list(buffer.bytes), list(buffer.parts),
                                          DenseI64ArrayAttr(), IntegerAttr()));
    if (buffer.isPinned)
      memories.back().getDefiningOp()->setAttr(pinnedAttribute, b.getUnitAttr());
  }
  arenaPlaces.resize(memories.size());
  auto outputs = static_cast<int64_t>(main.getNumResults());
  for (int64_t i = 0; i < outputs; ++i)
    rooms.push_back(entry.output(static_cast<unsigned>(i)));
  for (int64_t i = outputs; i < plan.rooms; ++i)
    rooms.push_back(b.create<RoomOp>(main.getLoc(), RoomType::get(b.getContext()), i));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value ProgramBuilder::typedPlace(Location loc, Value source, RankedTensorType type, const SymbolicInt &offset) {
  auto place = dyn_cast<PlaceType>(source.getType());
  PlaceType wanted = PlaceType::get(type, place ? place.getMemory().getValue() : StringRef(hostMemory));
  if (source.getType() == wanted && offset == SymbolicInt(0))
    return source;
  return b.create<PlaceOp>(loc, wanted, source, list(offset));
}

Value ProgramBuilder::typedPlace(Location loc, Storage storage, RankedTensorType type) {
  switch (storage.space) {
  case Space::Input:
    return typedPlace(loc, entry.input(static_cast<unsigned>(storage.number)), type);
  case Space::Output:
    return typedPlace(loc, entry.output(static_cast<unsigned>(storage.number)), type);
  case Space::Arena: {
    // One place is the buffer's value, whatever its type is called later.
    Value &place = arenaPlaces[storage.number];
    if (place)
      return typedPlace(loc, place, type);
    return place = b.create<PlaceOp>(loc, PlaceType::get(type, plan.arena[storage.number].memory),
                                     memories[storage.number], list(0));
  }
  case Space::Slot:
    return slotPlace(loc, storage.number, type);
  case Space::Room:
    return b.create<ContentOp>(loc, PlaceType::get(type), roomOf(storage));
  case Space::Segment:
    break; // what is constant is not written
  }
  llvm_unreachable("storage that can be written");
}

/// A part has its place from its first use on.
Value ProgramBuilder::slotPlace(Location loc, int64_t slot, RankedTensorType type) {
  Value &place = slots[slot];
  if (place)
    return typedPlace(loc, place, type);
  const MemoryPlan::Part &part = plan.parts.at(slot);
  Value whole = part.whole.space == Space::Output ? entry.output(static_cast<unsigned>(part.whole.number))
                                                  : typedPlace(loc, part.whole, part.type);
  return place = typedPlace(loc, whole, type, part.offset);
}

Value ProgramBuilder::placeForWriting(Location loc, Storage storage, RankedTensorType type) {
  if (storage.space == Space::Room)
    return b.create<ReserveOp>(loc, PlaceType::get(type), roomOf(storage), ShapeAttr());
  return typedPlace(loc, storage, type);
}

void ProgramBuilder::copyTo(Location loc, Storage target, Storage source, Value value) {
  if (target == source)
    return;
  Value place = placeOf(value);
  b.create<CopyOp>(loc, place, placeForWriting(loc, target, cast<RankedTensorType>(value.getType())));
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

std::string ProgramBuilder::freshSymbol(StringRef prefix) {
  for (unsigned number = 0;; ++number)
    if (std::string name = (prefix + Twine(number)).str(); symbols.insert(name).second)
      return name;
}

void ProgramBuilder::set(Location loc, ArrayRef<std::string> names, ArrayRef<SymbolicInt> values) {
  SmallVector<StringRef> texts(names.begin(), names.end());
  b.create<SetOp>(loc, b.getStrArrayAttr(texts), ShapeAttr::get(b.getContext(), values));
}

std::string ProgramBuilder::read(Location loc, StringRef prefix, Value place) {
  std::string name = freshSymbol(prefix);
  b.create<ReadOp>(loc, b.getStringAttr(name), place);
  return name;
}

void ProgramBuilder::check(Location loc, const SymbolicInt &value, bool isEqual, const SymbolicInt &expected,
                           const Twine &message, const SymbolicInt &got, std::optional<SymbolicInt> unless) {
  b.create<CheckOp>(loc, list(value), b.getBoolAttr(isEqual), list(expected), list(got), b.getStringAttr(message),
                    unless ? list(*unless) : ShapeAttr());
}

namespace {
/// An extent that takes the place of another.
struct ExtentPair {
  unsigned value, dim;
  SymbolicInt given, expected;
  std::string text() const {
    return ("value " + Twine(value) + ", dimension " + Twine(dim) + ": expected " + expected.str()).str();
  }
};
} // namespace

static SmallVector<ExtentPair> pairsOf(TypeRange given, TypeRange expected) {
  SmallVector<ExtentPair> pairs;
  for (unsigned value = 0; value < given.size(); ++value) {
    graph::Shape from = shapeOf(cast<RankedTensorType>(given[value]));
    graph::Shape to = shapeOf(cast<RankedTensorType>(expected[value]));
    for (unsigned dim = 0; dim < from.size(); ++dim)
      pairs.push_back({value, dim, from[dim], to[dim]});
  }
  return pairs;
}

void ProgramBuilder::checkExtents(Location loc, TypeRange given, TypeRange expected, Names follow,
                                  std::optional<SymbolicInt> unless) {
  for (const ExtentPair &pair : pairsOf(given, expected))
    if (pair.given != pair.expected && !graph::mentionsAny(pair.expected, follow))
      check(loc, pair.given, /*isEqual=*/true, pair.expected, pair.text(), pair.given, unless);
}

void ProgramBuilder::followExtents(Location loc, TypeRange given, TypeRange expected, Names follow) {
  SmallVector<ExtentPair> pairs;
  for (const ExtentPair &pair : pairsOf(given, expected))
    if (graph::mentionsAny(pair.expected, follow))
      pairs.push_back(pair);
  std::vector<std::string> names;
  SmallVector<SymbolicInt> values;
  llvm::StringMap<SymbolicInt> defined;
  for (const ExtentPair &pair : pairs)
    for (StringAttr symbol : follow)
      if (pair.expected == SymbolicInt::symbol(symbol.str()) && defined.try_emplace(symbol, pair.given).second) {
        names.push_back(symbol.str());
        values.push_back(pair.given);
      }
  // Other given extents are compared behind the change, but computed before it.
  SmallVector<std::pair<ExtentPair, SymbolicInt>> compared;
  for (const ExtentPair &pair : pairs) {
    auto known = defined.find(pair.expected.str());
    if (known != defined.end() && known->second == pair.given)
      continue;
    std::string name = freshSymbol("extent");
    names.push_back(name);
    values.push_back(pair.given);
    compared.emplace_back(pair, SymbolicInt::symbol(name));
  }
  if (!names.empty())
    set(loc, names, values);
  for (auto &[pair, value] : compared)
    check(loc, value, /*isEqual=*/true, pair.expected, pair.text(), value);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void ProgramBuilder::emitOperators(Block &block) {
  for (Operation &op : block.without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](graph::ConstantOp constant) { emitConstant(constant); })
        .Case([&](TransferOp transfer) { emitTransfer(transfer); })
        .Case([&](graph::CallKernelOp call) { emitCall(call); })
        .Case([&](graph::CallLibraryOp call) { emitLibrary(call); })
        .Case([&](graph::UpdateInterface update) {
          update->hasAttr(graph::assembledAttribute) ? emitAssembled(update) : emitUpdate(update);
        })
        .Case([&](graph::MeasureOp measure) { emitMeasure(measure); })
        .Case([&](graph::RequireOp require) { emitRequire(require); })
        .Case([&](graph::IfOp op) { emitIf(op); })
        .Case([&](graph::LoopOp loop) { emitLoop(loop); })
        .Default([&](Operation *view) {
          if (graph::isInOperandsMemory(view))
            emitView(view);
        });
}

void ProgramBuilder::emitConstant(graph::ConstantOp constant) {
  auto found = plan.segments.find(constant);
  if (found == plan.segments.end())
    return; // not used
  SegmentOp segment = createSegment(constant.getLoc(), found->second, constant.getValue());
  constants[constant] = segment.getSymNameAttr();
  places[constant] = b.create<ConstantOp>(constant.getLoc(), PlaceType::get(cast<RankedTensorType>(constant.getType())),
                                          segment.getSymName());
}

SegmentOp ProgramBuilder::createSegment(Location loc, int64_t offset, ElementsAttr value) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entry);
  return b.create<SegmentOp>(loc, "w" + std::to_string(segments++), offset, value);
}

/// Whether an operator computes this operand where it is wanted.
bool ProgramBuilder::isFilled(OpOperand &operand) {
  Storage storage = plan.values.at(operand.getOwner())[operand.getOperandNumber()];
  auto part = plan.parts.find(storage.number);
  return storage.space == Space::Slot && part != plan.parts.end() && part->second.update == operand.getOwner() &&
         part->second.operand == operand.getOperandNumber();
}

void ProgramBuilder::emitAssembled(Operation *concat) {
  Value result = concat->getResult(0);
  Value whole = typedPlace(concat->getLoc(), plan.values.at(concat).back(), cast<RankedTensorType>(result.getType()));
  SymbolicInt offset = 0;
  for (OpOperand &operand : concat->getOpOperands()) {
    Value source = placeOf(operand.get());
    auto type = cast<PlaceType>(source.getType());
    if (!isFilled(operand))
      b.create<CopyOp>(concat->getLoc(), source, typedPlace(concat->getLoc(), whole, type.getTensor(), offset));
    offset = offset + type.bytes();
  }
  places[result] = whole;
}

/// What is not there yet is copied. Along the first dimension a block is contiguous, else it has rows.
void ProgramBuilder::emitUpdate(graph::UpdateInterface update) {
  Location loc = update.getLoc();
  ArrayRef<Storage> storages(plan.values.at(update));
  auto type = cast<RankedTensorType>(update->getResult(0).getType());
  Value whole = places[update->getResult(0)] = typedPlace(loc, storages.back(), type);
  if (auto positions = update.positionsOperand()) {
    Value block = update->getOperand(update.updatedBlocks().front().operand);
    b.create<CopySlicesOp>(loc, placeOf(block), placeOf(update->getOperand(*positions)), whole);
    return;
  }
  graph::Shape shape = shapeOf(type);
  SymbolicInt row = graph::elementCount(ArrayRef(shape).drop_front(update.updatedDim() + 1)) *
                    SymbolicInt(tile::elementBytes(type.getElementType()));
  SymbolicInt count = graph::elementCount(ArrayRef(shape).take_front(update.updatedDim()));
  for (const graph::UpdatedBlock &block : update.updatedBlocks()) {
    if (isFilled(update->getOpOperand(block.operand)))
      continue;
    Value source = placeOf(update->getOperand(block.operand));
    if (count == SymbolicInt(1))
      b.create<CopyOp>(loc, source,
                       typedPlace(loc, whole, cast<PlaceType>(source.getType()).getTensor(), block.offset * row));
    else
      b.create<CopyRowsOp>(loc, source, whole, list(count), list(block.offset * row),
                           list(shape[update.updatedDim()] * row));
  }
}

/// A constant is in each memory from the start.
void ProgramBuilder::emitTransfer(TransferOp transfer) {
  auto type = cast<RankedTensorType>(transfer.getType());
  Value origin = originOf(transfer.getValue());
  while (auto earlier = origin.getDefiningOp<TransferOp>())
    origin = originOf(earlier.getValue());
  if (auto named = constants.find(origin.getDefiningOp()); named != constants.end()) {
    auto whole = PlaceType::get(cast<RankedTensorType>(origin.getType()), transfer.getMemory());
    places[transfer] =
        typedPlace(transfer.getLoc(), b.create<ConstantOp>(transfer.getLoc(), whole, named->second), type);
    return;
  }
  Storage target = plan.values.at(transfer).back();
  Value source = placeOf(transfer.getValue());
  places[transfer] = placeForWriting(transfer.getLoc(), target, type);
  b.create<CopyOp>(transfer.getLoc(), source, places[transfer]);
}

/// A place in that of the operand.
void ProgramBuilder::emitView(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SymbolicInt first = graph::firstElementInOperand(op) * SymbolicInt(tile::elementBytes(type.getElementType()));
  if (!op->use_empty())
    places[op->getResult(0)] = typedPlace(op->getLoc(), placeOf(op->getOperand(0)), type, first);
}

void ProgramBuilder::emitCall(graph::CallKernelOp call) {
  ArrayRef<Storage> storages(plan.values.at(call));
  SmallVector<Value> inputs = llvm::map_to_vector(call.getInputs(), [&](Value value) { return placeOf(value); }),
                     outputs;
  for (auto [result, storage] : llvm::zip_equal(call.getOutputs(), storages.take_back(call.getNumResults()))) {
    outputs.push_back(placeForWriting(call.getLoc(), storage, cast<RankedTensorType>(result.getType())));
    places[result] = outputs.back();
  }
  Value scratch;
  if (auto found = plan.scratch.find(call); found != plan.scratch.end())
    scratch = found->second.space == Space::Room ? roomOf(found->second) : memories[found->second.number];
  auto launch = b.create<LaunchOp>(call.getLoc(), call.getKernelAttr(), inputs, outputs, scratch,
                                   ShapeAttr::get(b.getContext(), graph::symbolValuesAt(call)));
  const target::Machine &runner = runnerOf(call, machine);
  if (&runner == &machine)
    return;
  launch.setDevice(runner.name);
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  graph::Shape extents = kernel->getAttrOfType<ShapeAttr>(tile::extentAttribute).values();
  for (SymbolicInt &extent : extents)
    extent = extent.substitute(launch.symbolsOf(kernel));
  launch.setExtentsAttr(ShapeAttr::get(b.getContext(), extents));
}

void ProgramBuilder::emitLibrary(graph::CallLibraryOp call) {
  ArrayRef<Storage> storages(plan.values.at(call));
  ArrayRef<Storage> results = storages.take_back(call.getNumResults());
  SmallVector<Value> inputs = llvm::map_to_vector(call.getInputs(), [&](Value value) { return placeOf(value); }),
                     outputs;
  SmallVector<Attribute> types;
  for (auto [result, storage] : llvm::zip_equal(call.getOutputs(), results)) {
    auto type = cast<RankedTensorType>(result.getType());
    types.push_back(TypeAttr::get(type));
    outputs.push_back(storage.space == Space::Room ? roomOf(storage) : typedPlace(call.getLoc(), storage, type));
  }
  b.create<CallOp>(call.getLoc(), call.getFunctionAttr(), inputs, outputs, call.getParameters(), b.getArrayAttr(types),
                   call.getSymbols());
  for (auto [result, storage, output] : llvm::zip_equal(call.getOutputs(), results, outputs))
    places[result] = storage.space == Space::Room
                         ? typedPlace(call.getLoc(), storage, cast<RankedTensorType>(result.getType()))
                         : output;
}

void ProgramBuilder::emitMeasure(graph::MeasureOp measure) {
  b.create<ReadOp>(measure.getLoc(), measure.getSymbolAttr(), placeOf(measure.getCount()));
  auto symbol = SymbolicInt::symbol(measure.getSymbol());
  check(measure.getLoc(), symbol, /*isEqual=*/false, 0, "expected a size of at least 0 for " + measure.getSymbol(),
        symbol);
}

void ProgramBuilder::emitRequire(graph::RequireOp require) {
  SymbolicInt expression = require.getValue().values()[0];
  support::Inequality inequality(expression);
  check(require.getLoc(), expression, /*isEqual=*/false, 0, require.getMessage() + ": expected " + inequality.text,
        inequality.left);
}

void ProgramBuilder::emitResults(Operation *terminator) {
  ArrayRef<Storage> sources(plan.values.at(terminator));
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    if (entry.getArgAttr(entry.inputCount() + number, inPlaceAttribute))
      continue;
    bool isRoom = isa<RoomType>(entry.output(static_cast<unsigned>(number)).getType());
    copyTo(value.getLoc(), {isRoom ? Space::Room : Space::Output, static_cast<int64_t>(number)}, sources[number],
           value);
  }
}
