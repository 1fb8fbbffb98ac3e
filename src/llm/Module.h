//===- Module.h - checkpoints become programs -------------------*- C++ -*-===//
//
// The module of a language model with everything that generates text: the graph
// with a cache, and as assets its tokenizer, its chat template and its settings
// (runtime/llm/Settings.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_LLM_MODULE_H
#define PERPEND_LLM_MODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace perpend::llm {

struct ModuleOptions {
  int64_t context = 0;           ///< the most tokens of a sequence; 0: as many as the model was trained with
  std::string cacheType = "f32"; ///< as frontend/checkpoint/CacheOptions.h has it
};

/// Imports a GGUF file, or a folder, which may be given by a safetensors file in it. Errors: null, and diagnostics. A
/// chat template that cannot be compiled is a warning.
mlir::OwningOpRef<mlir::ModuleOp> makeModule(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ModuleOptions &options);

/// The bits of the numbers that most bytes of grouped weights in products have: 2, 4 or 8; 0: there are none.
/// `--precision int8` makes these products faster, the more so the fewer bits there are.
int64_t bitsOfGroupedWeights(mlir::ModuleOp module);
} // namespace perpend::llm

#endif
