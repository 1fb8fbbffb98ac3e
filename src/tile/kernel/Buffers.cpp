//===- Buffers.cpp - elements in memory -----------------------------------===//

#include "tile/kernel/Buffers.h"

#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "tile/kernel/KernelEmitter.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace perpend::tile {

void reportTooLarge(Value tensor) {
  emitError(tensor.getLoc()) << "the size of a tensor of shape " << graph::typeText(tensor)
                             << " has more than 63 bits, or is too long an expression" << graph::ErrorKind::Unsupported
                             << graph::Hint(
                                    "check the dimensions of the model's inputs, or give them as numbers (--dim)");
}

int64_t elementBytes(Type elementType) { return bufferType(elementType).getElementTypeBitWidth() / 8; }

llvm::ArrayRef<char> constantBytes(ElementsAttr value, std::vector<char> &storage) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return resource.getRawHandle().getBlob()->getData();
  auto dense = cast<DenseElementsAttr>(value);
  int64_t size = elementBytes(dense.getElementType()), count = dense.getNumElements();
  if (dense.getElementType().isIntOrFloat() && dense.getElementType().getIntOrFloatBitWidth() >= 8 && !dense.isSplat())
    return dense.getRawData();
  storage.resize(size * count);
  if (dense.isSplat() && count > 1) {
    std::vector<char> first;
    (void)constantBytes(dense.resizeSplat(RankedTensorType::get({}, dense.getElementType())), first);
    for (int64_t position = 0; position < size * count; position += size)
      std::memcpy(storage.data() + position, first.data(), size);
    return storage;
  }
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
