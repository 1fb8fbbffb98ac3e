//===- BareProgram.h - objects without a runtime, to run --------*- C++ -*-===//
//
// An object of an architecture whose processors have no operating system is linked with start-up code and a main
// function (runtime/bare) to an image for a board, which an emulator of that runs. Inputs and outputs go through the
// debugger's standard streams (semihosting). An object of another architecture without a runtime can be inspected only.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_BAREPROGRAM_H
#define PERPEND_TARGET_BAREPROGRAM_H

#include "target/Program.h"

namespace perpend::target {

/// Whether a file is an object of an architecture without a runtime.
bool isBareObject(llvm::StringRef path);
/// Errors: it cannot be read, or no model is in it.
llvm::Expected<std::unique_ptr<Program>> loadBareProgram(llvm::StringRef path);

} // namespace perpend::target

#endif
