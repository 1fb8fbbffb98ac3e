//===- SubstituteSymbols.cpp - substitutes expressions for symbols --------===//

#include "graph/SubstituteSymbols.h"

#include "graph/Shapes.h"

using namespace mlir;

namespace perpend::graph {

void addSymbolReplacements(AttrTypeReplacer &replacer, const llvm::StringMap<SymbolicInt> &replacements) {
  auto replaced = [&replacements](ArrayRef<SymbolicInt> values) {
    return llvm::map_to_vector(values, [&](const SymbolicInt &value) { return value.substitute(replacements); });
  };
  replacer.addReplacement(
      [replaced](ShapeAttr shape) { return ShapeAttr::get(shape.getContext(), replaced(shape.values())); });
  replacer.addReplacement([replaced](RankedTensorType type) -> std::pair<Type, WalkResult> {
    if (type.hasStaticShape())
      return {type, WalkResult::skip()};
    return {tensorType(replaced(shapeOf(type)), type.getElementType()), WalkResult::skip()};
  });
}

std::string substituted(StringRef expression, const llvm::StringMap<SymbolicInt> &replacements) {
  return SymbolicInt::parse(expression).value_or(SymbolicInt::poison()).substitute(replacements).str();
}

void substituteSymbols(Region &region, const llvm::StringMap<SymbolicInt> &replacements) {
  AttrTypeReplacer replacer;
  addSymbolReplacements(replacer, replacements);
  for (BlockArgument argument : region.getArguments())
    argument.setType(replacer.replace(argument.getType()));
  region.walk([&](Operation *op) {
    if (auto extent = dyn_cast<ExtentOp>(op)) {
      extent.setExpression(substituted(extent.getExpression(), replacements));
    } else if (!isa<ConstantOp>(op)) {
      replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    }
  });
}

void collectSymbols(Region &region, std::set<std::string> &names) {
  for (Operation &op : region.getOps())
    collectSymbols(&op, names);
}

void collectSymbols(Operation *root, std::set<std::string> &names) {
  forEachExpression(root, [&](ArrayRef<SymbolicInt> values) {
    for (const SymbolicInt &value : values)
      value.symbols(names);
  });
}

void forEachExpression(Operation *root, llvm::function_ref<void(ArrayRef<SymbolicInt>)> collect) {
  auto collectTypes = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
        collect(shapeOf(tensor));
  };
  root->walk([&](Operation *op) {
    collectTypes(op->getResultTypes());
    for (Region &inner : op->getRegions())
      collectTypes(inner.getArgumentTypes());
    for (NamedAttribute attribute : op->getAttrs())
      if (auto shape = dyn_cast<ShapeAttr>(attribute.getValue()))
        collect(shape.values());
    if (auto extent = dyn_cast<ExtentOp>(op))
      collect(SymbolicInt::parse(extent.getExpression()).value_or(SymbolicInt::poison()));
  });
}
} // namespace perpend::graph
