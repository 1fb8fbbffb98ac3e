//===- EmitObject.h - LLVM IR to an object file ------------------*- C++ -*-===//
//
// The last step of code generation for processors: optimise a module for a TargetInfo and write an ELF object.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_EMITOBJECT_H
#define PERPEND_TARGET_CPU_EMITOBJECT_H

#include "target/TargetInfo.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace perpend::target {

/// Texts to keep on the way, for `inspect`; null: not wanted.
struct EmitTexts {
  llvm::raw_ostream *optimisedIr = nullptr;
  llvm::raw_ostream *assembly = nullptr;
};

/// Success, or an error with the text of LLVM's verifier.
llvm::Error verifyIr(const llvm::Module &module);

/// Makes everything `module` defines invisible outside the artifact, except perpend_module*.
void hideDefinitions(llvm::Module &module);

/// Verifies `module`, sets triple, data layout and function attributes, optimises (0..3) and writes an ELF object.
/// Definitions become hidden as by hideDefinitions.
/// Units: one object. Errors: invalid IR (with the verifier's text), a target this LLVM lacks.
llvm::Error emitObject(llvm::Module &module, const TargetInfo &target, unsigned optLevel,
                       llvm::raw_pwrite_stream &output, const EmitTexts &texts = {});

/// The same in `partCount` objects, made on as many threads. Entries of kernels (Attributes.h) are dealt out by size;
/// local functions, kernels among them, and constants go with their users. All else is in the first. The objects depend
/// on partCount only.
llvm::Expected<std::vector<llvm::SmallVector<char, 0>>> emitObjectParts(llvm::Module &module, const TargetInfo &target,
                                                                        unsigned optLevel, unsigned partCount);

/// Tells LLVM what the memory planner guarantees of a kernel's pointers: no two buffers overlap, and none is kept.
void markNoAlias(llvm::Function &kernel);

} // namespace perpend::target

#endif
