//===- ModelComparison.h - times models with their schedules ----*- C++ -*-===//
//
// A kernel measured alone finds other data in the caches, other alignment and other neighbours than in its model. So
// the model itself is measured, with and without the schedules that were found, and the times of its kernels are
// compared.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNING_MODELCOMPARISON_H
#define PERPEND_TUNING_MODELCOMPARISON_H

#include "arrays/Array.h"
#include "compiler/Compiler.h"
#include "target/ScratchDirectory.h"
#include "tune/Space.h"
#include "tuning/ExtentSets.h"

#include <chrono>
#include <functional>

namespace perpend {

/// Times of one run, and each kernel's time relative to its time without schedules.
struct ModelTimes {
  double plainSeconds = 0, tunedSeconds = 0;
  llvm::StringMap<double> parts;
};

class ModelComparison {
public:
  struct Setting {
    CompileOptions compiler;
    llvm::StringMap<arrays::Array> inputs; ///< by name; inputs not given here are random
    int64_t seed = 1, threads = 1;
    int64_t assumed = 2;                       ///< value of symbols that are not in the set of extents
    std::string program;                       ///< path of the measuring program
    std::chrono::steady_clock::time_point end; ///< deadline of all processes
    std::function<bool()> isInterrupted;
  };
  /// `model` is as tuningTasksOf() leaves it. Errors: no temporary folder, a state that grows.
  static llvm::Expected<std::unique_ptr<ModelComparison>> make(mlir::ModuleOp model, const ExtentSet &extents,
                                                               Setting setting);

  /// Measures with these traces, given by kernel name. Errors: one line that says why the model cannot be measured.
  llvm::Expected<ModelTimes> compare(const llvm::StringMap<tune::Trace> &traces);

private:
  ModelComparison(mlir::ModuleOp model, Setting setting, target::ScratchDirectory folder)
      : model(model), setting(std::move(setting)), folder(std::move(folder)) {}
  double secondsLeft() const;
  /// `isFirst`: compile the library with these traces; otherwise it exists already.
  llvm::Expected<ModelTimes> compareOnce(const llvm::StringMap<tune::Trace> &traces, bool isFirst);
  llvm::Error compileTo(const std::string &library, const llvm::StringMap<tune::Trace> &traces);

  mlir::ModuleOp model;
  Setting setting;
  target::ScratchDirectory folder;
  llvm::StringMap<int64_t> symbols;
  bool isPrepared = false; ///< the inputs and the library without traces exist
};
} // namespace perpend

#endif
