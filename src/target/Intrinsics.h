//===- Intrinsics.h - the texts of a target's tensor intrinsics -*- C++ -*-===//
//
// Files of src/target/*/intrinsics, which the build embeds. What they say is read by tile/intrinsics.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_INTRINSICS_H
#define PERPEND_TARGET_INTRINSICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace perpend::target {

struct IntrinsicText {
  llvm::StringRef file, text;
};
llvm::ArrayRef<IntrinsicText> intrinsicTexts();
} // namespace perpend::target

#endif
