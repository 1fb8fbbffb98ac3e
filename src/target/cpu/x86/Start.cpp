//===- Start.cpp - the entry point of an executable -----------------------===//
//
// By the x86-64 ABI, the stack holds argc and argv on entry, and rdx a function to register with atexit.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/x86/X86.h"

using namespace llvm;

namespace perpend::target {

const StringLiteral x86Start = R"(
  .section .text._start,"ax",@progbits
  .weak _start
  .type _start,@function
_start:
  xorl %ebp, %ebp
  movq %rdx, %r9
  popq %rsi
  movq %rsp, %rdx
  andq $-16, %rsp
  pushq %rax
  pushq %rsp
  xorl %r8d, %r8d
  leaq callInitialisers(%rip), %rcx
  movq main@GOTPCREL(%rip), %rdi
  callq *__libc_start_main@GOTPCREL(%rip)
  hlt
  .size _start, .-_start

  .hidden __init_array_start
  .hidden __init_array_end
  .type callInitialisers,@function
callInitialisers:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  subq $8, %rsp
  movl %edi, %r12d
  movq %rsi, %r13
  movq %rdx, %rbp
  leaq __init_array_start(%rip), %rbx
1:
  leaq __init_array_end(%rip), %rax
  cmpq %rax, %rbx
  jae 2f
  movl %r12d, %edi
  movq %r13, %rsi
  movq %rbp, %rdx
  callq *(%rbx)
  addq $8, %rbx
  jmp 1b
2:
  addq $8, %rsp
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  retq
  .size callInitialisers, .-callInitialisers
)";

} // namespace perpend::target
