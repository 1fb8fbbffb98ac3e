//===- RiscV.h - processors of RISC-V with 64 bits --------------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_RISCV_RISCV_H
#define PERPEND_TARGET_CPU_RISCV_RISCV_H

#include "target/cpu/Architecture.h"

namespace perpend::target {
const Architecture &riscv();

/// _start (Start.cpp) and the instructions of functions (Functions.cpp).
extern const llvm::StringLiteral riscvStart;
llvm::ArrayRef<InstructionFunction> riscvFunctions();
} // namespace perpend::target

#endif
