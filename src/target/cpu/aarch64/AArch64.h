//===- AArch64.h - processors of AArch64 ------------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_AARCH64_AARCH64_H
#define PERPEND_TARGET_CPU_AARCH64_AARCH64_H

#include "target/cpu/Architecture.h"

namespace perpend::target {
const Architecture &aarch64();
/// Of Apple, whose objects are Mach-O.
const Architecture &apple();

/// _start (Start.cpp) and the instructions of functions (Functions.cpp).
extern const llvm::StringLiteral aarch64Start;
llvm::ArrayRef<InstructionFunction> aarch64Functions();
} // namespace perpend::target

#endif
