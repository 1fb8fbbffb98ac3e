//===- Tuning.h - the kernels of a model as tasks for a tuner ----*- C++ -*-===//

#ifndef PERPEND_TUNING_H
#define PERPEND_TUNING_H

#include "Compiler.h"
#include "ExtentSets.h"
#include "KernelFacts.h"
#include "target/TargetInfo.h"
#include "tune/Space.h"

#include "mlir/IR/OwningOpRef.h"

namespace perpend {

/// A kernel's symbols in the order in which it has them, and what they are at its first call.
struct TaskExtents {
  std::vector<std::pair<std::string, int64_t>> symbols;
  int64_t calls = 0; ///< in a run of each model
  /// Of a call, what the machine takes at least, by its peaks; 0: not known.
  double roofSeconds = 0;
  int64_t bytes = 0;       ///< that a call reads and writes; 0: not known
  int64_t otherBytes = 0;  ///< those of other kernels between two calls
  double calledWeight = 0; ///< of calls: so that each set of the model's extents has its part of the time
  double setWeight = 0;    ///< of those sets

  /// "n=128,t=4"
  std::string str() const;
};

/// A distinct kernel of some models.
struct TuningTask {
  KernelFacts facts;
  std::string structure; ///< what it computes (docs/decisions/0014)
  /// As tuningTasksOf() makes them: one for each of the model's sets.
  std::vector<TaskExtents> extents;
  /// The kernel as a model of its own (KernelModel.h), and as plain blocks.
  mlir::OwningOpRef<mlir::ModuleOp> model, blocks;
  /// What its rule does.
  tune::Trace trace;
  /// Given ones, which it takes.
  std::vector<tune::Trace> sketches;

  mlir::func::FuncOp kernelIn(mlir::ModuleOp module) const;
};

/// The tasks of a module at graph level, which is consumed. `sets`: extents of the model, and `assumed` what is taken
/// for others. Errors: diagnostics on the module's context.
mlir::FailureOr<std::vector<TuningTask>> tuningTasksOf(mlir::ModuleOp module, CompileOptions options,
                                                       const target::TargetInfo &target, llvm::ArrayRef<ExtentSet> sets,
                                                       int64_t assumed);

/// Of all models: a kernel that several have is one, and has each extents once. Weights are such that all sets have the
/// time of the longest, times their own weights, by the machine's peaks.
std::vector<TuningTask> mergeTasks(std::vector<TuningTask> tasks, llvm::ArrayRef<ExtentSet> sets);

/// Compiles the kernel alone, with this trace. Errors: diagnostics; a primitive refuses.
mlir::LogicalResult compileTask(const TuningTask &task, const tune::Trace &trace, CompileOptions options,
                                llvm::StringRef output);
} // namespace perpend

#endif
