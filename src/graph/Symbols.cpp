//===- Symbols.cpp - the symbols of a model ---------------------------------===//

#include "graph/Symbols.h"

#include "graph/Shapes.h"

using namespace mlir;

std::vector<std::string> perpend::graph::symbolsOf(func::FuncOp main) {
  std::vector<std::string> order;
  for (Type type : main.getArgumentTypes())
    for (const SymbolicInt &extent : shapeOf(cast<RankedTensorType>(type))) {
      std::set<std::string> names;
      extent.symbols(names);
      for (const std::string &name : names)
        if (!llvm::is_contained(order, name))
          order.push_back(name);
    }
  main.walk<WalkOrder::PreOrder>([&](perpend::graph::SymbolInterface op) {
    for (StringAttr name : op.definedSymbols())
      if (!llvm::is_contained(order, name.str()))
        order.push_back(name.str());
  });
  return order;
}

/// factor * symbol + offset, as the only content of an expression.
static std::optional<std::pair<int64_t, int64_t>> linearIn(const perpend::graph::SymbolicInt &extent,
                                                           StringRef symbol) {
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
        if (linear && (!best || (isBare && !hasBare)))
          best = SymbolSource{argument.getArgNumber(), static_cast<unsigned>(dim), linear->first, linear->second};
      }
    sources.push_back(best);
  }
  return sources;
}
