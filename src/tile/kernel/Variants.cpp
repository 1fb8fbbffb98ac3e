//===- Variants.cpp - schedules of one kernel for ranges of a symbol ------===//

#include "tile/kernel/Variants.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "tile/Attributes.h"
#include "tile/kernel/KernelAbi.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using perpend::support::SymbolRange;

namespace perpend::tile {

bool isVariant(func::FuncOp function) { return function->hasAttr(rangeAttribute); }

SmallVector<func::FuncOp, 2> variantsOf(func::FuncOp kernel) {
  SmallVector<func::FuncOp, 2> variants;
  if (auto names = kernel->getAttrOfType<ArrayAttr>(variantsAttribute))
    for (auto name : names.getAsRange<FlatSymbolRefAttr>())
      variants.push_back(SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(kernel, name));
  return variants;
}

SymbolRange rangeOf(func::FuncOp variant) {
  return *SymbolRange::parse(variant->getAttrOfType<StringAttr>(rangeAttribute).getValue());
}

func::FuncOp addVariant(func::FuncOp kernel, const SymbolRange &range) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> names;
  if (auto known = kernel->getAttrOfType<ArrayAttr>(variantsAttribute))
    llvm::append_range(names, known);
  func::FuncOp variant = kernel.clone();
  variant->removeAttr(variantsAttribute);
  variant->setAttr(rangeAttribute, builder.getStringAttr(range.str()));
  variant.setSymName((kernel.getSymName() + "_variant" + Twine(names.size() + 1)).str());
  SymbolTable(kernel->getParentOp()).insert(variant, std::next(kernel->getIterator()));
  names.push_back(FlatSymbolRefAttr::get(variant));
  kernel->setAttr(variantsAttribute, builder.getArrayAttr(names));
  return variant;
}

void eraseVariants(func::FuncOp kernel) {
  for (func::FuncOp variant : variantsOf(kernel))
    variant.erase();
  kernel->removeAttr(variantsAttribute);
}

func::FuncOp functionFor(func::FuncOp kernel, llvm::function_ref<int64_t(StringRef symbol)> valueOf) {
  for (func::FuncOp variant : variantsOf(kernel))
    if (SymbolRange range = rangeOf(variant); range.contains(valueOf(range.symbol)))
      return variant;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult fail(func::FuncOp kernel, const Twine &message, StringRef hint) {
  return kernel.emitError("kernel '") << kernel.getSymName() << "': " << message.str() << graph::Hint(hint);
}

/// The types of inputs and outputs. The arguments after them may differ, because they depend on the schedule.
static ArrayRef<Type> interfaceOf(func::FuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  return KernelAbi::isLowered(kernel) ? types.take_front(KernelAbi::ofLowered(kernel).inputCount()) : types;
}

static LogicalResult verifyVariant(func::FuncOp kernel, Attribute name) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
  auto variant = symbol ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(kernel, symbol) : func::FuncOp();
  constexpr StringRef advice = "a variant is a copy of its kernel with tile.range, and another trace";
  if (!variant || !variant->hasAttr(graph::kernelAttribute) || !isVariant(variant) || variant == kernel)
    return kernel.emitError("kernel '") << kernel.getSymName() << "': expected variants in " << variantsAttribute
                                        << ", got " << name << graph::Hint(advice);
  if (variant->getAttr(graph::symbolsAttribute) != kernel->getAttr(graph::symbolsAttribute) ||
      variant.getResultTypes() != kernel.getResultTypes() || interfaceOf(variant) != interfaceOf(kernel))
    return fail(variant, "expected the type and the symbols of '" + kernel.getSymName() + "'", advice);
  return success();
}

LogicalResult verifyVariants(func::FuncOp kernel) {
  if (Attribute range = kernel->getAttr(rangeAttribute)) {
    auto text = dyn_cast<StringAttr>(range);
    std::optional<SymbolRange> parsed = text ? SymbolRange::parse(text.getValue()) : std::nullopt;
    if (!parsed || !llvm::is_contained(graph::symbolsOfKernel(kernel), parsed->symbol))
      return fail(kernel, "expected values of one of its symbols as tile.range", "tile.range = \"n <= 16\"");
    if (kernel->hasAttr(variantsAttribute))
      return fail(kernel, "a variant has none of its own", "leave tile.variants out");
  }
  Attribute given = kernel->getAttr(variantsAttribute);
  auto names = dyn_cast_or_null<ArrayAttr>(given);
  if (given && !names)
    return fail(kernel, "expected a list of functions as tile.variants", "tile.variants = [@k_variant1]");
  if (names)
    for (Attribute name : names)
      if (failed(verifyVariant(kernel, name)))
        return failure();
  return success();
}
} // namespace perpend::tile
