//===- ModelComparison.h - what schedules gain in their model ----*- C++ -*-===//
//
// A kernel that is measured alone has other caches, other alignment and other
// neighbours than in its model. So the model itself is measured, with and without
// the schedules that were found, kernel by kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_MODELCOMPARISON_H
#define PERPEND_MODELCOMPARISON_H

#include "Compiler.h"
#include "ExtentSets.h"
#include "arrays/Array.h"
#include "target/ScratchDirectory.h"
#include "tune/Space.h"

#include <chrono>
#include <functional>

namespace perpend {

/// Of one run, and the time of each kernel as a part of that without schedules.
struct ModelTimes {
  double plainSeconds = 0, tunedSeconds = 0;
  llvm::StringMap<double> parts;
};

class ModelComparison {
public:
  struct Setting {
    CompileOptions compiler;
    llvm::StringMap<arrays::Array> inputs; ///< by name; others are drawn
    int64_t seed = 1, threads = 1;
    int64_t assumed = 2;                       ///< of symbols that the set of extents has not
    std::string program;                       ///< that measures
    std::chrono::steady_clock::time_point end; ///< of all processes
    std::function<bool()> isInterrupted;
  };
  /// `model`: as tuningTasksOf() leaves it. Errors: no temporary folder.
  static llvm::Expected<std::unique_ptr<ModelComparison>> make(mlir::ModuleOp model, const ExtentSet &extents,
                                                               Setting setting);

  /// With these traces, by the kernels' names. Errors: why the model is not measured, in a line.
  llvm::Expected<ModelTimes> compare(const llvm::StringMap<tune::Trace> &traces);

private:
  ModelComparison(mlir::ModuleOp model, Setting setting, target::ScratchDirectory folder)
      : model(model), setting(std::move(setting)), folder(std::move(folder)) {}
  double secondsLeft() const;
  /// `isFirst`: else the library with these traces is there.
  llvm::Expected<ModelTimes> compareOnce(const llvm::StringMap<tune::Trace> &traces, bool isFirst);
  llvm::Error compileTo(const std::string &library, const llvm::StringMap<tune::Trace> &traces);

  mlir::ModuleOp model;
  Setting setting;
  target::ScratchDirectory folder;
  llvm::StringMap<int64_t> symbols;
  bool isPrepared = false; ///< the inputs and the library without traces are there
};
} // namespace perpend

#endif
