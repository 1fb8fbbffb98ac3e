//===- Architecture.h - what processors of a kind share ---------*- C++ -*-===//
//
// Each architecture has a folder beside this file, and a line in Architecture.cpp. What is known of one processor is in
// Machine.h and CodeGenerator.h.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_ARCHITECTURE_H
#define PERPEND_TARGET_CPU_ARCHITECTURE_H

#include "target/CodeGenerator.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/TargetParser/Triple.h"

namespace perpend::target {

/// The instruction behind a name of Machine::functions.
struct InstructionFunction {
  llvm::StringRef name;
  /// On vectors of 4, 8 or 16 lanes.
  llvm::Value *(*emit)(llvm::IRBuilder<> &builder, llvm::ArrayRef<llvm::Value *> operands, unsigned lanes);
};

struct Architecture {
  llvm::Triple::ArchType type;
  llvm::StringRef emulation;       ///< lld's -m
  llvm::StringRef dynamicLinker;   ///< path
  llvm::StringRef start;           ///< assembly of an executable's _start
  llvm::StringRef halfConversions; ///< the feature of processors that convert f16; without, an archive does it
  llvm::ArrayRef<InstructionFunction> functions;
  void (*initialise)(); ///< registers LLVM's back end
};

llvm::ArrayRef<const Architecture *> architectures();
/// That of the triple; null if it is none of these.
const Architecture *architectureOf(const CodeGenerator &code);
/// For errors, such as "x86_64".
std::string architectureNames();

} // namespace perpend::target

#endif
