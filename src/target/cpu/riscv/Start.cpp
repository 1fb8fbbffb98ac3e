//===- Start.cpp - the entry point of an executable -----------------------===//
//
// By the RISC-V ABI, the stack holds argc and argv on entry, a0 a function to register with atexit, and gp the address
// of __global_pointer$ from then on.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/riscv/RiscV.h"

using namespace llvm;

namespace perpend::target {

const StringLiteral riscvStart = R"(
  .section .text._start,"ax",@progbits
  .weak _start
  .type _start,@function
_start:
  .option push
  .option norelax
  lla gp, __global_pointer$
  .option pop
  mv a5, a0
  ld a1, 0(sp)
  addi a2, sp, 8
  andi sp, sp, -16
  mv a6, sp
  la a0, main
  lla a3, callInitialisers
  li a4, 0
  la t0, __libc_start_main
  li s0, 0
  li ra, 0
  jalr t0
  ebreak
  .size _start, .-_start

  .hidden __init_array_start
  .hidden __init_array_end
  .type callInitialisers,@function
callInitialisers:
  addi sp, sp, -48
  sd ra, 40(sp)
  sd s0, 32(sp)
  sd s1, 24(sp)
  sd s2, 16(sp)
  sd s3, 8(sp)
  sd s4, 0(sp)
  mv s0, a0
  mv s1, a1
  mv s2, a2
  lla s3, __init_array_start
  lla s4, __init_array_end
1:
  bgeu s3, s4, 2f
  mv a0, s0
  mv a1, s1
  mv a2, s2
  ld t0, 0(s3)
  addi s3, s3, 8
  jalr t0
  j 1b
2:
  ld ra, 40(sp)
  ld s0, 32(sp)
  ld s1, 24(sp)
  ld s2, 16(sp)
  ld s3, 8(sp)
  ld s4, 0(sp)
  addi sp, sp, 48
  ret
  .size callInitialisers, .-callInitialisers
)";

} // namespace perpend::target
