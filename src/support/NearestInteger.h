// Floating-point numbers as integers, defined for every number.
#ifndef PERPEND_SUPPORT_NEARESTINTEGER_H
#define PERPEND_SUPPORT_NEARESTINTEGER_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

namespace perpend::support {

/// `value` without its fraction; the nearest integer where that is out of range, 0 for NaN.
inline int64_t nearestInteger(double value) {
  llvm::APSInt integer(64, /*isUnsigned=*/false);
  bool isExact = false;
  (void)llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
  return integer.getSExtValue();
}

} // namespace perpend::support

#endif // PERPEND_SUPPORT_NEARESTINTEGER_H
