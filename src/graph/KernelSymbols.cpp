//===- KernelSymbols.cpp - symbols of kernels and their calls -------------===//

#include "graph/KernelSymbols.h"

#include "graph/Attributes.h"
#include "graph/Shapes.h"
#include "graph/SubstituteSymbols.h"

using namespace mlir;

namespace perpend::graph {

SmallVector<StringRef> symbolsOfKernel(Operation *kernel) {
  SmallVector<StringRef> names;
  if (auto list = kernel->getAttrOfType<ArrayAttr>(symbolsAttribute))
    for (Attribute entry : list)
      if (auto name = dyn_cast<StringAttr>(entry))
        names.push_back(name);
  return names;
}

void listSymbols(func::FuncOp kernel) {
  SmallVector<SymbolicInt> expressions;
  for (Type type : kernel.getArgumentTypes())
    expressions.append(shapeOf(cast<RankedTensorType>(type)));
  forEachExpression(kernel, [&](ArrayRef<SymbolicInt> values) { expressions.append(values.begin(), values.end()); });
  SetVector<StringRef> order;
  std::vector<std::set<std::string>> mentioned(expressions.size());
  for (auto [expression, names] : llvm::zip_equal(expressions, mentioned)) {
    expression.symbols(names);
    if (names.size() == 1 && expression == SymbolicInt::symbol(*names.begin()))
      order.insert(*names.begin());
  }
  for (const std::set<std::string> &names : mentioned)
    for (const std::string &name : names)
      order.insert(name);
  if (!order.empty())
    kernel->setAttr(symbolsAttribute, mlir::Builder(kernel.getContext()).getStrArrayAttr(order.getArrayRef()));
}

SmallVector<SymbolicInt> symbolValuesAt(Operation *call) {
  auto values = call->getAttrOfType<ShapeAttr>(symbolsAttribute);
  return values ? values.values() : SmallVector<SymbolicInt>();
}

void setSymbolValuesAt(Operation *call, ArrayRef<StringRef> symbols) {
  SmallVector<SymbolicInt> values = llvm::map_to_vector(symbols, SymbolicInt::symbol);
  if (!values.empty())
    call->setAttr(symbolsAttribute, ShapeAttr::get(call->getContext(), values));
}

llvm::StringMap<SymbolicInt> symbolsAt(Operation *call, Operation *kernel) {
  llvm::StringMap<SymbolicInt> values;
  for (auto [name, value] : llvm::zip_equal(symbolsOfKernel(kernel), symbolValuesAt(call)))
    values[name] = value;
  return values;
}
} // namespace perpend::graph
