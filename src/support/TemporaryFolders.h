// Folders that this program removes at exit, so that an interrupted program leaves nothing behind.
#ifndef PERPEND_SUPPORT_TEMPORARYFOLDERS_H
#define PERPEND_SUPPORT_TEMPORARYFOLDERS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <system_error>

namespace perpend::support {

/// Creates and registers a folder in the system's directory for temporary files.
std::error_code makeTemporaryFolder(llvm::SmallVectorImpl<char> &folder);
/// Creates and registers a folder beside `path`, where a rename to `path` is atomic.
std::error_code makeTemporaryFolderBeside(llvm::StringRef path, llvm::SmallVectorImpl<char> &folder);
/// Registers a folder that the caller creates.
void noteTemporaryFolder(llvm::StringRef path);
/// Removes the folder with its files; errors are ignored.
void removeTemporaryFolder(llvm::StringRef path);
/// Removes all registered folders. For early exits, when other threads may still be writing.
void removeTemporaryFolders();

} // namespace perpend::support

#endif // PERPEND_SUPPORT_TEMPORARYFOLDERS_H
