// Files that are written as a whole; a full disk is an error like any other.
#ifndef PERPEND_SUPPORT_WRITEFILE_H
#define PERPEND_SUPPORT_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::support {

/// Replaces the file by what `write` prints, once it is whole: after an error an existing file is what it was, and none
/// is new. A device or a pipe takes the bytes as they come, as does a file in a folder that takes no other. Errors:
/// those of cannotWrite.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// The same for a file that nobody else looks at: it is written where it lies, with fewer calls of the system.
llvm::Error writePrivateFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Whether the file can be written, as far as can be told without writing: so that long work does not end with it.
/// Errors: those of cannotWrite.
llvm::Error checkWritableFile(llvm::StringRef path);

/// The same for one that another file replaces when that is whole: errors, too, where it is a device or a pipe.
llvm::Error checkReplaceableFile(llvm::StringRef path);

/// The same for files in a folder that is created with those above it. Errors: it, or one above it, is a file, or may
/// not be written to.
llvm::Error checkWritableFolder(llvm::StringRef path);

/// "cannot write 'PATH': reason", and the cure for this reason.
llvm::Error cannotWrite(llvm::StringRef path, std::error_code reason);

/// What went wrong with `stream` so far, which it then forgets: an error that nobody asks for ends the program when the
/// stream is destroyed.
std::error_code takeError(llvm::raw_fd_ostream &stream);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_WRITEFILE_H
