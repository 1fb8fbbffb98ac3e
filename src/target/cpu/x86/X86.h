//===- X86.h - processors of x86-64 -----------------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_X86_X86_H
#define PERPEND_TARGET_CPU_X86_X86_H

#include "target/cpu/Architecture.h"

namespace perpend::target {
const Architecture &x86();

/// _start (Start.cpp) and the instructions of functions (Functions.cpp).
extern const llvm::StringLiteral x86Start;
llvm::ArrayRef<InstructionFunction> x86Functions();
} // namespace perpend::target

#endif
