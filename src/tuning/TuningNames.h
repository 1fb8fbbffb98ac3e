//===- TuningNames.h - checks names in the tuner's options ------*- C++ -*-===//

#ifndef PERPEND_TUNING_TUNINGNAMES_H
#define PERPEND_TUNING_TUNINGNAMES_H

#include "tuning/TuningRun.h"

namespace perpend {

/// An option whose value is in none of the tables.
struct UnknownName {
  std::string option; ///< "search", "cost-model"
  std::string message, hint;
};
/// The first unknown name among scheduler, search, space and cost model.
std::optional<UnknownName> unknownNameIn(const TuningOptions &options);

/// Keeps the tasks of the named kernels; all if none is named. Errors (diagnostic): a name that no kernel has.
mlir::LogicalResult keepKernels(std::vector<TuningTask> &tasks, llvm::ArrayRef<std::string> names,
                                mlir::Location location);
} // namespace perpend

#endif
