//===- Pipeline.h - the phases of the compiler ------------------*- C++ -*-===//

#ifndef PERPEND_PIPELINE_H
#define PERPEND_PIPELINE_H

#include "target/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace perpend {

/// Inputs of the phases besides the module.
struct PhaseContext {
  const target::Machine &target;
  int64_t optLevel = 3;
  bool isChecked = false, isUnpacked = false; ///< see CompileOptions
  llvm::StringRef precision = "f32";
  llvm::StringRef plan = "best";
};

/// Who has to do something between phases.
class PhaseListener {
public:
  virtual ~PhaseListener() = default;
  /// Schedules for kernels may be given now.
  virtual mlir::LogicalResult afterKernelsAreMade() = 0;
  virtual mlir::LogicalResult afterKernelsAreScheduled() = 0;
  /// The last moment at which main says what its values are called and where they lie.
  virtual mlir::LogicalResult afterMemoryIsPlanned() = 0;
};

/// One step from a model to LLVM. The table in Pipeline.cpp drives --stop-after, --start-from, --dump-phases,
/// --override-phase, timing and documentation.
struct Phase {
  llvm::StringRef name;
  /// The property that holds after the phase, as one sentence.
  llvm::StringRef guarantees;
  void (*build)(mlir::OpPassManager &passes, const PhaseContext &context);
  /// `guarantees`, executable: emits an error and fails when it does not hold.
  mlir::LogicalResult (*check)(mlir::ModuleOp module, const PhaseContext &context);
  /// What a compilation does behind it; null: nothing.
  mlir::LogicalResult (PhaseListener::*after)() = nullptr;
};

llvm::ArrayRef<Phase> phases();
/// No phase before this one depends on the machine.
inline constexpr llvm::StringLiteral firstPhaseOfMachine = "pack";

/// Runs the phases from `first` to `last` (by name; empty: from the beginning, to the end) and calls `after` after
/// each; stops if that fails. Errors: diagnostics on the module's context.
mlir::LogicalResult runPhases(mlir::ModuleOp module, const PhaseContext &context, llvm::StringRef first,
                              llvm::StringRef last,
                              llvm::function_ref<mlir::LogicalResult(const Phase &, double seconds)> after);

/// For tools: registers all dialects that a module may contain, and all passes.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();
} // namespace perpend

#endif
