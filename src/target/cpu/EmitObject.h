//===- EmitObject.h - compiles LLVM IR to an object file --------*- C++ -*-===//
//
// The last step for processors: optimises a module for a TargetInfo and writes an ELF object.
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

/// Texts to keep for `inspect`; null: not wanted.
struct EmitTexts {
  llvm::raw_ostream *optimisedIr = nullptr;
  llvm::raw_ostream *assembly = nullptr;
};

/// Runs LLVM's verifier; its text is the error.
llvm::Error verifyIr(const llvm::Module &module);

/// Gives every definition of `module` hidden visibility, except perpend_module*.
void hideDefinitions(llvm::Module &module);

/// Verifies `module`, sets triple, data layout and function attributes, optimises (0..3) and writes an ELF object.
/// Definitions become hidden as by hideDefinitions.
/// Units: one object. Errors: invalid IR (with the verifier's text), a target this LLVM lacks.
llvm::Error emitObject(llvm::Module &module, const TargetInfo &target, unsigned optLevel,
                       llvm::raw_pwrite_stream &output, const EmitTexts &texts = {});

/// Like emitObject, but emits `partCount` objects on as many threads. Kernel entries (Attributes.h) are distributed by
/// size; local functions, kernels among them, and constants follow their users. Everything else is in the first object.
/// The objects depend on partCount only.
llvm::Expected<std::vector<llvm::SmallVector<char, 0>>> emitObjectParts(llvm::Module &module, const TargetInfo &target,
                                                                        unsigned optLevel, unsigned partCount);

/// Tells LLVM what memory planning guarantees for a kernel's pointers: buffers do not alias, and no pointer is
/// captured.
void markNoAlias(llvm::Function &kernel);

} // namespace perpend::target

#endif
