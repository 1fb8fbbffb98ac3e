//===- FloatOperations.h - F and D on registers -----------------*- C++ -*-===//

#ifndef PERPEND_TARGET_ACCELERATOR_SCALAR_FLOATOPERATIONS_H
#define PERPEND_TARGET_ACCELERATOR_SCALAR_FLOATOPERATIONS_H

#include "target/accelerator/scalar/Decode.h"

#include <array>
#include <optional>

namespace perpend::accelerator::scalar {

/// Executes an instruction on floats that accesses no memory; false: it is none, or has a rounding that is not
/// supported. All round to nearest even, except conversions to integers, which have every rounding. `status` is fcsr.
bool executeFloat(const Decoded &decoded, std::array<uint64_t, 32> &x, std::array<uint64_t, 32> &f, uint32_t status);

} // namespace perpend::accelerator::scalar

#endif
