//===- Tensor.h - values of the interpreter ---------------------*- C++ -*-===//
//
// A dense row-major array. Copies share the bytes; only the code that has just
// allocated a tensor may write it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_TENSOR_H
#define PERPEND_INTERP_TENSOR_H

#include "interp/ElementFormat.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace mlir {
class ElementsAttr;
} // namespace mlir

namespace perpend::interp {

struct Tensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// 64-byte aligned if allocated here; borrowed bytes (of constants) have their owner's alignment.
  std::shared_ptr<std::byte> bytes;

  /// Allocates zeros. Ownership: the bytes live as long as any copy. nullopt: the size overflows, the element type is
  /// unsupported (formatOf), or out of memory.
  static std::optional<Tensor> allocate(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);
  /// Copies C++ values of the element's size.
  template <typename T>
  static Tensor of(mlir::Type elementType, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<T> values) {
    Tensor tensor = *allocate(elementType, shape);
    std::copy(values.begin(), values.end(), tensor.mutableElements<T>().begin());
    return tensor;
  }
  /// A constant. Bytes are borrowed if the attribute stores elements like a tensor, so the context (and a resource's
  /// blob) must outlive the tensor. nullopt: a resource without data or of another size, or as for allocate.
  static std::optional<Tensor> fromAttribute(mlir::ElementsAttr attribute);

  /// The values as an attribute: a splat, a DenseElementsAttr up to 1 KiB, else a DenseResourceElementsAttr that
  /// shares the bytes.
  mlir::ElementsAttr toAttribute() const;

  int64_t elementCount() const;
  ElementFormat format() const { return *formatOf(elementType); }
  uint64_t sizeBytes() const { return static_cast<uint64_t>(elementCount()) * format().bytes(); }
  const std::byte *data() const { return bytes.get(); }
  std::byte *mutableData() { return bytes.get(); }
  template <typename T> llvm::ArrayRef<T> elements() const {
    return {reinterpret_cast<const T *>(data()), static_cast<size_t>(elementCount())};
  }
  template <typename T> llvm::MutableArrayRef<T> mutableElements() {
    return {reinterpret_cast<T *>(mutableData()), static_cast<size_t>(elementCount())};
  }
};

/// The number of elements; nullopt for negative extents or overflow.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);
/// In elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
} // namespace perpend::interp

#endif
