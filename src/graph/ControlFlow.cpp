//===- ControlFlow.cpp - operators with regions, and sizes from data ------===//
//
// Verifiers and accessors of measure, require, if and loop. docs/decisions/0004
// has their rules.
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"

using namespace mlir;
using namespace perpend::graph;

static bool isOneElement(Value value, unsigned bits) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.hasStaticShape() && type.getNumElements() == 1 && type.getElementType().isInteger(bits);
}

static SmallVector<StringAttr> namesIn(ArrayAttr symbols) {
  return llvm::map_to_vector(symbols.getAsRange<StringAttr>(), [](StringAttr name) { return name; });
}

static bool isExtentOf(StringAttr symbol, TypeRange types) {
  return llvm::any_of(types, [&](Type type) {
    return llvm::is_contained(shapeOf(cast<RankedTensorType>(type)), SymbolicInt::symbol(symbol.str()));
  });
}

/// Whether a value of type `given` can replace one of type `wanted`, in which extents that are `symbols` take its
/// extents.
static bool fits(Type given, Type wanted, ArrayRef<StringAttr> symbols) {
  auto from = dyn_cast<RankedTensorType>(given), to = dyn_cast<RankedTensorType>(wanted);
  if (!from || !to || from.getElementType() != to.getElementType() || from.getRank() != to.getRank())
    return false;
  for (auto [extent, expected] : llvm::zip(shapeOf(from), shapeOf(to))) {
    bool follows = llvm::any_of(
        symbols, [expected = expected](StringAttr symbol) { return expected == SymbolicInt::symbol(symbol.str()); });
    if (!follows && provablyDiffer(extent, expected))
      return false;
  }
  return true;
}

static bool allFit(TypeRange given, TypeRange wanted, ArrayRef<StringAttr> symbols) {
  return given.size() == wanted.size() && llvm::all_of(llvm::zip(given, wanted), [&](auto pair) {
           return fits(std::get<0>(pair), std::get<1>(pair), symbols);
         });
}

//===----------------------------------------------------------------------===//
// measure, require
//===----------------------------------------------------------------------===//

SmallVector<StringAttr> MeasureOp::definedSymbols() { return {getSymbolAttr()}; }

LogicalResult MeasureOp::verify() {
  if (!isOneElement(getCount(), 64))
    return emitOpError("C1: expected one element of type i64, got ") << getCount().getType();
  std::optional<SymbolicInt> parsed = SymbolicInt::parse(getSymbol());
  if (!parsed || *parsed != SymbolicInt::symbol(getSymbol().str()))
    return emitOpError("C2: expected the name of a symbol, got '") << getSymbol() << "'";
  return success();
}

LogicalResult RequireOp::verify() {
  if (getValue().getDims().size() != 1)
    return emitOpError("C1: expected one expression, got ") << getValue().getDims().size();
  return success();
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

SmallVector<StringAttr> IfOp::definedSymbols() { return namesIn(getSymbols()); }

LogicalResult IfOp::verify() {
  if (!isOneElement(getCondition(), 1))
    return emitOpError("C1: expected one element of type i1, got ") << getCondition().getType();
  SmallVector<StringAttr> symbols = definedSymbols();
  for (Region *region : getRegions()) {
    auto yield = dyn_cast<YieldOp>(region->front().getTerminator());
    if (!yield || !allFit(yield.getValues().getTypes(), getResultTypes(), symbols))
      return emitOpError("C2: a branch yields other types than the results");
  }
  for (StringAttr symbol : symbols)
    if (!isExtentOf(symbol, getResultTypes()))
      return emitOpError("C3: the symbol ") << symbol << " is no extent of a result";
  return success();
}

//===----------------------------------------------------------------------===//
// loop
//===----------------------------------------------------------------------===//

SmallVector<StringAttr> LoopOp::definedSymbols() { return namesIn(getSymbols()); }

Value LoopOp::yieldedCondition() { return getCondition() ? getBody().front().getTerminator()->getOperand(0) : Value(); }

ValueRange LoopOp::yieldedCarried() {
  return ValueRange(getBody().front().getTerminator()->getOperands()).slice(getCondition() ? 1 : 0, carriedCount());
}

ValueRange LoopOp::yieldedElements() {
  return ValueRange(getBody().front().getTerminator()->getOperands())
      .drop_front((getCondition() ? 1 : 0) + carriedCount());
}

SmallVector<StringAttr> LoopOp::elementSymbols() {
  SmallVector<StringAttr> names = definedSymbols();
  llvm::erase_if(names, [&](StringAttr name) {
    return isExtentOf(name, carriedArguments().getTypes()) ||
           (!countIsKnown() && getCount().values()[0] == SymbolicInt::symbol(name.str()));
  });
  return names;
}

/// C4: scan results stack the elements.
static bool stacks(Type element, Type result, const SymbolicInt &count, ArrayRef<StringAttr> symbols) {
  auto type = cast<RankedTensorType>(element);
  Shape shape = shapeOf(type);
  shape.insert(shape.begin(), count);
  return fits(tensorType(shape, type.getElementType()), result, symbols);
}

static LogicalResult verifyBody(LoopOp op, ArrayRef<StringAttr> symbols) {
  TypeRange arguments(op.getBody().getArgumentTypes());
  auto iteration = RankedTensorType::get({}, IntegerType::get(op.getContext(), 64));
  if (arguments.empty() || arguments.front() != iteration ||
      !allFit(op.getInitial().getTypes(), arguments.drop_front(), symbols))
    return op.emitOpError("C2: expected body arguments for the iteration and the carried values");
  auto yield = dyn_cast<YieldOp>(op.getBody().front().getTerminator());
  size_t expected = op->getNumResults() + (op.getCondition() ? 1 : 0);
  if (!yield || yield->getNumOperands() != expected)
    return op.emitOpError("C3: the body must yield ") << expected << " values";
  if (op.getCondition() && !isOneElement(op.yieldedCondition(), 1))
    return op.emitOpError("C3: the yielded condition must have one element of type i1");
  if (!allFit(op.yieldedCarried().getTypes(), arguments.drop_front(), symbols))
    return op.emitOpError("C3: the yielded values are not those carried");
  return success();
}

static LogicalResult verifyCount(LoopOp op, ArrayRef<StringAttr> symbols) {
  if (op.getCount().getDims().size() != 1)
    return op.emitOpError("C5: expected one count");
  bool isDefined = llvm::is_contained(symbols, op.getCount().getDims()[0]);
  if (isDefined == op.countIsKnown())
    return op.emitOpError("C5: the count is an expression, or with a limit or condition a symbol of this loop");
  for (StringAttr symbol : symbols)
    if (symbol != op.getCount().getDims()[0] && !isExtentOf(symbol, op.getBody().getArgumentTypes()) &&
        !isExtentOf(symbol, op.scanResults().getTypes()))
      return op.emitOpError("C6: the symbol ") << symbol << " is no extent of a carried value or of an element";
  return success();
}

LogicalResult LoopOp::verify() {
  SmallVector<StringAttr> symbols = definedSymbols();
  if ((getLimit() && !isOneElement(getLimit(), 64)) || (getCondition() && !isOneElement(getCondition(), 1)))
    return emitOpError("C1: expected a limit of one i64 and a condition of one i1");
  if (failed(verifyBody(*this, symbols)) || failed(verifyCount(*this, symbols)))
    return failure();
  if (!allFit(carriedArguments().getTypes(), carriedResults().getTypes(), symbols))
    return emitOpError("C4: the first results must have the types of the carried values");
  SymbolicInt count = getCount().values()[0];
  for (auto [element, result] : llvm::zip_equal(yieldedElements(), scanResults()))
    if (!stacks(element.getType(), result.getType(), count, symbols))
      return emitOpError("C4: a scan result is not its elements, stacked");
  return success();
}
