//===- Tuning.h - the kernels of a model as tasks for a tuner ----*- C++ -*-===//

#ifndef PERPEND_TUNING_H
#define PERPEND_TUNING_H

#include "Compiler.h"
#include "KernelFacts.h"
#include "target/TargetInfo.h"
#include "tune/Space.h"

#include "mlir/IR/OwningOpRef.h"

namespace perpend {

/// A distinct kernel of a model.
struct TuningTask {
  KernelFacts facts;
  std::string structure; ///< what it computes (docs/decisions/0014)
  /// What its symbols are at its first call.
  std::vector<std::pair<std::string, int64_t>> symbols;
  /// The kernel as a model of its own (KernelModel.h), and as plain blocks.
  mlir::OwningOpRef<mlir::ModuleOp> model, blocks;
  /// What its rule does.
  tune::Trace trace;
  /// Given ones, which it takes.
  std::vector<tune::Trace> sketches;
  /// Of a call: what the machine takes at least, by its peaks; 0: not known.
  double roofSeconds = 0;

  mlir::func::FuncOp kernelIn(mlir::ModuleOp module) const;
  /// "n=128,t=4"
  std::string symbolsText() const;
};

/// The tasks of a module at graph level, which is consumed; `symbols` are the model's, and `assumed` what is taken for
/// others. Errors: diagnostics on the module's context.
mlir::FailureOr<std::vector<TuningTask>> tuningTasksOf(mlir::ModuleOp module, CompileOptions options,
                                                       const target::TargetInfo &target,
                                                       const llvm::StringMap<int64_t> &symbols, int64_t assumed);

/// Compiles the kernel alone, with this trace. Errors: diagnostics; a primitive refuses.
mlir::LogicalResult compileTask(const TuningTask &task, const tune::Trace &trace, CompileOptions options,
                                llvm::StringRef output);
} // namespace perpend

#endif
