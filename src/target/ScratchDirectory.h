//===- ScratchDirectory.h - Temporary files of one compilation ---*- C++ -*-===//
//
// The linker reads files, so objects need a place on disk for a moment. It lies beside the output: on the same file
// system, where there is room for the weights twice, and where a rename is atomic.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_SCRATCHDIRECTORY_H
#define PERPEND_TARGET_SCRATCHDIRECTORY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace perpend::target {

/// A directory that is deleted with everything in it when the object dies.
class ScratchDirectory {
public:
  /// Errors: the folder of `output` is missing or not writable.
  static llvm::Expected<ScratchDirectory> createBeside(llvm::StringRef output);
  /// Where the system has temporary files. Errors: it has no folder for them, or no room.
  static llvm::Expected<ScratchDirectory> createTemporary();
  ScratchDirectory(ScratchDirectory &&other);
  ScratchDirectory &operator=(ScratchDirectory &&) = delete;
  ~ScratchDirectory();

  /// The path of a file of this name, which need not exist.
  std::string pathOf(llvm::StringRef name) const;
  /// Writes a file and returns its path.
  llvm::Expected<std::string> write(llvm::StringRef name, llvm::StringRef bytes) const;

private:
  explicit ScratchDirectory(llvm::StringRef path) : path(path) {}
  std::string path;
};

/// Replaces `output` by the finished file at `from`, which must lie on the same file system.
llvm::Error moveIntoPlace(llvm::StringRef from, llvm::StringRef output);

} // namespace perpend::target

#endif
