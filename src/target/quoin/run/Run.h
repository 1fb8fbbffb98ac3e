//===- Run.h - runs programs in the simulator -------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_RUN_RUN_H
#define PERPEND_TARGET_QUOIN_RUN_RUN_H

#include "target/Program.h"

namespace perpend::quoin {

/// Errors: it cannot be read, or is no program.
llvm::Expected<std::unique_ptr<target::Program>> loadProgram(llvm::StringRef path);

} // namespace perpend::quoin

#endif
