//===- LoopHints.h - what LLVM's vectoriser is told of loops ----*- C++ -*-===//
#ifndef PERPEND_TARGET_VECTOR_LOOPHINTS_H
#define PERPEND_TARGET_VECTOR_LOOPHINTS_H

#include "target/Machine.h"

namespace llvm {
class Function;
} // namespace llvm

namespace perpend::target {

/// Keeps LLVM from fully unrolling a short loop before it is vectorised, and chooses how many vectors of a long chain
/// of operations it computes at once. (Lowering scf drops loop annotations.)
void hintLoops(llvm::Function &function, const Machine &machine);

} // namespace perpend::target

#endif
