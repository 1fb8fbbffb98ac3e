//===- TuningNames.h - what the options of a tuner may name ------*- C++ -*-===//

#ifndef PERPEND_TUNINGNAMES_H
#define PERPEND_TUNINGNAMES_H

#include "TuningRun.h"

namespace perpend {

/// An option whose value is in no table.
struct UnknownName {
  std::string option; ///< "search", "cost-model"
  std::string message, hint;
};
/// Of the scheduler, the search, the space and the cost model, the first that there is not.
std::optional<UnknownName> unknownNameIn(const TuningOptions &options);

/// Keeps the tasks of these kernels; all, where none is named. Errors: a diagnostic; a name that no kernel has.
mlir::LogicalResult keepKernels(std::vector<TuningTask> &tasks, llvm::ArrayRef<std::string> names,
                                mlir::Location location);
} // namespace perpend

#endif
