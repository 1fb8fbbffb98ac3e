//===- Refusal.h - errors of files that are not as expected -----*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_REFUSAL_H
#define PERPEND_TOKENIZER_REFUSAL_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace perpend::tokenizer {

/// "what" and a line "hint: ...".
inline llvm::Error refuse(const llvm::Twine &what, const llvm::Twine &hint) {
  return llvm::createStringError(what + "\nhint: " + hint);
}

/// A component of a tokenizer that is not supported.
inline llvm::Error refuseComponent(llvm::StringRef role, llvm::StringRef name, llvm::StringRef expected) {
  return refuse("tokenizer: no " + role + " is named '" + name + "'; expected " + expected,
                "the file is newer than this version of Perpend, or made by another program");
}
} // namespace perpend::tokenizer

#endif
