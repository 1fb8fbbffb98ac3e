//===- Attributes.h - function attributes in LLVM IR ------------*- C++ -*-===//
//
// Attributes by which the LLVM IR of a compiled model marks its functions, each
// named once.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_ATTRIBUTES_H
#define PERPEND_TARGET_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::target {
/// Marks the function of a kernel (graph::kernelAttribute).
inline constexpr llvm::StringLiteral kernelAttribute = "perpend-kernel";
/// Marks the function through which the runtime calls a kernel.
inline constexpr llvm::StringLiteral kernelEntryAttribute = "perpend-kernel-entry";
/// Marks bind, sizes and run, whose code is as long as main.
inline constexpr llvm::StringLiteral mainAttribute = "perpend-main";
} // namespace perpend::target

#endif
