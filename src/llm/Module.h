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
#include "mlir/Support/LogicalResult.h"

#include <string>

namespace perpend::llm {

struct ModuleOptions {
  int64_t context = 0;           ///< the most tokens of a sequence; 0: as many as the model was trained with
  std::string cacheType = "f32"; ///< as frontend/checkpoint/CacheOptions.h has it
  /// Further entries, which share weights and states, by names with commas between them: `embed`, what the head takes
  /// of each token, and `verify`, the logits of each token.
  std::string entries = {};
};

/// Imports a GGUF file, or a folder, which may be given by a safetensors file in it. Errors: null, and diagnostics. A
/// chat template that cannot be compiled is a warning.
mlir::OwningOpRef<mlir::ModuleOp> makeModule(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ModuleOptions &options);

/// Makes a program of a module that any front end has made. Its entry `prefill`, or the only one, leads from tokens,
/// i64 [n], to the logits of the token that follows them, f32 [vocabulary], with states that begin with an empty text;
/// `decode` is made of it, with n = 1. Others are as in ModuleOptions, f32 [n, vocabulary or width]. settings: a folder
/// with what config.json, generation_config.json and tokenizer_config.json say, as far as there are such files.
/// tokenizer: a file or folder; empty: texts are tokens. context: as in ModuleOptions; states that grow get this
/// capacity. Errors: diagnostics.
mlir::LogicalResult completeModule(mlir::ModuleOp module, llvm::StringRef settings, llvm::StringRef tokenizer,
                                   int64_t context);

/// The bits of the numbers that most bytes of grouped weights in products have: 2, 4 or 8; 0: there are none.
/// `--precision int8` makes these products faster, the more so the fewer bits there are.
int64_t bitsOfGroupedWeights(mlir::ModuleOp module);
} // namespace perpend::llm

#endif
