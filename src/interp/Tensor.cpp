//===- Tensor.cpp - values of the interpreter -----------------------------===//

#include "interp/Tensor.h"

#include "graph/ElementTypes.h"
#include "support/ZeroedMemory.h"

#include "perpend_module.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace perpend::interp {

/// Larger attributes are resources, which are not hashed or uniqued.
static constexpr uint64_t maxInlineBytes = 1024;

std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  if (llvm::is_contained(shape, 0))
    return llvm::all_of(shape, [](int64_t extent) { return extent >= 0; }) ? std::optional(int64_t{0}) : std::nullopt;
  for (int64_t extent : shape)
    if (extent < 0 || llvm::MulOverflow(count, extent, count))
      return std::nullopt;
  return count;
}

llvm::SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t Tensor::elementCount() const { return countElements(shape).value_or(0); }

std::optional<Tensor> Tensor::allocate(Type elementType, ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = countElements(shape);
  std::optional<ElementFormat> format = formatOf(elementType);
  int64_t size = 0;
  if (!count || !format || llvm::MulOverflow<int64_t>(*count, format->bytes(), size) ||
      size > INT64_MAX - PERPEND_ALIGNMENT)
    return std::nullopt;
  std::shared_ptr<std::byte> memory = support::allocateZeroed(size);
  if (!memory)
    return std::nullopt;
  return Tensor{elementType, SmallVector<int64_t>(shape), std::move(memory)};
}

static Tensor borrow(Type elementType, ArrayRef<int64_t> shape, ArrayRef<char> data) {
  auto *memory = reinterpret_cast<std::byte *>(const_cast<char *>(data.data()));
  return {elementType, SmallVector<int64_t>(shape), std::shared_ptr<std::byte>(memory, [](std::byte *) {})};
}

static void writeInteger(ElementFormat format, const APInt &bits, std::byte *memory) {
  uint64_t value = bits.getZExtValue();
  std::memcpy(memory, &value, format.bytes()); // little-endian: the low bytes
}

/// One element of a dense attribute, in memory order.
static void writeAttribute(ElementFormat format, Attribute attribute, std::byte *memory) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    writeInteger(format, integer.getValue(), memory);
  else
    writeInteger(format, cast<FloatAttr>(attribute).getValue().bitcastToAPInt(), memory);
}

static void fillWithFirst(Tensor &tensor) {
  unsigned size = tensor.format().bytes();
  std::byte *memory = tensor.mutableData();
  uint64_t filled = size, total = tensor.sizeBytes();
  for (; filled < total; filled *= 2)
    std::memcpy(memory + filled, memory, std::min(filled, total - filled));
}

static std::optional<Tensor> fromDense(DenseElementsAttr dense) {
  ShapedType type = dense.getType();
  std::optional<ElementFormat> format = formatOf(type);
  if (!format)
    return std::nullopt;
  bool isStoredLikeTensor = format->width % 8 == 0 && format->bytes() * 8u == format->width;
  if (!dense.isSplat() && isStoredLikeTensor)
    return borrow(type.getElementType(), type.getShape(), dense.getRawData());
  std::optional<Tensor> tensor = Tensor::allocate(type.getElementType(), type.getShape());
  if (!tensor || tensor->elementCount() == 0)
    return tensor;
  if (dense.isSplat()) {
    writeAttribute(*format, dense.getSplatValue<Attribute>(), tensor->mutableData());
    fillWithFirst(*tensor);
    return tensor;
  }
  for (auto [i, value] : llvm::enumerate(dense.getValues<APInt>()))
    writeInteger(*format, value, tensor->mutableData() + i * format->bytes());
  return tensor;
}

static graph::GraphDialect &dialectOf(Type elementType) {
  return static_cast<graph::GraphDialect &>(elementType.getDialect());
}

static std::optional<Tensor> fromTexts(DenseStringElementsAttr texts) {
  std::optional<Tensor> tensor = Tensor::allocate(texts.getElementType(), texts.getType().getShape());
  if (!tensor || tensor->elementCount() == 0)
    return tensor;
  graph::GraphDialect &dialect = dialectOf(texts.getElementType());
  auto identities = tensor->mutableElements<int64_t>();
  for (auto [identity, text] : llvm::zip(identities, texts.getValues<StringRef>()))
    identity = dialect.identityOf(text);
  return tensor;
}

std::optional<Tensor> Tensor::fromAttribute(ElementsAttr attribute) {
  if (auto texts = dyn_cast<DenseStringElementsAttr>(attribute))
    return fromTexts(texts);
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    return fromDense(dense);
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  if (!resource || !formatOf(resource.getType()))
    return std::nullopt;
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  Tensor tensor =
      borrow(resource.getElementType(), resource.getType().getShape(), blob ? blob->getData() : ArrayRef<char>());
  if (!blob || blob->getData().size() != tensor.sizeBytes())
    return std::nullopt;
  bool isAligned = reinterpret_cast<uintptr_t>(tensor.data()) % tensor.format().bytes() == 0;
  if (isAligned)
    return tensor;
  std::optional<Tensor> copy = allocate(tensor.elementType, tensor.shape);
  if (!copy)
    llvm::report_bad_alloc_error("the elements of a constant");
  std::memcpy(copy->mutableData(), tensor.data(), tensor.sizeBytes());
  return copy;
}

/// Whether all elements have equal bytes.
static bool isSplat(const Tensor &tensor) {
  uint64_t size = tensor.sizeBytes(), element = tensor.format().bytes();
  return size >= element && std::memcmp(tensor.data(), tensor.data() + element, size - element) == 0;
}

static Attribute firstElement(const Tensor &tensor) {
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data(), tensor.format().bytes());
  if (auto type = dyn_cast<FloatType>(tensor.elementType))
    return FloatAttr::get(type, APFloat(type.getFloatSemantics(), APInt(type.getWidth(), bits)));
  unsigned width = tensor.elementType.isIndex() ? 64 : tensor.elementType.getIntOrFloatBitWidth();
  return IntegerAttr::get(tensor.elementType, APInt(64, bits).trunc(width));
}

ElementsAttr Tensor::toAttribute() const {
  auto type = RankedTensorType::get(shape, elementType);
  if (isa<graph::StringType>(elementType)) {
    graph::GraphDialect &dialect = dialectOf(elementType);
    auto texts = llvm::map_to_vector(elements<int64_t>(), [&](int64_t identity) { return dialect.textOf(identity); });
    return DenseStringElementsAttr::get(type, texts);
  }
  bool hasDense = !graph::isMinifloat(elementType);
  if (hasDense && elementCount() > 0 && isSplat(*this))
    return DenseElementsAttr::get(type, firstElement(*this));
  ArrayRef<char> data(reinterpret_cast<const char *>(this->data()), sizeBytes());
  if (hasDense && data.size() <= maxInlineBytes) {
    if (format().width % 8 == 0)
      return DenseElementsAttr::getFromRawBuffer(type, data);
    SmallVector<APInt> values;
    for (char byte : data)
      values.push_back(APInt(8, static_cast<uint8_t>(byte)).trunc(format().width));
    return DenseElementsAttr::get(type, values);
  }
  auto keepAlive = [shared = bytes](void *, size_t, size_t) mutable { shared.reset(); };
  AsmResourceBlob blob(data, 64, std::move(keepAlive), /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, "folded", std::move(blob));
}
} // namespace perpend::interp
