//===- Elements.h - types of elements, and functions of them ----*- C++ -*-===//
#ifndef PERPEND_TARGET_ACCELERATOR_ELEMENTS_H
#define PERPEND_TARGET_ACCELERATOR_ELEMENTS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace perpend::accelerator {

/// None: one that units do not compute with. Pred8: a byte that is 0 or 1.
enum class DType : uint8_t { None, I8, U8, I16, I32, F16, BF16, F32, Pred8 };

unsigned sizeOf(DType type); ///< in bytes; 0 for None
llvm::StringRef nameOf(DType type);

enum class Function : uint8_t {
#define ACCELERATOR_FUNCTION(name) name,
#include "target/accelerator/Functions.def"
};

} // namespace perpend::accelerator

#endif
