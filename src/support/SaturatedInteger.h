// Floating-point numbers as integers, defined for every number: for what a model's attributes say. Casts that a model
// computes are truncateToInteger's (interp/Scalars.h), which gives what processors give.
#ifndef PERPEND_SUPPORT_SATURATEDINTEGER_H
#define PERPEND_SUPPORT_SATURATEDINTEGER_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

namespace perpend::support {

/// `value` without its fraction; the least or largest integer of this width where that is out of range; 0 for NaN.
inline llvm::APInt saturatedInteger(double value, unsigned width, bool isUnsigned) {
  llvm::APSInt integer(width, isUnsigned);
  bool isExact = false;
  (void)llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
  return integer;
}

inline int64_t saturatedInteger(double value) { return saturatedInteger(value, 64, false).getSExtValue(); }

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SATURATEDINTEGER_H
