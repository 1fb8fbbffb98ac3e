//===- RelaxedSums.h - products and sums in one instruction -----*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_WASM32_RELAXEDSUMS_H
#define PERPEND_TARGET_CPU_WASM32_RELAXEDSUMS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"

namespace perpend::target {

inline constexpr llvm::StringLiteral relaxedSimd = "relaxed-simd";

/// In vectors of 16 bytes, makes one relaxed instruction of each product and sum that may be contracted. An engine
/// rounds it once where the processor does, and otherwise twice.
void relaxSums(llvm::Function &function);

} // namespace perpend::target

#endif
