// The folders that this program removes again, so that an interrupted one leaves nothing behind.
#ifndef PERPEND_SUPPORT_TEMPORARYFOLDERS_H
#define PERPEND_SUPPORT_TEMPORARYFOLDERS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <system_error>

namespace perpend::support {

/// A new folder where the system has temporary files; it is noted.
std::error_code makeTemporaryFolder(llvm::SmallVectorImpl<char> &folder);
/// A new folder in that of `path`, where a rename to `path` is atomic; it is noted.
std::error_code makeTemporaryFolderBeside(llvm::StringRef path, llvm::SmallVectorImpl<char> &folder);
/// The folder exists from now on.
void noteTemporaryFolder(llvm::StringRef path);
/// Removes the folder with its files; errors are ignored.
void removeTemporaryFolder(llvm::StringRef path);
/// Removes all that are left. For a program that ends early: threads that still write may be at work.
void removeTemporaryFolders();

} // namespace perpend::support

#endif // PERPEND_SUPPORT_TEMPORARYFOLDERS_H
