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
  return order;
}
