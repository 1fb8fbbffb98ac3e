//===- StartObject.cpp - The entry point of an executable -----------------===//
//
// Users of the compiler need no C development files, so the compiler provides its own `_start`, in the assembly of each
// architecture.
//
// Functions that run before main (init_array, which static constructors of C++ are in) are called by the function that
// __libc_start_main gets: glibc before 2.34 knows no other way, and a later one leaves them to it, too. The dynamic
// linker calls those that run after main.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/StartObject.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/EmitObject.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace perpend::target {

Expected<SmallVector<char, 0>> emitStartObject(const TargetInfo &target) {
  LLVMContext context;
  Module module("start", context);
  module.setModuleInlineAsm(architectureOf(target.code)->start);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  if (Error error = emitObject(module, target, 0, stream))
    return std::move(error);
  return object;
}

} // namespace perpend::target
