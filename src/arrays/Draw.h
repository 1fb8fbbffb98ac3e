//===- Draw.h - random arrays -----------------------------------*- C++ -*-===//

#ifndef PERPEND_ARRAYS_DRAW_H
#define PERPEND_ARRAYS_DRAW_H

#include "arrays/Array.h"

#include <random>

namespace perpend::arrays {

/// Floats in [-1, 1), 8-bit integers over their range, other integers 0 or 1 (they are often indices), counts 1 or 2;
/// if there are several elements, one is not 0. Equal states of the generator give equal arrays on every machine.
/// Strings are small numbers.
Array draw(perpend_type type, llvm::ArrayRef<int64_t> shape, std::mt19937_64 &generator, bool isCount = false);
} // namespace perpend::arrays

#endif
