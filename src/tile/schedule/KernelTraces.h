//===- KernelTraces.h - traces attached to kernels --------------*- C++ -*-===//
//
// The attribute tile.trace of a kernel holds its schedule: before the phase `schedule` the trace to apply, afterwards
// the trace that was applied. It comes from the kernel's rule, the tuning database, an edited module, or a file of
// schedules (TraceText.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_KERNELTRACES_H
#define PERPEND_TILE_SCHEDULE_KERNELTRACES_H

#include "tile/schedule/TraceText.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::tile {

bool hasTrace(mlir::func::FuncOp kernel);

/// Stores the schedule's trace on the kernel.
void setTrace(mlir::func::FuncOp kernel, const KernelSchedule &schedule);

/// Applies the kernel's trace. Errors: emitted at the line of the file that the trace is from; the kernel is unchanged.
mlir::LogicalResult replayTrace(mlir::func::FuncOp kernel, KernelSchedule &schedule);

/// Reads a file of schedules for the machine `target`; one per kernel, unless `mayBeSeveral`. Emits errors: no such
/// file, invalid text, another machine.
mlir::FailureOr<std::vector<ScheduleText>> readSchedules(mlir::MLIRContext *context, llvm::StringRef file,
                                                         llvm::StringRef target, bool mayBeSeveral = false);

/// Attaches traces to the kernels of a module. Warns of schedules that fit no kernel.
void attachTraces(mlir::ModuleOp module, llvm::ArrayRef<ScheduleText> schedules, llvm::StringRef file);

/// Prints all kernels that have a trace, in the format that readSchedules reads.
std::string printSchedules(mlir::ModuleOp module, llvm::StringRef target);
} // namespace perpend::tile

#endif
