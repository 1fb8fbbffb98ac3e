//===- Symbols.cpp - the symbols of a model -------------------------------===//

#include "graph/Symbols.h"
#include "graph/Attributes.h"
#include "graph/ErrorKind.h"

#include "graph/Shapes.h"
#include "graph/States.h"

using namespace mlir;
using perpend::graph::shapeOf;
using perpend::graph::SymbolicInt;

static std::vector<std::string> inputSymbolsOf(func::FuncOp main) {
  std::vector<std::string> order;
  for (Type type : main.getArgumentTypes())
    for (const SymbolicInt &extent : shapeOf(cast<RankedTensorType>(type))) {
      std::set<std::string> names;
      extent.symbols(names);
      for (const std::string &name : names)
        if (!llvm::is_contained(order, name))
          order.push_back(name);
    }
  return order;
}

std::vector<std::string> perpend::graph::symbolsOf(func::FuncOp main) {
  std::vector<std::string> order = inputSymbolsOf(main);
  main.walk<WalkOrder::PreOrder>([&](perpend::graph::SymbolInterface op) {
    for (StringAttr name : op.definedSymbols())
      if (!llvm::is_contained(order, name.str()))
        order.push_back(name.str());
  });
  return order;
}

std::vector<std::string> perpend::graph::dataSymbolsOf(func::FuncOp main) {
  std::vector<std::string> symbols = symbolsOf(main);
  symbols.erase(symbols.begin(), symbols.begin() + inputSymbolsOf(main).size());
  return symbols;
}

SmallVector<StringAttr> perpend::graph::symbolsDefinedIn(Region &region) {
  SmallVector<StringAttr> names;
  region.walk([&](perpend::graph::SymbolInterface op) { llvm::append_range(names, op.definedSymbols()); });
  return names;
}

static std::set<std::string> namesIn(ArrayRef<SymbolicInt> values) {
  std::set<std::string> names;
  for (const SymbolicInt &value : values)
    value.symbols(names);
  return names;
}

bool perpend::graph::mentionsAny(ArrayRef<SymbolicInt> values, ArrayRef<std::string> symbols) {
  return llvm::any_of(namesIn(values), [&](const std::string &name) { return llvm::is_contained(symbols, name); });
}

bool perpend::graph::mentionsAny(ArrayRef<SymbolicInt> values, ArrayRef<StringAttr> symbols) {
  std::set<std::string> names = namesIn(values);
  return llvm::any_of(symbols, [&](StringAttr symbol) { return names.count(symbol.str()) != 0; });
}

static void noteSymbols(Type type, std::set<std::string> &used) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (const SymbolicInt &extent : shapeOf(tensor))
      extent.symbols(used);
}

std::set<std::string> perpend::graph::symbolsUsedBy(Operation *op) {
  std::set<std::string> used;
  for (Type type : op->getResultTypes())
    noteSymbols(type, used);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        noteSymbols(type, used);
  for (NamedAttribute attribute : op->getAttrs())
    if (auto shape = dyn_cast<ShapeAttr>(attribute.getValue()))
      for (const SymbolicInt &value : shape.values())
        value.symbols(used);
  if (auto extent = dyn_cast<ExtentOp>(op))
    if (std::optional<SymbolicInt> value = SymbolicInt::parse(extent.getExpression()))
      value->symbols(used);
  if (!isa<SymbolInterface>(op)) // bodies of map and generate
    for (Region &region : op->getRegions())
      region.walk([&](ExtentOp inner) { used.merge(symbolsUsedBy(inner)); });
  return used;
}

namespace {
class SymbolOrder {
public:
  explicit SymbolOrder(func::FuncOp main) {
    for (const std::string &name : inputSymbolsOf(main))
      known.insert(name);
    everDefined = known;
  }

  /// Binding knows the symbols of inputs only; sizes of memory may use those of operators as well.
  LogicalResult checkAttributes(func::FuncOp main) {
    std::set<std::string> atBinding, sizes;
    for (NamedAttribute attribute : main->getAttrs())
      if (auto values = dyn_cast<perpend::graph::ShapeAttr>(attribute.getValue()))
        for (const SymbolicInt &value : values.values())
          value.symbols(attribute.getName() == perpend::graph::requirementsAttribute ? atBinding : sizes);
    if (failed(checkKnown(*main, atBinding)))
      return failure();
    known = everDefined;
    return checkKnown(*main, sizes);
  }

  LogicalResult check(Block &block) {
    std::set<std::string> outside = known;
    for (Operation &op : block)
      if (failed(check(op)))
        return failure();
    known = std::move(outside);
    return success();
  }

private:
  LogicalResult check(Operation &op) {
    auto definer = dyn_cast<perpend::graph::SymbolInterface>(op);
    SmallVector<StringAttr> defined = definer ? definer.definedSymbols() : SmallVector<StringAttr>();
    for (StringAttr name : defined)
      if (!everDefined.insert(name.str()).second)
        return op.emitError("the symbol ") << name << " is defined twice";
    auto define = [&](StringAttr name) { known.insert(name.str()); };
    if (isa<perpend::graph::LoopOp>(op)) // extents of carried values are defined inside
      llvm::for_each(defined, define);
    if (definer)
      for (Region &region : op.getRegions())
        if (failed(check(region.front())))
          return failure();
    llvm::for_each(defined, define);
    return checkUses(op);
  }

  LogicalResult checkUses(Operation &op) { return checkKnown(op, perpend::graph::symbolsUsedBy(&op)); }

  LogicalResult checkKnown(Operation &op, const std::set<std::string> &used) {
    for (const std::string &name : used)
      if (!known.count(name))
        return op.emitError("the symbol '") << name << "' is used, which no input has and no operator before defines"
                                            << perpend::graph::Hint("one dimension of an input must be " + name +
                                                                    ", or a multiple of it plus a number");
    return success();
  }

  std::set<std::string> known, everDefined;
};
} // namespace

LogicalResult perpend::graph::checkSymbolOrder(func::FuncOp main) {
  SymbolOrder order(main);
  return success(succeeded(order.check(main.getBody().front())) && succeeded(order.checkAttributes(main)));
}

std::optional<std::pair<int64_t, int64_t>> perpend::graph::linearIn(const SymbolicInt &extent, StringRef symbol) {
  using perpend::support::SymbolicAtomKind;
  int64_t factor = 0, offset = 0;
  for (const auto &term : extent.terms()) {
    if (term.factors.empty())
      offset = term.coefficient;
    else if (term.factors.size() == 1 && term.factors[0].power == 1 &&
             term.factors[0].atom.kind() == SymbolicAtomKind::Symbol && term.factors[0].atom.name() == symbol)
      factor = term.coefficient;
    else
      return std::nullopt;
  }
  return factor >= 1 ? std::optional(std::pair(factor, offset)) : std::nullopt;
}

std::vector<std::optional<perpend::graph::SymbolSource>> perpend::graph::symbolSourcesOf(func::FuncOp main) {
  std::vector<std::optional<SymbolSource>> sources;
  for (const std::string &symbol : symbolsOf(main)) {
    std::optional<SymbolSource> best;
    for (BlockArgument argument : main.getArguments())
      for (auto [dim, extent] : llvm::enumerate(shapeOf(argument))) {
        auto linear = linearIn(extent, symbol);
        bool isBare = linear && linear->first == 1 && linear->second == 0;
        bool hasBare = best && best->factor == 1 && best->offset == 0;
        bool isState = main.getArgAttr(argument.getArgNumber(), perpend::graph::stateAttribute) != nullptr;
        if (linear && (!best || (isBare && (!hasBare || isState))))
          best = SymbolSource{argument.getArgNumber(), static_cast<unsigned>(dim), linear->first, linear->second};
      }
    sources.push_back(best);
  }
  return sources;
}
