//===- WordShuffles.h - words of bytes in all lanes of a vector -*- C++ -*-===//
//
// LLVM writes a word of several elements in all lanes as a shuffle of the elements. Where vectors are those of a
// scalable extension, its code generator takes such a shuffle apart if the word is less than a register, and copies it
// byte by byte.
//
//   %word = load <4 x i8>, ptr %p
//   %all = shufflevector <4 x i8> %word, <4 x i8> poison, <32 x i32> <0, 1, 2, 3, 0, 1, 2, 3, …>
// becomes
//   %number = load i32, ptr %p
//   %lanes = <8 x i32> of %number
//   %all = bitcast <8 x i32> %lanes to <32 x i8>
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_WORDSHUFFLES_H
#define PERPEND_TARGET_CPU_WORDSHUFFLES_H

#include "llvm/IR/PassManager.h"

namespace perpend::target {

/// Runs last, on functions whose vectors have a length of a scalable extension (vscale_range).
struct BroadcastWords : llvm::PassInfoMixin<BroadcastWords> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace perpend::target

#endif
