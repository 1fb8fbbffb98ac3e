//===- Import.h - imports ONNX models ---------------------------*- C++ -*-===//
//
// importOnnx() builds a module with one function @main from a model file. The file stays mapped for the lifetime of
// the MLIRContext, because the module's weights refer to it without a copy.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_IMPORT_H
#define PERPEND_FRONTEND_ONNX_IMPORT_H

#include "support/DimensionOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perpend::onnx {

using support::DimensionOption;

struct ImportOptions {
  std::vector<DimensionOption> dimensions;
  /// Paths of files that describe operators (docs/howto/bring-an-operator.md).
  std::vector<std::string> operators = {};
};

/// Errors: null, and diagnostics in the context. All unsupported operators are listed at once.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options = {});

/// As above, from a buffer; external data is read from `folder` (empty: not allowed).
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, std::shared_ptr<llvm::MemoryBuffer> model,
                                             llvm::StringRef name, llvm::StringRef folder = "",
                                             const ImportOptions &options = {});
/// The object files named by these descriptions of operators. Errors: nullopt, and a diagnostic.
std::optional<std::vector<std::string>> objectsOf(mlir::MLIRContext &context, llvm::ArrayRef<std::string> operators);
} // namespace perpend::onnx

#endif
