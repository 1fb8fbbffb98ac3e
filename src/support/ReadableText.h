// Texts of models and data, for terminals and comments.
#ifndef PERPEND_SUPPORT_READABLETEXT_H
#define PERPEND_SUPPORT_READABLETEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace perpend::support {

/// UTF-8 as it is; control characters and bytes that are no UTF-8 as "\n", "\t" or "\x1B", except those in `kept`.
std::string readable(llvm::StringRef text, llvm::StringRef kept = "");

/// In quotes, with '"' and '\' behind '\'; at most so many characters, then "...".
std::string quoted(llvm::StringRef text, size_t mostCharacters);

/// `1 input`, `2 inputs`.
std::string counted(size_t count, llvm::StringRef noun);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_READABLETEXT_H
