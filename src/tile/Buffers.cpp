//===- Buffers.cpp - where the values of main lie ---------------------------===//

#include "tile/Buffers.h"

#include "tile/KernelEmitter.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace perpend::tile {

int64_t elementBytes(Type elementType) { return bufferType(elementType).getElementTypeBitWidth() / 8; }

llvm::ArrayRef<char> constantBytes(ElementsAttr value, std::vector<char> &storage) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return resource.getRawHandle().getBlob()->getData();
  auto dense = cast<DenseElementsAttr>(value);
  int64_t size = elementBytes(dense.getElementType()), count = dense.getNumElements();
  if (dense.getElementType().isIntOrFloat() && dense.getElementType().getIntOrFloatBitWidth() >= 8 && !dense.isSplat())
    return dense.getRawData();
  storage.resize(size * count);
  int64_t position = 0;
  auto append = [&](const APInt &bits) {
    std::memcpy(storage.data() + position, bits.getRawData(), size);
    position += size;
  };
  if (isa<FloatType>(dense.getElementType()))
    for (const APFloat &element : dense.getValues<APFloat>())
      append(element.bitcastToAPInt());
  else
    for (const APInt &element : dense.getValues<APInt>())
      append(element.zextOrTrunc(std::max<unsigned>(8, element.getBitWidth())));
  return storage;
}
} // namespace perpend::tile
