//===- StartObject.cpp - The entry point of an executable -----------------===//
//
// Users of the compiler need no C development files, so the compiler provides its own `_start`. By the x86-64 ABI,
// the stack holds argc and argv on entry, and rdx a function to register with atexit.
//
// Functions that run before main (init_array, which static constructors of C++ are in) are called by the function that
// __libc_start_main gets: glibc before 2.34 knows no other way, and a later one leaves them to it, too. The dynamic
// linker calls those that run after main.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/StartObject.h"
#include "target/cpu/EmitObject.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace perpend::target {

static constexpr StringLiteral startAssembly = R"(
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

Expected<SmallVector<char, 0>> emitStartObject(const TargetInfo &target) {
  LLVMContext context;
  Module module("start", context);
  module.setModuleInlineAsm(startAssembly);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  if (Error error = emitObject(module, target, 0, stream))
    return std::move(error);
  return object;
}

} // namespace perpend::target
