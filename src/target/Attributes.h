//===- Attributes.h - marks on functions of LLVM -----------------*- C++ -*-===//
//
// What LLVM IR says of a compiled model's functions, each name once.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_ATTRIBUTES_H
#define PERPEND_TARGET_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::target {
/// Of a kernel's function (graph::kernelAttribute).
inline constexpr llvm::StringLiteral kernelAttribute = "perpend-kernel";
/// Of the function through which the runtime calls a kernel.
inline constexpr llvm::StringLiteral kernelEntryAttribute = "perpend-kernel-entry";
} // namespace perpend::target

#endif
