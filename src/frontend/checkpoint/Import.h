//===- Import.h - imports checkpoints of language models --------*- C++ -*-===//
//
// Makes a module with one function @main, tokens [batch, n] to logits [batch, n,
// vocabulary], from weights and settings alone: a GGUF file, or a folder with
// config.json and safetensors files. The module keeps the files mapped as long
// as its context lives, because weights stay in them.
//
// With a cache, main continues one sequence: tokens [n], n >= 1, to the logits
// [vocabulary] of the last of them. Keys and values of all tokens so far are
// states that grow (graph/States.h), [tokens, key heads, size of a head] each.
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
};

/// Errors: null, and diagnostics in the context.
mlir::OwningOpRef<mlir::ModuleOp> importGguf(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options = {});
mlir::OwningOpRef<mlir::ModuleOp> importFolder(mlir::MLIRContext &context, llvm::StringRef folder,
                                               const ImportOptions &options = {});
} // namespace perpend::checkpoint

#endif
