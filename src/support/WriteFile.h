// Writes files atomically; a full disk is an error like any other.
#ifndef PERPEND_SUPPORT_WRITEFILE_H
#define PERPEND_SUPPORT_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::support {

/// Replaces the file by the output of `write` once that is complete: after an error, an existing file is unchanged and
/// no new one exists. Devices, pipes, and files in a folder that accepts no other file are written directly. Errors:
/// those of cannotWrite.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// The same for a file that nobody else reads: it is written in place, with fewer system calls.
llvm::Error writePrivateFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Checks that the file can be written, as far as possible without writing, so that long work does not fail at its end.
/// Errors: those of cannotWrite.
llvm::Error checkWritableFile(llvm::StringRef path);

/// The same for a file that will be replaced by another; a device or a pipe is an error, too.
llvm::Error checkReplaceableFile(llvm::StringRef path);

/// The same for files in a folder that will be created together with its parents. Errors: it, or a parent, is a file or
/// not writable.
llvm::Error checkWritableFolder(llvm::StringRef path);

/// "cannot write 'PATH': reason", with a remedy for that reason.
llvm::Error cannotWrite(llvm::StringRef path, std::error_code reason);

/// Returns and clears the error of `stream`: an error that is not cleared ends the program when the stream is
/// destroyed.
std::error_code takeError(llvm::raw_fd_ostream &stream);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_WRITEFILE_H
