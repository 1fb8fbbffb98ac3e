//===- Import.h - imports checkpoints of language models --------*- C++ -*-===//
//
// Makes a module with one function @main, tokens [batch, n] to logits [batch, n,
// vocabulary], from weights and settings alone: a GGUF file, or a folder with
// config.json and safetensors files. The module keeps the files mapped as long
// as its context lives, because weights stay in them.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_IMPORT_H
#define PERPEND_FRONTEND_CHECKPOINT_IMPORT_H

#include "support/DimensionOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace perpend::checkpoint {

using support::DimensionOption;

/// Options may name the dimensions batch, n, tokens:0 and tokens:1. Errors: null, and diagnostics in the context.
mlir::OwningOpRef<mlir::ModuleOp> importGguf(mlir::MLIRContext &context, llvm::StringRef path,
                                             llvm::ArrayRef<DimensionOption> dimensions = {});
mlir::OwningOpRef<mlir::ModuleOp> importFolder(mlir::MLIRContext &context, llvm::StringRef folder,
                                               llvm::ArrayRef<DimensionOption> dimensions = {});
} // namespace perpend::checkpoint

#endif
