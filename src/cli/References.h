//===- References.h - reference outputs of a model --------------*- C++ -*-===//

#ifndef PERPEND_CLI_REFERENCES_H
#define PERPEND_CLI_REFERENCES_H

#include "cli/CompiledModel.h"

namespace perpend::cli {

/// The interpreter's outputs, then the states, after the last of so many runs on the same inputs. Errors: nullopt, in
/// the module's diagnostics.
std::optional<std::vector<Array>> interpretModule(mlir::ModuleOp module, ArrayRef<Array> inputs, unsigned runs = 1);

/// The outputs of ONNX Runtime, run in Python, in the compiled model's form: a list of maps is a matrix. Without its
/// graph optimisations, operators compute what ONNX defines. Errors: nullopt, printed.
std::optional<std::vector<Array>> runOnnxRuntime(StringRef path, ArrayRef<Array> inputs, const perpend_model *model,
                                                 bool isOptimised = true);

/// Compiles beginnings of a model until the first operator is found whose value differs from the interpreter's; returns
/// a description of it.
std::string findFirstDifference(const ModelSource &source, const CompileOptions &options, ArrayRef<Array> inputs);
} // namespace perpend::cli

#endif
