//===- StartObject.h - The entry point of an executable ---------*- C++ -*-===//
#ifndef PERPEND_TARGET_CPU_STARTOBJECT_H
#define PERPEND_TARGET_CPU_STARTOBJECT_H

#include "target/TargetInfo.h"

#include "llvm/ADT/SmallVector.h"

namespace perpend::target {

/// An object with a weak `_start` that calls `main` through the C library; replaces crt1.o.
llvm::Expected<llvm::SmallVector<char, 0>> emitStartObject(const TargetInfo &target);

} // namespace perpend::target

#endif
