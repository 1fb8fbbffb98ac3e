//===- SeveralMachines.h - one artifact for several machines ----*- C++ -*-===//

#ifndef PERPEND_COMPILER_SEVERALMACHINES_H
#define PERPEND_COMPILER_SEVERALMACHINES_H

#include "compiler/Compiler.h"
#include "target/TargetInfo.h"

namespace perpend {

/// Like compile(), but for several machines: machine-dependent parts are compiled once per machine, equal constants are
/// stored once. Errors: those of compile(), and options that make sense for one machine only.
mlir::LogicalResult compileForMachines(mlir::ModuleOp module, const CompileOptions &options,
                                       std::vector<target::TargetInfo> machines, ArtifactKind kind,
                                       llvm::StringRef output, CompileReport *report);

/// The same where artifacts are modules of WebAssembly (SeveralModules.cpp).
mlir::LogicalResult compileForEngines(mlir::ModuleOp module, const CompileOptions &options,
                                      llvm::ArrayRef<target::TargetInfo> machines, llvm::StringRef output,
                                      CompileReport *report);
} // namespace perpend

#endif
