//===- Control.cpp - measure and loop in the builder ----------------------===//
//
// measure() turns an element of a tensor into a symbol, for extents that depend on data. The body of a loop is a
// callback that builds into the region of a draft graph.loop. The first draft assumes that carried values keep the
// shapes, list element types and known contents of the initial values; the body is rebuilt without the assumptions
// that do not hold, until all hold.
//
//===----------------------------------------------------------------------===//

#include "graph/Scalars.h"
#include "graph/SequenceTypes.h"
#include "graph/Symbols.h"
#include "graph/builder/Builder.h"
#include "support/DimensionNames.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Prefix of the symbols of a node, such as "reshape_", so that messages show where they come from. Empty if the node
/// has no name.
static std::string prefixOf(Location location) {
  constexpr size_t mostLetters = 40; // the end of a name is the distinctive part
  auto name = location->findInstanceOf<NameLoc>();
  StringRef words = name ? name.getName().getValue().take_back(mostLetters).ltrim("/._:") : StringRef();
  return words.empty() ? "" : support::identifierOf(words) + "_";
}

/// `base` with a number appended, unless it already ends in one.
StringAttr Builder::freshSymbol(StringRef base) {
  if (symbolNames.empty()) {
    Operation *parent = operations.getInsertionBlock()->getParentOp();
    auto main = dyn_cast<func::FuncOp>(parent);
    if (!main)
      main = parent->getParentOfType<func::FuncOp>();
    for (const std::string &name : symbolsOf(main))
      symbolNames.insert(name);
  }
  const std::string stem = prefixOf(location) + base.str();
  const bool isNumbered = llvm::isDigit(stem.back());
  for (unsigned number = 0;; ++number) {
    std::string name = !isNumbered ? stem + std::to_string(number)
                       : number    ? stem + "_" + std::to_string(number)
                                   : stem;
    if (symbolNames.insert(name).second)
      return operations.getStringAttr(name);
  }
}

Value Builder::oneElement(Value tensor, Type elementType, StringRef what) {
  if (!tensor)
    return {};
  RankedTensorType type = tensorTypeOf(tensor);
  bool wantsBoolean = elementType.isInteger(1);
  if (!isa<IntegerType>(type.getElementType()) || type.getElementType().isInteger(1) != wantsBoolean ||
      provablyDiffer(elementCount(shapeOf(type)), SymbolicInt(1)))
    return fail(what + ": expected one " + (wantsBoolean ? "boolean" : "integer") + ", got a tensor of shape " +
                toString(shapeOf(type)));
  std::optional<Shape> known = contents(tensor);
  Value scalar = cast(type.getRank() == 0 ? tensor : reshape(tensor, {}), elementType);
  if (known && scalar != tensor)
    recordContents(scalar, *known);
  return scalar;
}

SymbolicInt Builder::measure(Value scalar, StringRef base) {
  if (std::optional<Shape> known = contents(scalar); known && known->size() == 1)
    return known->front();
  Value count = oneElement(scalar, i64(), base);
  if (!count)
    return SymbolicInt::poison();
  StringAttr name = freshSymbol(base);
  operations.create<MeasureOp>(location, count, name);
  SymbolicInt symbol = SymbolicInt::symbol(name.getValue());
  recordContents(scalar, symbol);
  recordContents(count, symbol);
  return symbol;
}

RequireOp Builder::require(const SymbolicInt &value, StringRef message) {
  if (std::optional<int64_t> most = value.isPoison() ? std::nullopt : value.upperBound(); most && *most < 0)
    contradict(message + "\nhint: the sizes are known here; correct the model, or the dimensions of its inputs");
  else if (value.isPoison())
    fail(message + ": what this needs is too long an expression\nhint: give the dimensions of the model's inputs as "
                   "numbers (--dim)");
  else if (!value.knownNonNegative())
    return operations.create<RequireOp>(location, ShapeAttr::get(context(), value), message);
  return {};
}

SymbolicInt Builder::measureSigned(Value scalar, StringRef base) {
  if (std::optional<Shape> known = contents(scalar); known && known->size() == 1)
    return known->front();
  Value number = oneElement(scalar, i64(), base);
  if (!number)
    return SymbolicInt::poison();
  auto part = [&](bool isNegated) {
    return map(number, i64(), [&](OpBuilder &builder, Location loc, ValueRange scalars) -> Value {
      Value zero = builder.create<arith::ConstantIntOp>(loc, 0, 64), value = scalars[0];
      if (isNegated)
        value = builder.create<arith::SubIOp>(loc, zero, value);
      return builder.create<arith::MaxSIOp>(loc, value, zero);
    });
  };
  SymbolicInt value = measure(part(false), base) - measure(part(true), base);
  recordContents(scalar, value);
  return value;
}

/// The parts of which a vector is concatenated, if all their lengths are known; otherwise empty.
static OperandRange knownParts(Value vector) {
  auto concat = vector.getDefiningOp<ConcatOp>();
  bool isKnown = concat && tensorTypeOf(vector).getRank() == 1 &&
                 llvm::all_of(concat.getInputs(), [](Value part) { return shapeOf(part).front().isConstant(); });
  return isKnown ? concat.getInputs() : OperandRange(nullptr, 0);
}

std::optional<SmallVector<Value>> Builder::scalars(Value vector) {
  if (!vector)
    return std::nullopt;
  std::optional<int64_t> count = elementCount(shapeOf(vector)).constant();
  if (!count || *count > maxFollowedElements) {
    fail("expected a known number of values, got a tensor of shape " + toString(shapeOf(vector)));
    return std::nullopt;
  }
  SmallVector<Value> values;
  std::optional<Shape> known = contents(vector);
  if (OperandRange parts = knownParts(vector); !known && !parts.empty()) {
    for (Value part : parts) { // the contents of some of them may be known
      std::optional<SmallVector<Value>> elements = scalars(part);
      if (!elements)
        return std::nullopt;
      llvm::append_range(values, *elements);
    }
    return values;
  }
  Value flat = reshape(vector, SymbolicInt(*count));
  for (int64_t i = 0; i < *count; ++i) {
    values.push_back(reshape(slice(flat, SymbolicInt(i), SymbolicInt(1), 1), {}));
    if (known)
      recordContents(values.back(), (*known)[i]);
  }
  return values;
}

std::optional<Shape> Builder::sizes(Value vector, StringRef base) {
  if (std::optional<Shape> known = contents(vector))
    return known;
  std::optional<SmallVector<Value>> elements = scalars(vector);
  if (!elements)
    return std::nullopt;
  Shape values;
  for (auto [position, element] : llvm::enumerate(*elements))
    values.push_back(measure(element, (base + Twine(position)).str()));
  if (llvm::any_of(values, [](const SymbolicInt &value) { return value.isPoison(); }))
    return std::nullopt;
  recordContents(vector, values);
  return values;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

class LoopBuilder {
public:
  LoopBuilder(Builder &builder, const Iterations &iterations, Builder::Values initial, Builder::Body body)
      : b(builder), iterations(iterations), initial(initial.begin(), initial.end()), body(body) {}
  SmallVector<Value> run();

private:
  bool buildBody();
  bool adapt(size_t index);
  bool resolveCount();
  bool isTrue(Value condition) const;
  SmallVector<Value> valuesPassedOn();
  RankedTensorType elementResultType(Value element, ArrayRef<StringAttr> inner);
  StringAttr addSymbol(StringRef base);
  void discard();

  Builder &b;
  Iterations iterations;
  SmallVector<Value> initial;
  Builder::Body body;
  LoopOp draft;
  Iteration yielded;
  bool yieldsTrue = true;
  /// Shapes of the carried values, and their contents as long as these stay the same.
  SmallVector<Shape> shapes;
  SmallVector<Type> elementTypes;
  SmallVector<std::optional<Shape>> contents, yieldedContents;
  SmallVector<Attribute> symbols;
  SymbolicInt count;
};

StringAttr LoopBuilder::addSymbol(StringRef base) {
  StringAttr name = b.freshSymbol(base);
  symbols.push_back(name);
  return name;
}

bool LoopBuilder::isTrue(Value condition) const {
  std::optional<SmallVector<int64_t>> known = condition ? b.constantContents(condition) : SmallVector<int64_t>{1};
  return known && known->size() == 1 && known->front() != 0;
}

void LoopBuilder::discard() {
  if (draft)
    draft.erase();
  draft = {};
}

/// Builds the body with the current shapes and contents. False after an error.
bool LoopBuilder::buildBody() {
  discard();
  draft = b.operations.create<LoopOp>(b.location, TypeRange(), Value(), Value(), ValueRange(),
                                      ShapeAttr::get(b.context(), SymbolicInt(0)), b.operations.getArrayAttr({}));
  OpBuilder::InsertionGuard guard(b.operations);
  auto outerContents = b.knownContents;
  Block *block = b.operations.createBlock(&draft.getBody());
  Value number = block->addArgument(tensorType({}, b.i64()), b.location);
  SmallVector<Value> carried;
  for (auto [index, value] : llvm::enumerate(initial)) {
    Type type = tensorType(shapes[index], elementTypes[index]);
    carried.push_back(block->addArgument(type, b.location));
    if (contents[index])
      b.recordContents(carried.back(), *contents[index]);
  }
  yielded = body(number, carried);
  bool hasAll = !llvm::is_contained(yielded.carried, Value()) && !llvm::is_contained(yielded.elements, Value());
  bool isComplete = !b.failed && hasAll && yielded.carried.size() == initial.size();
  if (isComplete) {
    yieldsTrue = isTrue(yielded.condition);
    yieldedContents = llvm::map_to_vector(yielded.carried, [&](Value value) { return b.contents(value); });
  } else if (!b.failed && hasAll) {
    b.fail("expected " + Twine(initial.size()) + " carried values, got " + Twine(yielded.carried.size()));
  }
  b.knownContents = std::move(outerContents);
  return isComplete;
}

/// Generalises whatever this iteration changes of a carried value. False if it changes nothing.
bool LoopBuilder::adapt(size_t index) {
  if (!sameKind(initial[index], yielded.carried[index])) {
    b.fail("carried value " + Twine(index) + " begins as " + typeText(initial[index]) + " and continues as " +
           typeText(yielded.carried[index]) + "\nhint: element types and numbers of dimensions must stay the same");
    return false;
  }
  Type joined = joinElementTypes(elementTypes[index], tensorTypeOf(yielded.carried[index]).getElementType());
  bool changes = joined != elementTypes[index] || (contents[index] && contents[index] != yieldedContents[index]);
  elementTypes[index] = joined;
  if (contents[index] && contents[index] != yieldedContents[index])
    contents[index].reset();
  for (auto [extent, next] : llvm::zip(shapes[index], shapeOf(yielded.carried[index]))) {
    bool isOwn = llvm::any_of(symbols, [&, extent = extent](Attribute symbol) {
      return extent == SymbolicInt::symbol(::mlir::cast<StringAttr>(symbol).getValue());
    });
    if (isOwn || extent == next)
      continue;
    extent = SymbolicInt::symbol(addSymbol("loop").getValue());
    changes = true;
  }
  return changes;
}

/// Finds whether the loop terminates, and after how many iterations.
bool LoopBuilder::resolveCount() {
  b.operations.setInsertionPoint(draft);
  iterations.limit = iterations.limit ? b.oneElement(iterations.limit, b.i64(), "limit") : Value();
  Type boolean = b.operations.getI1Type();
  if (iterations.condition)
    iterations.condition = b.oneElement(iterations.condition, boolean, "condition");
  if (b.failed)
    return false;
  std::optional<SmallVector<int64_t>> first =
      iterations.condition ? b.constantContents(iterations.condition) : SmallVector<int64_t>{1};
  bool isKnown = (first && first->front() == 0) || (isTrue(iterations.condition) && yieldsTrue);
  if (isKnown && first->front() != 0 && !iterations.limit) {
    b.fail("the loop has neither a limit nor a condition that ends it");
    return false;
  }
  if (!isKnown) {
    iterations.condition = iterations.condition ? iterations.condition : b.scalar(1, boolean);
    yielded.condition = yielded.condition ? yielded.condition : iterations.condition;
    count = SymbolicInt::symbol(addSymbol("count").getValue());
    return true;
  }
  if (first->front() == 0)
    count = SymbolicInt(0);
  else if (std::optional<Shape> known = b.contents(iterations.limit))
    count = max(known->front(), SymbolicInt(0));
  else
    count = b.measure(b.map(iterations.limit, b.i64(),
                            [](OpBuilder &builder, Location loc, ValueRange scalars) -> Value {
                              Value zero = builder.create<arith::ConstantIntOp>(loc, 0, 64);
                              return builder.create<arith::MaxSIOp>(loc, scalars[0], zero);
                            }),
                      "count");
  iterations = {};
  yielded.condition = {};
  return true;
}

/// An extent that may differ between iterations is taken from the elements.
RankedTensorType LoopBuilder::elementResultType(Value element, ArrayRef<StringAttr> inner) {
  Shape shape = shapeOf(element);
  for (SymbolicInt &extent : shape)
    if (mentionsAny(extent, inner))
      extent = SymbolicInt::symbol(addSymbol("element").getValue());
  shape.insert(shape.begin(), count);
  return tensorType(shape, tensorTypeOf(element).getElementType());
}

/// The operands of the yield; empty, after an error, if the condition or a value is not suitable.
SmallVector<Value> LoopBuilder::valuesPassedOn() {
  OpBuilder::InsertionGuard guard(b.operations);
  b.operations.setInsertionPointToEnd(&draft.getBody().front());
  SmallVector<Value> passed;
  if (yielded.condition)
    passed.push_back(b.oneElement(yielded.condition, b.operations.getI1Type(), "condition"));
  for (auto [value, elementType] : llvm::zip_equal(yielded.carried, elementTypes))
    passed.push_back(b.retype(value, elementType));
  llvm::append_range(passed, yielded.elements);
  return passed;
}

SmallVector<Value> LoopBuilder::run() {
  for (Value value : initial) {
    shapes.push_back(shapeOf(value));
    elementTypes.push_back(tensorTypeOf(value).getElementType());
    contents.push_back(b.contents(value));
  }
  for (bool changes = true; changes;) {
    if (!buildBody())
      return discard(), SmallVector<Value>();
    changes = false;
    for (size_t index = 0; index < initial.size(); ++index)
      changes |= adapt(index);
    if (b.failed)
      return discard(), SmallVector<Value>();
  }
  OpBuilder::InsertionGuard guard(b.operations);
  if (!resolveCount())
    return discard(), SmallVector<Value>();
  for (auto [value, elementType] : llvm::zip_equal(initial, elementTypes))
    value = b.retype(value, elementType);
  SmallVector<Value> passed = valuesPassedOn();
  if (llvm::is_contained(passed, Value()))
    return discard(), SmallVector<Value>();
  SmallVector<StringAttr> inner = symbolsDefinedIn(draft.getBody());
  for (Attribute symbol : symbols)
    inner.push_back(::mlir::cast<StringAttr>(symbol));
  SmallVector<Type> types(llvm::drop_begin(draft.getBody().getArgumentTypes()));
  for (Value element : yielded.elements)
    types.push_back(elementResultType(element, inner));
  auto op = b.operations.create<LoopOp>(b.location, types, iterations.limit, iterations.condition, initial,
                                        ShapeAttr::get(b.context(), count), b.operations.getArrayAttr(symbols));
  op.getBody().takeBody(draft.getBody());
  discard();
  b.operations.setInsertionPointToEnd(&op.getBody().front());
  b.operations.create<YieldOp>(b.location, passed);
  for (auto [result, known] : llvm::zip(op.getResults(), contents))
    if (known)
      b.recordContents(result, *known);
  return llvm::to_vector(ValueRange(op.getResults()));
}

SmallVector<Value> Builder::loop(const Iterations &iterations, Values initial, Body body) {
  if (llvm::is_contained(initial, Value()) || failed)
    return {};
  return LoopBuilder(*this, iterations, initial, body).run();
}
} // namespace perpend::graph
