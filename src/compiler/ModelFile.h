//===- ModelFile.h - the kinds of files that hold models --------*- C++ -*-===//
//
// One table of what the commands and the Python package take as a model, and
// how each becomes a module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_COMPILER_MODELFILE_H
#define PERPEND_COMPILER_MODELFILE_H

#include "frontend/checkpoint/CacheOptions.h"
#include "support/DimensionOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace perpend {

enum class ModelKind { Library, Gguf, Safetensors, Text, Folder, Onnx };

struct LoadOptions {
  std::vector<support::DimensionOption> dimensions;
  /// Paths of files that describe operators (docs/howto/bring-an-operator.md).
  std::vector<std::string> operators;
  checkpoint::CacheOptions cache; ///< of checkpoints
};

/// Determined by the file's first bytes, or else by its name; what nothing tells is taken for ONNX.
llvm::Expected<ModelKind> modelKindOf(llvm::StringRef path, bool mayBeCompiled = true);

/// Loads a model that is not compiled. Errors: null, and diagnostics; an option that is not for this kind is one.
mlir::OwningOpRef<mlir::ModuleOp> loadModel(mlir::MLIRContext &context, llvm::StringRef path, ModelKind kind,
                                            const LoadOptions &options);
} // namespace perpend

#endif
