// Suggestions for misspelt names.
#ifndef PERPEND_SUPPORT_NEAREST_H
#define PERPEND_SUPPORT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace perpend::support {

/// The candidate with the smallest edit distance; empty if none is close.
std::string nearest(llvm::StringRef word, llvm::ArrayRef<std::string> candidates);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_NEAREST_H
