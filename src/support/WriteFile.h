// Files that are written as a whole; a full disk is an error like any other.
#ifndef PERPEND_SUPPORT_WRITEFILE_H
#define PERPEND_SUPPORT_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::support {

/// Replaces the file by what `write` prints. Errors: "cannot write 'PATH': reason"; nothing is left of the file.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// What went wrong with `stream` so far, which it then forgets: an error that nobody asks for ends the program when the
/// stream is destroyed.
std::error_code takeError(llvm::raw_fd_ostream &stream);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_WRITEFILE_H
