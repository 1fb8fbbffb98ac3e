//===- Tensors.h - reads tensors of ONNX files ------------------*- C++ -*-===//
//
// Tensors of more than 64 floats or 128 integers become resources, smaller ones dense attributes, which folding can
// read. A resource points into the mapped file if the file stores raw bytes of its type; lists of typed numbers,
// packed elements and sparse tensors, which become dense, are converted to a copy. Strings are always attributes.
// External data must be in the model's folder.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_TENSORS_H
#define PERPEND_FRONTEND_ONNX_TENSORS_H

#include "frontend/onnx/Model.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace perpend::onnx {

/// The element type; null for complex numbers and unknown types.
mlir::Type elementTypeOf(mlir::MLIRContext *context, DataType type);
/// tensor<...> (unranked if the shape is unknown, `?` for symbols); lists and optional values are tensors of one
/// element. Null: as above, and for maps.
mlir::Type typeOf(mlir::MLIRContext *context, const TypeProto &type);
/// ONNX's name of a data type, for messages.
std::string nameOf(DataType type);

class TensorReader {
public:
  /// `folder` has the external data (empty: not allowed); `file` stays mapped while its tensors are in use.
  TensorReader(mlir::MLIRContext *context, std::shared_ptr<llvm::MemoryBuffer> file, std::string folder)
      : context(context), file(std::move(file)), folder(std::move(folder)) {}

  /// Errors: null, and a message (without the tensor's name) in `error`.
  mlir::ElementsAttr read(const TensorProto &tensor, std::string &error);

private:
  using Buffer = std::shared_ptr<llvm::MemoryBuffer>;
  /// Elements as in memory, with at least one byte each, in the file or in `owned`.
  struct Stored {
    StringRef bytes;
    Buffer owner;
    std::unique_ptr<std::string> owned;
  };
  /// Errors: nullopt.
  std::optional<Stored> store(const TensorProto &tensor, mlir::Type elementType, uint64_t count, std::string &error);
  mlir::ElementsAttr readSparse(const TensorProto &tensor, mlir::Type elementType, uint64_t count, std::string &error);
  /// Row-major positions of a sparse tensor's elements. Errors: nullopt.
  std::optional<std::vector<uint64_t>> positionsOf(const TensorProto &tensor, std::string &error);
  mlir::ElementsAttr readTexts(const TensorProto &tensor, uint64_t count, std::string &error);
  std::optional<StringRef> bytesOf(const TensorProto &tensor, uint64_t sizeBytes, Buffer &owner, std::string &error);
  std::optional<StringRef> externalBytes(const TensorProto &tensor, uint64_t sizeBytes, Buffer &owner,
                                         std::string &error);
  Buffer openExternal(StringRef location, std::string &error);

  mlir::MLIRContext *context;
  Buffer file;
  std::string folder;
  llvm::StringMap<Buffer> externalFiles;
};
} // namespace perpend::onnx

#endif
