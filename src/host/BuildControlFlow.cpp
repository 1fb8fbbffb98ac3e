//===- BuildControlFlow.cpp - branches and loops of a host program ----------===//
//
// A loop:
//
//   before:  initial values into the storage of the results; memory for elements
//   body:    operators; copies where a value was not computed where it is wanted;
//            symbols follow; what was written and what was read change roles
//   behind:  results that an odd number of iterations left in the other storage
//            go to theirs
//
//===----------------------------------------------------------------------===//

#include "host/ProgramBuilder.h"

#include "graph/Shapes.h"
#include "graph/Symbols.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;
using graph::shapeOf;

static RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

void ProgramBuilder::emitIf(graph::IfOp op) {
  Location loc = op.getLoc();
  ArrayRef<Storage> targets = ArrayRef(plan.values.at(op)).drop_front();
  SmallVector<StringAttr> follow = op.definedSymbols();
  std::string condition = read(loc, "if", placeOf(op.getCondition()));
  for (auto [result, target] : llvm::zip_equal(op.getResults(), targets))
    if (target.space != Space::Room)
      places[result] = typedPlace(loc, target, tensorTypeOf(result));
  auto branch = b.create<IfOp>(loc, list(SymbolicInt::symbol(condition)));
  for (auto [region, emitted] : llvm::zip_equal(op.getRegions(), branch->getRegions())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&emitted.emplaceBlock());
    Operation *yield = region->front().getTerminator();
    emitOperators(region->front());
    checkExtents(loc, yield->getOperandTypes(), op->getResultTypes(), follow);
    for (auto [target, source, value] : llvm::zip_equal(targets, ArrayRef(plan.values.at(yield)), yield->getOperands()))
      copyTo(loc, target, source, value);
    followExtents(loc, yield->getOperandTypes(), op->getResultTypes(), follow);
  }
  for (auto [result, target] : llvm::zip_equal(op.getResults(), targets))
    if (target.space == Space::Room)
      places[result] = typedPlace(loc, target, tensorTypeOf(result));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

struct ProgramBuilder::Loop {
  Loop(graph::LoopOp op, const MemoryPlan &plan)
      : op(op), loc(op.getLoc()), yield(op.getBody().front().getTerminator()), follow(op.definedSymbols()),
        storages(plan.values.at(op)), planned(plan.loops.at(op)), sources(plan.values.at(yield)) {
    count = op.getCount().values()[0];
    if (!op.countIsKnown()) // the number of iterations
      llvm::erase_if(follow, [&](StringAttr name) { return SymbolicInt::symbol(name.str()) == count; });
    sources.erase(sources.begin(), sources.begin() + (op.getCondition() ? 1 : 0));
  }

  Storage result(unsigned number) const { return storages[op->getNumOperands() + number]; }
  Storage argument(unsigned number) const { return planned.arguments[number + 1]; }
  Storage target(unsigned number) const { return planned.targets[number]; }
  /// Whether the storages of a carried value change roles; else it stays as it is.
  bool changes(unsigned number) const { return !(argument(number) == target(number)); }
  unsigned scanNumber(unsigned element) { return op.carriedCount() + element; }
  /// Whether an element's place is known before it is computed; else it is appended.
  bool isAddressed(unsigned element) {
    unsigned number = scanNumber(element);
    return target(number).space == Space::Slot && !(target(number) == result(number));
  }
  /// Whether all elements of a scan result have their place before the first iteration.
  bool isWhole(unsigned element) { return result(scanNumber(element)).space != Space::Room || op.countIsKnown(); }
  RankedTensorType elementType(unsigned element) { return tensorTypeOf(op.yieldedElements()[element]); }
  RankedTensorType resultType(unsigned number) { return tensorTypeOf(op->getResult(number)); }
  /// The type of so many elements.
  RankedTensorType stackedType(unsigned element, const SymbolicInt &rows) {
    graph::Shape shape = shapeOf(elementType(element));
    shape.insert(shape.begin(), rows);
    return graph::tensorType(shape, elementType(element).getElementType());
  }
  SymbolicInt elementBytes(unsigned element) { return PlaceType::get(elementType(element)).bytes(); }

  graph::LoopOp op;
  Location loc;
  Operation *yield;
  SmallVector<StringAttr> follow; ///< extents of carried values
  MemoryPlan::Storages storages;
  MemoryPlan::Loop planned;
  MemoryPlan::Storages sources; ///< of the yielded values, without the condition
  SymbolicInt count;
  std::string iteration, condition;
  std::optional<SymbolicInt> below;
  SmallVector<std::string> ends; ///< of each appended result: the bytes so far
  LoopOp emitted;
  SmallVector<Value> initial; ///< for each carried value that changes two: where it is, where the next one goes
};

void ProgramBuilder::emitLoop(graph::LoopOp op) {
  Loop loop(op, plan);
  startLoop(loop);
  carry(loop);
  std::vector<Value> outerRooms = rooms;
  {
    OpBuilder::InsertionGuard guard(b);
    startBody(loop);
    emitOperators(op.getBody().front());
    endBody(loop);
  }
  rooms = outerRooms;
  endLoop(loop);
}

/// Initial values and memory for results.
void ProgramBuilder::startLoop(Loop &loop) {
  graph::LoopOp op = loop.op;
  unsigned operand = 0;
  if (op.countIsKnown()) {
    loop.iteration = freshSymbol("iteration");
    loop.below = loop.count;
  } else {
    std::set<std::string> names; // one: the count is a symbol
    loop.count.symbols(names);
    loop.iteration = *names.begin();
  }
  if (op.getLimit()) {
    loop.below = SymbolicInt::symbol(read(loop.loc, "limit", placeOf(op.getLimit())));
    ++operand;
  }
  if (op.getCondition()) {
    loop.condition = read(loop.loc, "while", placeOf(op.getCondition()));
    ++operand;
  }
  checkExtents(loop.loc, op.getInitial().getTypes(), op.carriedArguments().getTypes(), loop.follow);
  for (unsigned i = 0; i < op.carriedCount(); ++i)
    copyTo(loop.loc, loop.result(i), loop.storages[operand + i], op.getInitial()[i]);
  followExtents(loop.loc, op.getInitial().getTypes(), op.carriedArguments().getTypes(), loop.follow);
  for (StringAttr symbol : op.elementSymbols())
    set(loop.loc, {symbol.str()}, {SymbolicInt(0)});
  for (unsigned i = 0; i < op.scanResults().size(); ++i)
    startScan(loop, i);
}

void ProgramBuilder::startScan(Loop &loop, unsigned element) {
  Storage storage = loop.result(loop.scanNumber(element));
  if (!loop.isAddressed(element)) {
    loop.ends.push_back(freshSymbol("end"));
    set(loop.loc, {loop.ends.back()}, {SymbolicInt(0)});
  } else {
    checkExtents(loop.loc, loop.stackedType(element, loop.count), loop.op.scanResults()[element].getType(),
                 loop.op.definedSymbols());
  }
  if (storage.space != Space::Room) {
    typedPlace(loop.loc, storage, loop.resultType(loop.scanNumber(element))); // outside of the body
    return;
  }
  bool isReserved = loop.isAddressed(element) && loop.isWhole(element);
  auto none = RankedTensorType::get({0}, loop.elementType(element).getElementType());
  placeForWriting(loop.loc, storage, isReserved ? loop.stackedType(element, loop.count) : none);
}

void ProgramBuilder::carry(Loop &loop) {
  graph::LoopOp op = loop.op;
  for (unsigned i = 0; i < op.carriedCount(); ++i) {
    if (!loop.changes(i))
      continue;
    Storage spare = loop.planned.spares[i];
    RankedTensorType type = tensorTypeOf(op.carriedArguments()[i]);
    bool isRoom = loop.target(i).space == Space::Room;
    for (Storage storage : {loop.result(i), spare})
      loop.initial.push_back(isRoom ? roomOf(storage) : typedPlace(loop.loc, storage, type));
  }
  loop.emitted =
      b.create<LoopOp>(loop.loc, TypeRange(ValueRange(loop.initial)), b.getStringAttr(loop.iteration),
                       loop.below ? list(*loop.below) : ShapeAttr(),
                       loop.condition.empty() ? ShapeAttr() : list(SymbolicInt::symbol(loop.condition)), loop.initial);
}

void ProgramBuilder::startBody(Loop &loop) {
  graph::LoopOp op = loop.op;
  Block &body = loop.emitted.getBody().emplaceBlock();
  SmallVector<Type> types(ValueRange(loop.initial).getTypes());
  body.addArguments(types, SmallVector<Location>(types.size(), loop.loc));
  b.setInsertionPointToStart(&body);
  Value number = op.getBody().getArgument(0);
  if (!number.use_empty())
    places[number] =
        b.create<ScalarOp>(loop.loc, PlaceType::get(tensorTypeOf(number)), list(SymbolicInt::symbol(loop.iteration)));
  unsigned next = 0;
  for (unsigned i = 0; i < op.carriedCount(); ++i) {
    Value argument = op.carriedArguments()[i];
    if (!loop.changes(i)) {
      places[argument] = typedPlace(loop.loc, loop.argument(i), tensorTypeOf(argument));
      continue;
    }
    Value current = body.getArgument(next++), following = body.getArgument(next++);
    if (loop.target(i).space == Space::Room) {
      rooms[loop.argument(i).number] = current;
      rooms[loop.target(i).number] = following;
      places[argument] = typedPlace(loop.loc, loop.argument(i), tensorTypeOf(argument));
    } else {
      places[argument] = current;
      slots[loop.target(i).number] = following;
    }
  }
  startElements(loop);
}

/// Places of this iteration's elements.
void ProgramBuilder::startElements(Loop &loop) {
  auto iteration = SymbolicInt::symbol(loop.iteration);
  for (unsigned i = 0; i < loop.op.scanResults().size(); ++i) {
    if (!loop.isAddressed(i))
      continue;
    unsigned number = loop.scanNumber(i);
    Value all = loop.isWhole(i) ? typedPlace(loop.loc, loop.result(number), loop.stackedType(i, loop.count))
                                : b.create<ReserveOp>(loop.loc, PlaceType::get(loop.stackedType(i, iteration + 1)),
                                                      roomOf(loop.result(number)), list(iteration));
    slots[loop.target(number).number] =
        typedPlace(loop.loc, all, loop.elementType(i), iteration * loop.elementBytes(i));
  }
}

void ProgramBuilder::endBody(Loop &loop) {
  graph::LoopOp op = loop.op;
  if (Value condition = op.yieldedCondition())
    b.create<ReadOp>(loop.loc, b.getStringAttr(loop.condition), placeOf(condition));
  TypeRange given = op.yieldedCarried().getTypes(), expected = op.carriedArguments().getTypes();
  checkExtents(loop.loc, given, expected, loop.follow);
  for (unsigned i = 0; i < op.carriedCount(); ++i)
    copyTo(loop.loc, loop.target(i), loop.sources[i], op.yieldedCarried()[i]);
  followElements(loop);
  for (unsigned i = 0; i < op.scanResults().size(); ++i)
    storeElement(loop, i);
  followExtents(loop.loc, given, expected, loop.follow);
  SmallVector<Value> yielded(loop.emitted.getBody().getArguments());
  for (size_t i = 0; i < yielded.size(); i += 2)
    std::swap(yielded[i], yielded[i + 1]);
  b.create<YieldOp>(loop.loc, yielded);
}

/// The first element gives symbols their values; another value later is an error.
void ProgramBuilder::followElements(Loop &loop) {
  graph::LoopOp op = loop.op;
  for (StringAttr symbol : op.elementSymbols()) {
    auto wanted = SymbolicInt::symbol(symbol.str());
    std::optional<SymbolicInt> unless = SymbolicInt::symbol(loop.iteration);
    for (unsigned i = 0; i < op.scanResults().size(); ++i)
      for (auto [given, expected] :
           llvm::zip_equal(shapeOf(loop.stackedType(i, loop.count)), shapeOf(op.scanResults()[i]))) {
        if (expected != wanted)
          continue;
        check(loop.loc, given, /*isEqual=*/true, wanted,
              "expected elements of one shape for result " + Twine(loop.scanNumber(i)), given, unless);
        set(loop.loc, {symbol.str()}, {given});
        unless.reset();
      }
  }
}

void ProgramBuilder::storeElement(Loop &loop, unsigned element) {
  unsigned number = loop.scanNumber(element);
  Value value = loop.op.yieldedElements()[element];
  if (loop.isAddressed(element))
    return copyTo(loop.loc, loop.target(number), loop.sources[number], value);
  checkExtents(loop.loc, loop.stackedType(element, loop.count), loop.op.scanResults()[element].getType(),
               loop.op.definedSymbols());
  unsigned appended = 0;
  for (unsigned i = 0; i < element; ++i)
    appended += !loop.isAddressed(i);
  auto iteration = SymbolicInt::symbol(loop.iteration), end = SymbolicInt::symbol(loop.ends[appended]);
  SymbolicInt bytes = loop.elementBytes(element), before = iteration * bytes;
  check(loop.loc, before, /*isEqual=*/true, end, "expected elements of equal sizes for result " + Twine(number), bytes);
  Storage storage = loop.result(number);
  RankedTensorType stacked = loop.stackedType(element, iteration + 1);
  Value all = storage.space == Space::Room
                  ? b.create<ReserveOp>(loop.loc, PlaceType::get(stacked), roomOf(storage), list(iteration))
                  : typedPlace(loop.loc, storage, loop.resultType(number));
  b.create<CopyOp>(loop.loc, placeOf(value), typedPlace(loop.loc, all, loop.elementType(element), before));
  set(loop.loc, {loop.ends[appended]}, {end + bytes});
}

/// Results to their storages.
void ProgramBuilder::endLoop(Loop &loop) {
  graph::LoopOp op = loop.op;
  unsigned next = 0;
  for (unsigned i = 0; i < op.carriedCount(); ++i) {
    Storage storage = loop.result(i);
    if (loop.changes(i)) {
      Value last = loop.emitted.getResult(next);
      next += 2;
      if (storage.space == Space::Room)
        b.create<ExchangeOp>(loop.loc, last, roomOf(storage));
      else
        b.create<CopyOp>(loop.loc, last, typedPlace(loop.loc, storage, tensorTypeOf(op.carriedArguments()[i])));
    }
    places[op->getResult(i)] = typedPlace(loop.loc, storage, loop.resultType(i));
  }
  checkExtents(loop.loc, op.carriedArguments().getTypes(), op.carriedResults().getTypes(), {});
  unsigned appended = 0;
  for (unsigned i = 0; i < op.scanResults().size(); ++i) {
    unsigned number = loop.scanNumber(i);
    places[op->getResult(number)] = typedPlace(loop.loc, loop.result(number), loop.resultType(number));
    if (loop.isAddressed(i)) {
      checkExtents(loop.loc, loop.stackedType(i, loop.count), op.scanResults()[i].getType(), {},
                   SymbolicInt::symbol(loop.iteration));
      continue;
    }
    auto end = SymbolicInt::symbol(loop.ends[appended++]);
    check(loop.loc, end, /*isEqual=*/true, PlaceType::get(loop.resultType(number)).bytes(),
          "expected elements that fill result " + Twine(number), end);
  }
}
