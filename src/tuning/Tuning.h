//===- Tuning.h - the kernels of a model as tuning tasks --------*- C++ -*-===//

#ifndef PERPEND_TUNING_TUNING_H
#define PERPEND_TUNING_TUNING_H

#include "compiler/Compiler.h"
#include "compiler/KernelFacts.h"
#include "target/Machine.h"
#include "tune/Space.h"
#include "tuning/ExtentSets.h"

#include "mlir/IR/OwningOpRef.h"

namespace perpend {

/// The kernel's symbols in its own order, with their values at its first call.
struct TaskExtents {
  std::vector<std::pair<std::string, int64_t>> symbols;
  int64_t calls = 0; ///< number of calls in one run of each model
  /// Lower bound of the time of a call, from the machine's peak rates; 0: unknown.
  double roofSeconds = 0;
  int64_t bytes = 0;       ///< bytes that a call reads and writes; 0: unknown
  int64_t otherBytes = 0;  ///< bytes that other kernels read and write between two calls
  double calledWeight = 0; ///< weight of the calls, scaled so that each set of extents gets its share of time
  double setWeight = 0;    ///< sum of the weights of those sets

  /// For example "n=128,t=4".
  std::string str() const;
};

/// A distinct kernel of one or several models.
struct TuningTask {
  KernelFacts facts;
  std::string structure; ///< canonical text of what it computes (docs/decisions/0014)
  /// tuningTasksOf() makes one entry for each of the model's sets of extents.
  std::vector<TaskExtents> extents;
  /// The kernel as a model of its own (KernelModel.h), and as blocks without a schedule.
  mlir::OwningOpRef<mlir::ModuleOp> model, blocks;
  /// The trace that the rules produce.
  tune::Trace trace;
  /// The user's traces that this kernel accepts.
  std::vector<tune::Trace> sketches;

  mlir::func::FuncOp kernelIn(mlir::ModuleOp module) const;
};

/// The tasks of a graph-level module, which is consumed. `sets`: extents of the model; `assumed`: value of symbols that
/// they lack. Errors: diagnostics on the module's context.
mlir::FailureOr<std::vector<TuningTask>> tuningTasksOf(mlir::ModuleOp module, CompileOptions options,
                                                       const target::Machine &target, llvm::ArrayRef<ExtentSet> sets,
                                                       int64_t assumed);

/// Merges the tasks of all models: kernels of equal structure become one task, equal extents one entry. Weights are
/// scaled such that every set takes as long as the longest set (by the machine's peak rates), times the set's own
/// weight.
std::vector<TuningTask> mergeTasks(std::vector<TuningTask> tasks, llvm::ArrayRef<ExtentSet> sets);

/// Compiles the kernel alone, with this trace. Errors (diagnostics): a primitive refuses.
mlir::LogicalResult compileTask(const TuningTask &task, const tune::Trace &trace, CompileOptions options,
                                llvm::StringRef output);
} // namespace perpend

#endif
