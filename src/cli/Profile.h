//===- Profile.h - times of a model's kernels -------------------*- C++ -*-===//

#ifndef PERPEND_CLI_PROFILE_H
#define PERPEND_CLI_PROFILE_H

#include "cli/CompiledModel.h"

#include "target/TargetInfo.h"

namespace perpend::cli {

/// Measures the kernels of a model and compares them with the machine's limits.
class Profiler {
public:
  /// `report`: of the compilation; empty for a model compiled earlier.
  Profiler(perpend_model *model, ArrayRef<Array> inputs, const CompileReport &report);

  /// Prints a line per kernel, the slowest first. The roof is the larger of the time for its operations on full vectors
  /// and the time for reading its operands and writing its results. False: a run failed, printed.
  bool print(int64_t threads, perpend_session *session, Execution &execution, llvm::raw_ostream &out) const;

private:
  struct Kernel;
  bool measure(std::vector<Kernel> &kernels, perpend_session *session, Execution &execution) const;
  void printRates(const Kernel &kernel, int64_t threads, llvm::raw_ostream &out) const;

  perpend_model *model;
  llvm::StringMap<const KernelFacts *> facts;
  /// The values of the symbols in the inputs' shapes.
  llvm::StringMap<int64_t> symbols;
  std::optional<target::TargetInfo> target;
};
} // namespace perpend::cli

#endif
