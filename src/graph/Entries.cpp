//===- Entries.cpp - functions that callers run ---------------------------===//

#include "graph/Entries.h"

#include "graph/Attributes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::graph {

SmallVector<func::FuncOp, 2> entriesOf(ModuleOp module) {
  SmallVector<func::FuncOp, 2> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.isPublic() || function->hasAttr(kernelAttribute))
      continue;
    bool isMain = function.getSymName() == "main";
    entries.insert(isMain ? entries.begin() : entries.end(), function);
  }
  return entries;
}

func::FuncOp firstEntryOf(ModuleOp module) {
  SmallVector<func::FuncOp, 2> entries = entriesOf(module);
  return entries.empty() ? func::FuncOp() : entries.front();
}

/// Attributes of a module that the artifact is linked or described with.
static LogicalResult addAttributes(ModuleOp module, ModuleOp other) {
  SmallVector<Attribute> objects;
  for (ModuleOp each : {module, other})
    if (auto list = each->getAttrOfType<ArrayAttr>(objectsAttribute))
      for (Attribute object : list)
        if (!llvm::is_contained(objects, object))
          objects.push_back(object);
  if (!objects.empty())
    module->setAttr(objectsAttribute, ArrayAttr::get(module.getContext(), objects));
  NamedAttrList assets;
  for (ModuleOp each : {module, other})
    if (auto list = each->getAttrOfType<DictionaryAttr>(assetsAttribute))
      for (NamedAttribute asset : list)
        assets.set(asset.getName(), asset.getValue());
  if (!assets.empty())
    module->setAttr(assetsAttribute, assets.getDictionary(module.getContext()));
  return success();
}

LogicalResult addEntry(ModuleOp module, StringRef name, OwningOpRef<ModuleOp> other) {
  bool isIdentifier = !name.empty() && !llvm::isDigit(name[0]) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!isIdentifier)
    return other->emitError("entry '") << name
                                       << "': expected an identifier as its name\nhint: such as prefill or step_2";
  if (module.lookupSymbol(name))
    return other->emitError("two entries have the name '") << name << "'\nhint: give each another one";
  func::FuncOp entry = firstEntryOf(*other);
  if (!entry || llvm::range_size(other->getOps()) != 1)
    return other->emitError("entry '") << name << "': expected a model with one function\nhint: a module with several "
                                       << "entries or with kernels is compiled by itself";
  entry->remove();
  entry.setSymName(name);
  module.push_back(entry);
  if (auto results = (*other)->getAttr(resultsAttribute))
    entry->setAttr(resultsAttribute, results);
  return addAttributes(module, *other);
}
} // namespace perpend::graph
