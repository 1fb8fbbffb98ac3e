//===- StoredElements.cpp - constants from the bytes of a file ------------===//

#include "graph/StoredElements.h"
#include "graph/Shapes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Alignment.h"

using namespace mlir;

namespace perpend::graph {

/// Tensors of up to this many elements become dense attributes: shape computations and scalars.
static constexpr int64_t smallFloats = 64, smallIntegers = 128;

uint64_t storedSize(Type elementType) { return std::max<uint64_t>(bitWidth(elementType) / 8, 1); }

int64_t storedBytes(Value value) {
  auto type = tensorTypeOf(value);
  return type.hasStaticShape() ? type.getNumElements() * static_cast<int64_t>(storedSize(type.getElementType())) : 0;
}

static ElementsAttr resource(RankedTensorType type, StringRef name, StringRef bytes,
                             std::shared_ptr<const void> owner) {
  uint64_t alignment = storedSize(type.getElementType());
  ArrayRef<char> data(bytes.data(), bytes.size());
  // Elements in a file may be unaligned; code that computes with them copies them.
  bool isAligned = llvm::isAddrAligned(llvm::Align(alignment), bytes.data());
  AsmResourceBlob blob = owner ? AsmResourceBlob(
                                     data, isAligned ? alignment : 1, [owner](void *, size_t, size_t) {}, false)
                               : HeapAsmResourceBlob::allocateAndCopyWithAlign(data, std::max<uint64_t>(alignment, 64));
  return DenseResourceElementsAttr::get(type, name.empty() ? "weight" : name, std::move(blob));
}

ElementsAttr storedElements(RankedTensorType type, StringRef name, StringRef bytes, std::shared_ptr<const void> owner) {
  Type elementType = type.getElementType();
  bool isSmall = type.getNumElements() <= (isa<FloatType>(elementType) ? smallFloats : smallIntegers);
  if (!isSmall || isMinifloat(elementType))
    return resource(type, name, bytes, std::move(owner));
  if (bitWidth(elementType) < 8) {
    unsigned width = bitWidth(elementType);
    SmallVector<APInt> values;
    for (char byte : bytes)
      values.push_back(width == 1 ? APInt(1, byte != 0) : APInt(8, static_cast<uint8_t>(byte)).trunc(width));
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes.data(), bytes.size()));
}
} // namespace perpend::graph
