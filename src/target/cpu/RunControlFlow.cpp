//===- RunControlFlow.cpp - branches and loops of perpend_run -------------===//
//
// A loop:
//
//   start:   copies initial values to the places of the results
//   header:  has the iteration's number, the condition, the bytes of appended elements
//   body:    runs the operators; copies values that were not computed in their destination;
//            updates symbols; swaps the places of carried values
//   end:     after an odd number of iterations, the results are in the other places
//
//===----------------------------------------------------------------------===//

#include "target/cpu/RunEmitter.h"
#include "tile/Attributes.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::SymbolicInt;
using tile::Place;
using tile::Space;

void RunEmitter::emitIf(graph::IfOp op) {
  SmallVector<Place> places = placesIn(op);
  SmallVector<StringAttr> follow = op.definedSymbols();
  Block *otherwise = f.function.addBlock(), *after = f.function.addBlock();
  f.proceedIf(loadFlag(places[0]), otherwise);
  for (Region *region : op.getRegions()) {
    Operation *yield = region->front().getTerminator();
    emitOperators(region->front());
    checkExtents(op, yield->getOperandTypes(), op->getResultTypes(), follow);
    for (auto [target, source, type] :
         llvm::zip_equal(ArrayRef(places).drop_front(), placesIn(yield), yield->getOperandTypes()))
      copy(target, source, type);
    followExtents(op, yield->getOperandTypes(), op->getResultTypes(), follow);
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(region == &op.getThenRegion() ? otherwise : after);
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

struct RunEmitter::Loop {
  explicit Loop(graph::LoopOp op)
      : op(op), body(op.getBody().front()), yield(body.getTerminator()), follow(op.definedSymbols()),
        places(placesIn(op)), arguments(placesIn(op, tile::argumentsAttribute)),
        targets(placesIn(op, tile::targetsAttribute)), spares(placesIn(op, tile::sparesAttribute)),
        sources(placesIn(yield)) {
    count = op.getCount().values()[0];
    if (!op.countIsKnown()) // the header sets it
      llvm::erase_if(follow, [&](StringAttr name) { return SymbolicInt::symbol(name.str()) == count; });
    sources.erase(sources.begin(), sources.begin() + (op.getCondition() ? 1 : 0));
  }

  Place resultPlace(unsigned number) const { return places[op->getNumOperands() + number]; }
  Place argumentPlace(unsigned number) const { return arguments[number + 1]; }
  /// Whether a carried value swaps places; otherwise it does not change.
  bool changes(unsigned number) const { return !(argumentPlace(number) == targets[number]); }
  unsigned scanNumber(unsigned element) { return op.carriedCount() + element; }
  /// Whether an element's address is known before the element is computed.
  bool isAddressed(unsigned element) {
    unsigned number = scanNumber(element);
    return targets[number].space == Space::Slot && !(targets[number] == resultPlace(number));
  }
  bool isAppended(unsigned element) { return !isAddressed(element); }

  graph::LoopOp op;
  Block &body;
  Operation *yield;
  SmallVector<StringAttr> follow; ///< symbols that follow the extents of carried values
  SmallVector<Place> places, arguments, targets, spares, sources;
  SymbolicInt count;
  Value limit, condition;       ///< null if there is none
  Block *header = nullptr;      ///< arguments: iteration, condition (if any), bytes of each appended result
  Value iteration;              ///< argument of the header
  SmallVector<Value> positions; ///< arguments of the header
  Block *after = nullptr;
};

static Type elementType(graph::LoopOp op, unsigned number) { return op.yieldedElements()[number].getType(); }

/// The type of a scan result: as many elements as there are iterations.
static Type stackedType(graph::LoopOp op, unsigned number) {
  auto element = cast<RankedTensorType>(elementType(op, number));
  graph::Shape shape = graph::shapeOf(element);
  shape.insert(shape.begin(), op.getCount().values()[0]);
  return graph::tensorType(shape, element.getElementType());
}

/// Whether a scan result is allocated before the first iteration.
static bool isWhole(graph::LoopOp op, Place place) { return place.space != Space::Growing || op.countIsKnown(); }

void RunEmitter::emitLoop(graph::LoopOp op) {
  Loop loop(op);
  startLoop(loop);
  emitHeader(loop);
  emitBody(loop);
  endLoop(loop);
}

/// Copies initial values and allocates memory for results.
void RunEmitter::startLoop(Loop &loop) {
  graph::LoopOp op = loop.op;
  unsigned operand = 0;
  if (op.getLimit())
    loop.limit = f.load(f.i64, addressOf(loop.places[operand++]), 0);
  if (op.getCondition())
    loop.condition = loadFlag(loop.places[operand++]);
  checkExtents(op, op.getInitial().getTypes(), op.carriedArguments().getTypes(), loop.follow);
  for (unsigned i = 0; i < op.carriedCount(); ++i) {
    copy(loop.resultPlace(i), loop.places[operand + i], op.getInitial()[i].getType());
    if (!loop.changes(i) || loop.targets[i].space != Space::Slot)
      continue;
    setSlot(loop.argumentPlace(i), addressOf(loop.resultPlace(i)));
    setSlot(loop.targets[i], addressOf(loop.spares[i]));
  }
  followExtents(op, op.getInitial().getTypes(), op.carriedArguments().getTypes(), loop.follow);
  for (StringAttr symbol : op.elementSymbols())
    setSymbol(symbol, f.integer(0));
  setSlot(loop.arguments[0], f.element(counters, f.i64, loop.arguments[0].number));
  for (unsigned i = 0; i < op.scanResults().size(); ++i) {
    Place place = loop.resultPlace(loop.scanNumber(i));
    if (loop.isAddressed(i))
      checkExtents(op, stackedType(op, i), op.scanResults()[i].getType(), op.definedSymbols());
    if (loop.isAddressed(i) && isWhole(op, place))
      prepare(place, stackedType(op, i));
    else if (place.space == Space::Growing)
      reserve(place, f.integer(0), f.integer(0));
  }
}

void RunEmitter::emitHeader(Loop &loop) {
  OpBuilder &b = f.builder;
  SmallVector<Value> initial{f.integer(0)};
  if (loop.condition)
    initial.push_back(loop.condition);
  for (unsigned i = 0; i < loop.op.scanResults().size(); ++i)
    if (loop.isAppended(i))
      initial.push_back(f.integer(0));
  Value count = loop.op.countIsKnown() ? evaluate(loop.count) : loop.limit;
  loop.header = f.function.addBlock();
  loop.after = f.function.addBlock();
  loop.header->addArguments(TypeRange(ValueRange(initial)), SmallVector<Location>(initial.size(), f.loc));
  b.create<cf::BranchOp>(f.loc, loop.header, initial);
  b.setInsertionPointToStart(loop.header);
  loop.iteration = loop.header->getArgument(0);
  llvm::append_range(loop.positions, loop.header->getArguments().drop_front(loop.condition ? 2 : 1));
  f.store(loop.iteration, counters, loop.arguments[0].number);
  if (!loop.op.countIsKnown())
    setSymbol(loop.count.str(), loop.iteration);
  Value goesOn = loop.condition ? Value(loop.header->getArgument(1)) : Value();
  if (count) {
    Value isInside = f.compare(arith::CmpIPredicate::slt, loop.iteration, count);
    goesOn = goesOn ? b.create<arith::AndIOp>(f.loc, goesOn, isInside).getResult() : isInside;
  }
  f.proceedIf(goesOn, loop.after);
}

/// Computes the addresses of this iteration's elements.
void RunEmitter::startElements(Loop &loop) {
  for (unsigned i = 0; i < loop.op.scanResults().size(); ++i) {
    if (loop.isAppended(i))
      continue;
    unsigned number = loop.scanNumber(i);
    Place place = loop.resultPlace(number);
    Value bytes = bytesOf(elementType(loop.op, i));
    Value position = f.builder.create<arith::MulIOp>(f.loc, loop.iteration, bytes);
    if (!isWhole(loop.op, place))
      reserve(place, f.builder.create<arith::AddIOp>(f.loc, position, bytes), position);
    setSlot(loop.targets[number], f.bytesAfter(addressOf(place), position));
  }
}

void RunEmitter::emitBody(Loop &loop) {
  graph::LoopOp op = loop.op;
  startElements(loop);
  emitOperators(loop.body);
  SmallVector<Value> next{f.builder.create<arith::AddIOp>(f.loc, loop.iteration, f.integer(1))};
  if (loop.condition)
    next.push_back(loadFlag(placesIn(loop.yield)[0]));
  TypeRange given = op.yieldedCarried().getTypes(), expected = op.carriedArguments().getTypes();
  checkExtents(op, given, expected, loop.follow);
  for (unsigned i = 0; i < op.carriedCount(); ++i)
    copy(loop.targets[i], loop.sources[i], given[i]);
  followElements(loop);
  unsigned appended = 0;
  for (unsigned i = 0; i < op.scanResults().size(); ++i) {
    Value position = loop.isAppended(i) ? loop.positions[appended++] : Value();
    storeElement(loop, i, position);
    if (position)
      next.push_back(position);
  }
  followExtents(op, given, expected, loop.follow);
  exchange(loop);
  f.builder.create<cf::BranchOp>(f.loc, loop.header, next);
  f.builder.setInsertionPointToStart(loop.after);
}

/// The first element determines the values of symbols; a different value later is an error.
void RunEmitter::followElements(Loop &loop) {
  graph::LoopOp op = loop.op;
  for (StringAttr symbol : op.elementSymbols()) {
    auto wanted = SymbolicInt::symbol(symbol.str());
    Value isFree = f.compare(arith::CmpIPredicate::eq, loop.iteration, f.integer(0));
    for (unsigned i = 0; i < op.scanResults().size(); ++i)
      for (auto [given, expected] : llvm::zip_equal(graph::shapeOf(cast<RankedTensorType>(stackedType(op, i))),
                                                    graph::shapeOf(op.scanResults()[i]))) {
        if (expected != wanted)
          continue;
        Value got = evaluate(given), isSame = f.compare(arith::CmpIPredicate::eq, got, evaluate(wanted));
        if (isFree)
          isSame = f.builder.create<arith::OrIOp>(f.loc, isSame, isFree);
        check(isSame, op, "expected elements of one shape for result " + Twine(loop.scanNumber(i)), got);
        setSymbol(symbol, got);
        isFree = Value();
      }
  }
}

/// `position` is where an appended element starts; advances to the next.
void RunEmitter::storeElement(Loop &loop, unsigned element, Value &position) {
  unsigned number = loop.scanNumber(element);
  Type type = elementType(loop.op, element);
  if (loop.isAddressed(element))
    return copy(loop.targets[number], loop.sources[number], type);
  checkExtents(loop.op, stackedType(loop.op, element), loop.op.scanResults()[element].getType(),
               loop.op.definedSymbols());
  OpBuilder &b = f.builder;
  Value bytes = bytesOf(type), before = b.create<arith::MulIOp>(f.loc, loop.iteration, bytes);
  check(f.compare(arith::CmpIPredicate::eq, before, position), loop.op,
        "expected elements of equal sizes for result " + Twine(number), bytes);
  Value end = b.create<arith::AddIOp>(f.loc, position, bytes);
  Place place = loop.resultPlace(number);
  if (place.space == Space::Growing)
    reserve(place, end, position);
  copyBytes(f.bytesAfter(addressOf(place), position), addressOf(loop.sources[number]), bytes);
  position = end;
}

static void swapWords(FunctionEmitter &f, Type type, Value a, int64_t aNumber, Value b, int64_t bNumber) {
  Value first = f.load(type, a, aNumber), second = f.load(type, b, bNumber);
  f.store(second, a, aNumber);
  f.store(first, b, bNumber);
}

/// Swaps the two words of growing buffers.
static void swapBuffers(FunctionEmitter &f, Value a, Value b) {
  swapWords(f, f.i64, a, 0, b, 0);
  swapWords(f, f.i64, a, 1, b, 1);
}

/// Swaps the places of carried values.
void RunEmitter::exchange(Loop &loop) {
  for (unsigned i = 0; i < loop.op.carriedCount(); ++i) {
    Place argument = loop.argumentPlace(i), target = loop.targets[i];
    if (!loop.changes(i))
      continue;
    if (target.space == Space::Slot)
      swapWords(f, f.pointer, slots, argument.number, slots, target.number);
    else
      swapBuffers(f, growingEntry(argument), growingEntry(target));
  }
}

/// Moves results to their places, and growing buffers back to theirs, so that the next run finds its memory as large as
/// now.
void RunEmitter::endLoop(Loop &loop) {
  graph::LoopOp op = loop.op;
  bool anyChanges = llvm::any_of(llvm::seq(0u, op.carriedCount()), [&](unsigned i) { return loop.changes(i); });
  if (anyChanges) {
    Value odd = f.builder.create<arith::AndIOp>(f.loc, loop.iteration, f.integer(1));
    Block *even = f.function.addBlock();
    f.proceedIf(f.compare(arith::CmpIPredicate::ne, odd, f.integer(0)), even);
    for (unsigned i = 0; i < op.carriedCount(); ++i) {
      if (!loop.changes(i))
        continue;
      if (loop.targets[i].space == Space::Growing)
        swapBuffers(f, growingEntry(loop.argumentPlace(i)), growingEntry(loop.targets[i]));
      copy(loop.resultPlace(i), loop.spares[i], op.carriedResults()[i].getType());
    }
    f.builder.create<cf::BranchOp>(f.loc, even);
    f.builder.setInsertionPointToStart(even);
  }
  checkExtents(op, op.carriedArguments().getTypes(), op.carriedResults().getTypes(), {});
  unsigned appended = 0;
  for (unsigned i = 0; i < op.scanResults().size(); ++i)
    if (loop.isAddressed(i)) {
      checkExtents(op, stackedType(op, i), op.scanResults()[i].getType(), {},
                   f.compare(arith::CmpIPredicate::eq, loop.iteration, f.integer(0)));
    } else {
      Value bytes = bytesOf(op.scanResults()[i].getType()), got = loop.positions[appended++];
      check(f.compare(arith::CmpIPredicate::eq, got, bytes), op,
            "expected elements that fill result " + Twine(loop.scanNumber(i)), got);
    }
}
