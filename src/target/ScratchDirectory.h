//===- ScratchDirectory.h - Temporary files of one compilation --*- C++ -*-===//
//
// The linker reads files, so objects must be on disk for a moment. The directory is beside the output: on the same
// file system, where there must be room for the weights twice, and where a rename is atomic.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_SCRATCHDIRECTORY_H
#define PERPEND_TARGET_SCRATCHDIRECTORY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace perpend::target {

/// A directory that is deleted with its contents by the destructor.
class ScratchDirectory {
public:
  /// Errors: the folder of `output` is missing or not writable.
  static llvm::Expected<ScratchDirectory> createBeside(llvm::StringRef output);
  /// Creates it in the system's directory for temporary files. Errors: there is none, or no room.
  static llvm::Expected<ScratchDirectory> createTemporary();
  ScratchDirectory(ScratchDirectory &&other);
  ScratchDirectory &operator=(ScratchDirectory &&) = delete;
  ~ScratchDirectory();

  /// The path of a file in the directory, which need not exist.
  std::string pathOf(llvm::StringRef name) const;
  /// Writes a file and returns its path.
  llvm::Expected<std::string> write(llvm::StringRef name, llvm::StringRef bytes) const;

private:
  explicit ScratchDirectory(llvm::StringRef path) : path(path) {}
  std::string path;
};

/// Replaces `output` by the finished file `from`, which must be on the same file system.
llvm::Error moveIntoPlace(llvm::StringRef from, llvm::StringRef output);

} // namespace perpend::target

#endif
