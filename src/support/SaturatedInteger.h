// Conversion of floating-point attributes to integers, defined for every number. For casts in a model see
// truncateToInteger (interp/Scalars.h), which behaves like processors.
#ifndef PERPEND_SUPPORT_SATURATEDINTEGER_H
#define PERPEND_SUPPORT_SATURATEDINTEGER_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

namespace perpend::support {

/// Truncates `value`; saturates to this width; 0 for NaN.
inline llvm::APInt saturatedInteger(double value, unsigned width, bool isUnsigned) {
  llvm::APSInt integer(width, isUnsigned);
  bool isExact = false;
  (void)llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
  return integer;
}

inline int64_t saturatedInteger(double value) { return saturatedInteger(value, 64, false).getSExtValue(); }

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SATURATEDINTEGER_H
