//===- KernelTraces.h - the traces that kernels carry ------------*- C++ -*-===//
//
// A kernel's attribute tile.trace says what its schedule does (before the kernel
// has been scheduled) or did (behind). It comes from the kernel's rule, from a
// module that somebody has edited, or from a file of schedules (TraceText.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_KERNELTRACES_H
#define PERPEND_TILE_SCHEDULE_KERNELTRACES_H

#include "tile/schedule/TraceText.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::tile {

bool hasTrace(mlir::func::FuncOp kernel);

/// What the schedule has done becomes the kernel's trace.
void setTrace(mlir::func::FuncOp kernel, const KernelSchedule &schedule);

/// Does what the kernel's trace says. Errors: emitted at the line of the file that it is from, nothing done.
mlir::LogicalResult replayTrace(mlir::func::FuncOp kernel, KernelSchedule &schedule);

/// Reads a file of schedules for the machine `target`, one for a kernel unless there `mayBeSeveral`. Errors: emitted:
/// no such file, its text, another machine.
mlir::FailureOr<std::vector<ScheduleText>> readSchedules(mlir::MLIRContext *context, llvm::StringRef file,
                                                         llvm::StringRef target, bool mayBeSeveral = false);

/// Gives the kernels of a module their traces. What fits no kernel is named in a warning.
void attachTraces(mlir::ModuleOp module, llvm::ArrayRef<ScheduleText> schedules, llvm::StringRef file);

/// The text that readSchedules reads, of all kernels that have a trace.
std::string printSchedules(mlir::ModuleOp module, llvm::StringRef target);
} // namespace perpend::tile

#endif
