//===- Machines.h - one artifact for several machines ------------*- C++ -*-===//

#ifndef PERPEND_MACHINES_H
#define PERPEND_MACHINES_H

#include "Compiler.h"
#include "target/TargetInfo.h"

namespace perpend {

/// As compile(), for each of these machines: a variant of all that depends on it, and constants of equal bytes once.
/// Errors: those of compile(), and options that are for one machine.
mlir::LogicalResult compileForMachines(mlir::ModuleOp module, const CompileOptions &options,
                                       std::vector<target::TargetInfo> machines, ArtifactKind kind,
                                       llvm::StringRef output, CompileReport *report);
} // namespace perpend

#endif
