//===- StartObject.cpp - The entry point of an executable ----------------===//
//
// Users of the compiler need no C development files, so the compiler provides its own `_start`. By the x86-64 ABI,
// the stack holds argc and argv on entry, and rdx a function to register with atexit.
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
  xorl %ecx, %ecx
  movq main@GOTPCREL(%rip), %rdi
  callq *__libc_start_main@GOTPCREL(%rip)
  hlt
  .size _start, .-_start
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
