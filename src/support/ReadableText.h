// Text from models and data, made safe for terminals and comments.
#ifndef PERPEND_SUPPORT_READABLETEXT_H
#define PERPEND_SUPPORT_READABLETEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace perpend::support {

/// Keeps valid UTF-8; writes control characters and other bytes as "\n", "\t" or "\x1B", except those in `kept`.
std::string readable(llvm::StringRef text, llvm::StringRef kept = "");

/// Quotes a text, escaping '"' and '\'; cuts it after this many characters, with "...".
std::string quoted(llvm::StringRef text, size_t mostCharacters);

/// `1 input`, `2 inputs`.
std::string counted(size_t count, llvm::StringRef noun);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_READABLETEXT_H
