//===- Compare.h - are two arrays the same? ----------------------*- C++ -*-===//

#ifndef PERPEND_CLI_COMPARE_H
#define PERPEND_CLI_COMPARE_H

#include "cli/CompiledModel.h"

namespace perpend::cli {

struct Comparison {
  bool isGood = true;
  double maxAbsolute = 0, maxRelative = 0, tolerance = 0;
  /// Of the first element beyond the tolerance; -1: none, or the shapes differ.
  int64_t firstBad = -1;
  std::string problem; ///< when types or shapes differ
  /// Root mean squares, of the differences and of the reference: what a precision costs, all in all.
  std::optional<std::pair<double, double>> means = std::nullopt;
};

/// Integers must be equal. Floats may differ by a part of the reference's largest absolute value plus one of that or of 1,
/// whichever is less; both by type, or by that of the precision in which they were computed. NaN equals NaN, and
/// infinities must be equal.
Comparison compare(const Array &array, const Array &reference, StringRef precision = "f32");

/// "ok" or "DIFFERS" with the numbers, in one line.
std::string describe(StringRef name, const Comparison &comparison, const Array &array, const Array &reference);

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
