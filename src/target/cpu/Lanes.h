//===- Lanes.h - scalar functions with vector counterparts ------*- C++ -*-===//
//
// For single instructions that LLVM IR has no operation for: kernels call a scalar function, and LLVM's vectoriser
// replaces it by a vector function in the loops that it vectorises. Both are inlined afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_LANES_H
#define PERPEND_TARGET_CPU_LANES_H

namespace llvm {
class Module;
} // namespace llvm

namespace perpend::target {
struct TargetInfo;

/// Defines the functions of TargetInfo.h that are called, in scalar and vector form, before LLVM optimises the module.
void defineLaneFunctions(llvm::Module &module, const TargetInfo &target);
/// Allows inlining, after the vectoriser. False if there are no such functions.
bool releaseLaneFunctions(llvm::Module &module);

} // namespace perpend::target

#endif
