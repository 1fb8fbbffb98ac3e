//===- Start.cpp - the entry point of an executable -----------------------===//
//
// By the AArch64 ABI, the stack holds argc and argv on entry, and x0 a function to register with atexit.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/aarch64/AArch64.h"

using namespace llvm;

namespace perpend::target {

const StringLiteral aarch64Start = R"(
  .section .text._start,"ax",@progbits
  .weak _start
  .type _start,@function
_start:
  mov x29, #0
  mov x30, #0
  mov x5, x0
  ldr x1, [sp]
  add x2, sp, #8
  mov x6, sp
  adrp x0, :got:main
  ldr x0, [x0, :got_lo12:main]
  adrp x3, callInitialisers
  add x3, x3, :lo12:callInitialisers
  mov x4, #0
  adrp x16, :got:__libc_start_main
  ldr x16, [x16, :got_lo12:__libc_start_main]
  blr x16
  brk #0
  .size _start, .-_start

  .hidden __init_array_start
  .hidden __init_array_end
  .type callInitialisers,@function
callInitialisers:
  stp x29, x30, [sp, #-64]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  str x23, [sp, #48]
  mov x29, sp
  mov w19, w0
  mov x20, x1
  mov x21, x2
  adrp x22, __init_array_start
  add x22, x22, :lo12:__init_array_start
  adrp x23, __init_array_end
  add x23, x23, :lo12:__init_array_end
1:
  cmp x22, x23
  b.hs 2f
  mov w0, w19
  mov x1, x20
  mov x2, x21
  ldr x3, [x22], #8
  blr x3
  b 1b
2:
  ldr x23, [sp, #48]
  ldp x21, x22, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #64
  ret
  .size callInitialisers, .-callInitialisers
)";

} // namespace perpend::target
