//===- Import.h - ONNX models as graph modules ------------------*- C++ -*-===//
//
// importOnnx() makes a module with one function @main from a model file. The
// module keeps the file mapped as long as its context lives: weights stay in it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_IMPORT_H
#define PERPEND_FRONTEND_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perpend::onnx {

/// `subject`: a symbolic dimension's name, or `input:dimension`. `value`: a number that it has, or a symbol's name.
struct DimensionOption {
  std::string subject, value;
};

struct ImportOptions {
  std::vector<DimensionOption> dimensions;
  /// Paths of files that describe operators (docs/howto/bring-an-operator.md).
  std::vector<std::string> operators = {};
};

/// Errors: null, and diagnostics in the context. All unsupported operators are listed at once.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options = {});

/// As above, from a buffer; external data is looked for in `folder` (empty: not allowed).
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, std::shared_ptr<llvm::MemoryBuffer> model,
                                             llvm::StringRef name, llvm::StringRef folder = "",
                                             const ImportOptions &options = {});
/// The object files that these descriptions of operators name. Errors: nullopt, and a diagnostic.
std::optional<std::vector<std::string>> objectsOf(mlir::MLIRContext &context, llvm::ArrayRef<std::string> operators);
} // namespace perpend::onnx

#endif
