//===- Tables.cpp - constants that a run chooses among --------------------===//

#include "tile/packing/Tables.h"

#include "graph/Requirements.h"
#include "graph/SymbolicCode.h"
#include "graph/composites/Formulas.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

namespace {
/// The constants that a value is computed from, and what its operators require.
struct Origins {
  llvm::SetVector<Value> constants;
  graph::Requirements requirements;
  unsigned operators = 0;

  bool add(Value value);
};

/// Emits an element from elements of constants, of which the body of a generate has the tensors.
class TableEmitter : public graph::ElementEmitter {
public:
  TableEmitter(ValueRange constants, ValueRange tensors, StringRef symbol, Value row) : symbol(symbol), row(row) {
    for (auto [constant, tensor] : llvm::zip_equal(constants, tensors))
      stored[constant] = tensor;
  }

  Value element(OpBuilder &builder, Location loc, Value tensor, ValueRange index) override {
    if (Value constant = stored.lookup(tensor))
      return graph::load(builder, loc, constant, index);
    return cast<graph::ElementInterface>(tensor.getDefiningOp()).element(builder, loc, index, *this);
  }
  Value extent(OpBuilder &builder, Location loc, const SymbolicInt &value) override {
    hasOtherSymbols |= value.isPoison() || value.anySymbol([&](StringRef name) { return name != symbol; });
    return graph::emitSymbolicInt(builder, loc, hasOtherSymbols ? SymbolicInt(0) : value,
                                  [&](StringRef) { return row; });
  }
  Value loop(OpBuilder &, Location, const SymbolicInt &, Value, LoopBody) override {
    llvm_unreachable("reductions have no tables");
  }
  bool hasOtherSymbols = false;

private:
  DenseMap<Value, Value> stored;
  StringRef symbol;
  Value row;
};
} // namespace

bool Origins::add(Value value) {
  constexpr unsigned mostOperators = 32;
  if (matchPattern(value, m_Constant()))
    return constants.insert(value), true;
  Operation *op = value.getDefiningOp();
  auto element = dyn_cast_or_null<graph::ElementInterface>(op);
  if (!element || ++operators > mostOperators || element.elementKind() == graph::ElementKind::Reduction ||
      op->getNumOperands() == 0)
    return false;
  requirements.addAll(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand); });
}

static SymbolicInt valueAt(const SymbolicInt &expression, StringRef symbol, int64_t number) {
  llvm::StringMap<SymbolicInt> places;
  places[symbol] = SymbolicInt(number);
  return expression.substitute(places);
}

/// The greatest value of the symbol for which an expression is not negative, if that is a number less the symbol.
static std::optional<int64_t> greatest(const SymbolicInt &expression, StringRef symbol) {
  SymbolicInt first = valueAt(expression, symbol, 0);
  return expression + SymbolicInt::symbol(symbol) == first ? first.constant() : std::nullopt;
}

std::optional<Choice> perpend::tile::choiceOf(Value value) {
  Origins origins;
  if (!origins.add(value) || origins.requirements.isIncomplete)
    return std::nullopt;
  std::set<std::string> used;
  for (const SymbolicInt &requirement : origins.requirements.list)
    requirement.symbols(used);
  if (used.size() != 1)
    return std::nullopt;
  const std::string &symbol = *used.begin();
  constexpr int64_t none = -1, mostRows = 4096;
  int64_t last = mostRows;
  for (const SymbolicInt &requirement : origins.requirements.list)
    last = std::min(last, greatest(requirement, symbol).value_or(mostRows));
  for (int64_t number = 0; number <= last; ++number) // the other requirements must hold in all rows
    for (const SymbolicInt &requirement : origins.requirements.list)
      if (!valueAt(requirement, symbol, number).knownNonNegative())
        last = none;
  return last != none && last != mostRows ? std::optional(Choice{symbol, last + 1}) : std::nullopt;
}

Value perpend::tile::fromTable(graph::Builder &builder, Value value, const std::optional<Choice> &choice) {
  constexpr int64_t mostGrowth = 2;
  Origins origins;
  if (!choice || !graph::tensorTypeOf(value).hasStaticShape() || !origins.add(value) || origins.constants.empty())
    return value;
  auto count = [](Value tensor) { return graph::tensorTypeOf(tensor).getNumElements(); };
  if (count(value) >
      mostGrowth * count(*llvm::max_element(origins.constants, [&](Value a, Value b) { return count(a) < count(b); })) /
          choice->count)
    return value;
  Shape shape = shapeOf(value), all = shape;
  all.insert(all.begin(), SymbolicInt(choice->count));
  bool isTable = true;
  Value table =
      builder.generate(origins.constants.getArrayRef(), all, graph::elementTypeOf(value),
                       [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
                         TableEmitter emitter(origins.constants.getArrayRef(), tensors, choice->symbol, index.front());
                         Value result = emitter.element(b, loc, value, index.drop_front());
                         isTable = !emitter.hasOtherSymbols;
                         return result;
                       });
  if (!isTable) {
    table.getDefiningOp()->erase();
    return value;
  }
  Value row = graph::sliceAxis(builder, table, 0, SymbolicInt::symbol(choice->symbol), SymbolicInt(1));
  return builder.reshape(row, shape);
}
