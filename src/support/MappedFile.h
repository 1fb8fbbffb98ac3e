// Memory-mapped files, protected against changes. If a mapped file is truncated, reading the missing part would end the
// process with SIGBUS; while a FileWatch exists, it reads as zeros. The watch reports that. It also reports files that
// were written to, because their mapping may mix old and new contents.
//
// Reading files instead would need additional memory of the size of the weights, which the system could not reclaim.
#ifndef PERPEND_SUPPORT_MAPPEDFILE_H
#define PERPEND_SUPPORT_MAPPEDFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace perpend::support {

/// The contents of a file: mapped, or read if that is impossible (empty files, pipes).
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> mapFile(const std::string &path);

/// Releases the pages of a mapped file; the system reads them again on use. Does nothing for other memory.
void forgetPages(const void *bytes, size_t sizeBytes);

/// Where mapped bytes lie in their file.
struct FilePlace {
  std::string path;
  uint64_t offset, fileBytes;
};
/// Nothing for memory that is no mapped file.
std::optional<FilePlace> placeInFile(const void *bytes);

/// Exists while mapped files are read; to be asked at the end, before results are used.
class FileWatch {
public:
  FileWatch();
  ~FileWatch();
  FileWatch(const FileWatch &) = delete;
  FileWatch &operator=(const FileWatch &) = delete;

  /// Also watches the file from which these bytes are mapped, if any. Files opened later by the watch's thread are
  /// watched automatically.
  void add(const void *bytes);
  /// The path of a file that has changed since it was mapped.
  std::optional<std::string> changedFile() const;

private:
  uint64_t start;
  std::thread::id thread;
  std::vector<uint64_t> added; ///< numbers of mappings
};

/// The error text for such a file.
std::string changedText(llvm::StringRef path);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_MAPPEDFILE_H
