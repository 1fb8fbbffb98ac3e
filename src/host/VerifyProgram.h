//===- VerifyProgram.h - what a host program must hold ----------*- C++ -*-===//

#ifndef PERPEND_HOST_VERIFYPROGRAM_H
#define PERPEND_HOST_VERIFYPROGRAM_H

#include "host/Host.h"
#include "target/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::host {
/// Whether the entries of a module are programs that can run: kernels and segments exist and fit, symbols have values
/// where they are used, and no plan lets a value overwrite another one that is still read. Errors: a diagnostic, with
/// advice where a user may have written the plan.
mlir::LogicalResult verifyPrograms(mlir::ModuleOp module);

/// Whether the machine has the memories, devices and links of the programs, which are valid otherwise.
/// VerifyDevices.cpp
mlir::LogicalResult verifyDevices(mlir::ModuleOp module, const target::Machine &machine);

/// The part of it that is about names: binding, symbols, outputs and rooms. VerifyEntry.cpp
mlir::LogicalResult verifyEntry(EntryOp entry);
} // namespace perpend::host

#endif
