//===- Assets.cpp - bytes that an artifact carries ------------------------===//

#include "graph/Assets.h"

#include "graph/Attributes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace perpend::graph {

void addAsset(ModuleOp module, StringRef name, StringRef bytes) {
  MLIRContext *context = module.getContext();
  NamedAttrList assets;
  if (auto known = module->getAttrOfType<DictionaryAttr>(assetsAttribute))
    assets = NamedAttrList(known);
  auto type = RankedTensorType::get(static_cast<int64_t>(bytes.size()), IntegerType::get(context, 8));
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocateAndCopyWithAlign(ArrayRef<char>(bytes.data(), bytes.size()), alignof(uint64_t));
  assets.set(name, DenseResourceElementsAttr::get(type, name, std::move(blob)));
  module->setAttr(assetsAttribute, assets.getDictionary(context));
}

/// The bytes of a resource, or of a list that is written out; nullopt for anything else.
static std::optional<ArrayRef<char>> bytesOf(Attribute value) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !elements.getElementType().isInteger(8))
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || static_cast<int64_t>(blob->getData().size()) != elements.getNumElements())
      return std::nullopt;
    return blob->getData();
  }
  auto list = dyn_cast<DenseElementsAttr>(value);
  if (!list || (list.isSplat() && list.getNumElements() != 1))
    return std::nullopt; // one byte stands for many
  return list.getRawData();
}

SmallVector<std::pair<StringRef, ArrayRef<char>>, 4> assetsOf(ModuleOp module) {
  SmallVector<std::pair<StringRef, ArrayRef<char>>, 4> assets;
  if (auto list = module->getAttrOfType<DictionaryAttr>(assetsAttribute))
    for (NamedAttribute asset : list)
      assets.emplace_back(asset.getName().strref(), *bytesOf(asset.getValue()));
  return assets;
}

LogicalResult verifyAssets(ModuleOp module) {
  Attribute attribute = module->getAttr(assetsAttribute);
  if (!attribute)
    return success();
  auto list = dyn_cast<DictionaryAttr>(attribute);
  if (!list)
    return module.emitError(assetsAttribute)
           << ": expected a dictionary, got " << attribute << "\nhint: {name = dense<[1, 2]> : tensor<2xi8>}";
  uint64_t byteCount = 0;
  for (NamedAttribute asset : list) {
    std::optional<ArrayRef<char>> bytes = bytesOf(asset.getValue());
    if (!bytes)
      return module.emitError("asset '") << asset.getName().strref()
                                         << "': expected elements of i8, each written out, or a resource of as many "
                                            "bytes\nhint: dense<[1, 2]> : tensor<2xi8>";
    byteCount += bytes->size();
  }
  constexpr uint64_t mostBytes = uint64_t{1} << 30; // positions have 32 bits
  if (byteCount > mostBytes)
    return module.emitError("assets take ")
           << byteCount << " bytes, expected at most " << mostBytes << "\nhint: keep large files beside the artifact";
  return success();
}
} // namespace perpend::graph
