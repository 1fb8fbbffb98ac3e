//===- IntrinsicTexts.h - the texts of a target's tensor intrinsics -*- C++ -*-===//
//
// The files of src/target/*/intrinsics, embedded by the build. tile/intrinsics parses them.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_INTRINSICTEXTS_H
#define PERPEND_TARGET_INTRINSICTEXTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace perpend::target {

struct IntrinsicText {
  llvm::StringRef file, text;
};
llvm::ArrayRef<IntrinsicText> intrinsicTexts();

/// Checks that some processor has a feature of this name. Errors: none has (names the nearest).
llvm::Error checkFeature(llvm::StringRef name);
} // namespace perpend::target

#endif
