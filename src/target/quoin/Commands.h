//===- Commands.h - the command lines of the quoin tools --------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_COMMANDS_H
#define PERPEND_TARGET_QUOIN_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace perpend::quoin {

/// Each takes the arguments behind the program's name, writes errors to stderr, and returns the status: 0 success,
/// 1 an error, and of `simulate` and `verify` 2 a trap or a finding.
int runAssembler(llvm::ArrayRef<llvm::StringRef> arguments);
int runDisassembler(llvm::ArrayRef<llvm::StringRef> arguments);
int runSimulator(llvm::ArrayRef<llvm::StringRef> arguments);
int runVerifier(llvm::ArrayRef<llvm::StringRef> arguments);

} // namespace perpend::quoin

#endif
