//===- StackUse.h - how much stack compiled code takes ----------*- C++ -*-===//
//
// Where there is no operating system, a program gives the stack its size. So the compiler adds up the frames of the
// longest chain of calls.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_STACKUSE_H
#define PERPEND_TARGET_CPU_STACKUSE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

#include <memory>
#include <optional>

namespace perpend::target {

class StackUse {
public:
  /// Notes the frames of all functions that code is generated for, from now on, as long as the module's context lives.
  explicit StackUse(llvm::Module &module);

  /// Once there is code: bytes of stack that a call of the function takes, without those of functions that the module
  /// does not define. A call through a pointer may reach any function of its type whose address is taken. nullopt:
  /// functions call each other in a circle, or a frame has no fixed size.
  std::optional<uint64_t> bytesOf(llvm::StringRef function) const;

private:
  llvm::Module &module;
  std::shared_ptr<llvm::StringMap<uint64_t>> frames;
};

} // namespace perpend::target

#endif
