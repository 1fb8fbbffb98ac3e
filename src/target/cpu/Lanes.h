//===- Lanes.h - scalar functions with vector counterparts ------*- C++ -*-===//
//
// What a processor computes with one instruction, and LLVM has no operation for, or what a rare number alone needs a
// call for: kernels call a function of numbers, which LLVM's vectoriser replaces by one of vectors in loops that it
// takes. Both are written in place afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_LANES_H
#define PERPEND_TARGET_CPU_LANES_H

namespace llvm {
class Module;
} // namespace llvm

namespace perpend::target {
struct TargetInfo;

/// Those of Machine.h and FarFunctions.h that are called get their code, for numbers and for vectors, before LLVM
/// optimises the module.
void defineLaneFunctions(llvm::Module &module, const TargetInfo &target);
/// Allows inlining, after the vectoriser. False if there are no such functions.
bool releaseLaneFunctions(llvm::Module &module, const TargetInfo &target);

} // namespace perpend::target

#endif
