//===- TuningCandidates.h - builds candidates of a task ---------*- C++ -*-===//

#ifndef PERPEND_TUNING_TUNINGCANDIDATES_H
#define PERPEND_TUNING_TUNINGCANDIDATES_H

#include "arrays/Array.h"
#include "tune/LocalRunner.h"
#include "tuning/Tuning.h"

namespace perpend {

/// Writes inputs of a module's `main` for the measuring program (tune/TensorFile.h); those not given by name are
/// random. Returns why that is impossible; empty: done.
std::string writeInputsOf(mlir::ModuleOp model, const llvm::StringMap<int64_t> &symbols,
                          const llvm::StringMap<arrays::Array> &given, int64_t seed, llvm::StringRef path);

class TuningCandidates : public tune::Candidates {
public:
  /// Borrows all arguments. `extents`: those of the task; `given`: inputs of the model that the kernel may read; the
  /// other inputs are random.
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
