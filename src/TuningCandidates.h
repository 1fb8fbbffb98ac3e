//===- TuningCandidates.h - how a task's candidates are made -----*- C++ -*-===//

#ifndef PERPEND_TUNINGCANDIDATES_H
#define PERPEND_TUNINGCANDIDATES_H

#include "Tuning.h"
#include "arrays/Array.h"
#include "tune/LocalRunner.h"

namespace perpend {

/// Inputs of a module's `main` for a program that measures (tune/TensorFile.h); what is not given, by name, is drawn.
/// Empty: done; else why there are none.
std::string writeInputsOf(mlir::ModuleOp model, const llvm::StringMap<int64_t> &symbols,
                          const llvm::StringMap<arrays::Array> &given, int64_t seed, llvm::StringRef path);

class TuningCandidates : public tune::Candidates {
public:
  /// All are borrowed. `extents`: of the task; `given`: inputs of the model, which the kernel may read; others are
  /// drawn.
  TuningCandidates(const TuningTask &task, const TaskExtents &extents, const CompileOptions &options,
                   const llvm::StringMap<arrays::Array> &given, int64_t seed)
      : task(task), extents(extents), options(options), given(given), seed(seed) {}

  std::string compile(const tune::Trace &candidate, llvm::StringRef library) override;
  std::string writeInputs(llvm::StringRef path) override;
  bool readReference(llvm::StringRef path) override;
  std::string differenceOf(llvm::StringRef path) override;

private:
  const TuningTask &task;
  const TaskExtents &extents;
  const CompileOptions &options;
  const llvm::StringMap<arrays::Array> &given;
  int64_t seed;
  std::vector<arrays::Array> reference;
};
} // namespace perpend

#endif
