//===- References.h - what a model's outputs should be -----------*- C++ -*-===//

#ifndef PERPEND_CLI_REFERENCES_H
#define PERPEND_CLI_REFERENCES_H

#include "cli/CompiledModel.h"

namespace perpend::cli {

/// The outputs that the meaning of the operators gives. Errors: nullopt, in the module's diagnostics.
std::optional<std::vector<Array>> interpretModule(mlir::ModuleOp module, ArrayRef<Array> inputs);

/// The outputs of ONNX Runtime, which runs in Python, in the form of those of the compiled model: a list of maps is a
/// matrix. Without its graph optimisations, operators compute what ONNX defines. Errors: nullopt, printed.
std::optional<std::vector<Array>> runOnnxRuntime(StringRef path, ArrayRef<Array> inputs, const perpend_model *model,
                                                 bool isOptimised = true);

/// Compiles ever other beginnings of a model until the first operator whose value differs from the interpreter's is
/// found, and says which it is.
std::string findFirstDifference(const ModelSource &source, const CompileOptions &options, ArrayRef<Array> inputs);
} // namespace perpend::cli

#endif
