//===- Import.h - imports checkpoints of language models --------*- C++ -*-===//
//
// Builds a module whose @main maps tokens [batch, n] to logits [batch, n, vocabulary]. A checkpoint holds no graph:
// the importer builds it from weights and settings, which are a GGUF file, or a folder with config.json and
// safetensors files. The files stay mapped for the lifetime of the MLIRContext, because the module's weights refer to
// them without a copy.
//
// With a key-value cache, @main continues one sequence: it maps tokens [n], n >= 1, to the logits [vocabulary] of the
// last token. The cache is made of growing states (graph/States.h), keys and values of each layer, [tokens, KV heads,
// head size].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_IMPORT_H
#define PERPEND_FRONTEND_CHECKPOINT_IMPORT_H

#include "frontend/checkpoint/CacheOptions.h"
#include "support/DimensionOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace perpend::checkpoint {

struct ImportOptions {
  /// May name batch, n, tokens:0 and tokens:1; with a cache n and tokens:0.
  std::vector<support::DimensionOption> dimensions;
  CacheOptions cache;
  Result result = Result::LastLogits; ///< another needs a cache of one text
};

/// Whether folders whose config.json has this model_type can be imported.
bool isKnownModelType(llvm::StringRef modelType);

/// Errors: null, and diagnostics in the context.
mlir::OwningOpRef<mlir::ModuleOp> importGguf(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options = {});
mlir::OwningOpRef<mlir::ModuleOp> importFolder(mlir::MLIRContext &context, llvm::StringRef folder,
                                               const ImportOptions &options = {});
} // namespace perpend::checkpoint

#endif
