//===- Profile.h - where a model's time goes ---------------------*- C++ -*-===//

#ifndef PERPEND_CLI_PROFILE_H
#define PERPEND_CLI_PROFILE_H

#include "cli/CompiledModel.h"

#include "target/TargetInfo.h"

namespace perpend::cli {

/// Measures the kernels of a model, and compares them with what the machine could do.
class Profiler {
public:
  /// `report`: of the compilation; empty for a model that was compiled before.
  Profiler(perpend_model *model, ArrayRef<Array> inputs, const CompileReport &report);

  /// A line for each kernel, the longest first. A roof is the time that its operations take on full vectors, or that
  /// reading its operands and writing its results takes, whichever is longer. False: a run failed, printed.
  bool print(int64_t threads, perpend_session *session, Execution &execution, llvm::raw_ostream &out) const;

private:
  struct Kernel;
  bool measure(std::vector<Kernel> &kernels, perpend_session *session, Execution &execution) const;
  void printRates(const Kernel &kernel, int64_t threads, llvm::raw_ostream &out) const;

  perpend_model *model;
  llvm::StringMap<const KernelFacts *> facts;
  /// The symbols in the inputs' shapes.
  llvm::StringMap<int64_t> symbols;
  std::optional<target::TargetInfo> target;
};
} // namespace perpend::cli

#endif
