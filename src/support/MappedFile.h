// Files as memory, without the danger that comes with it: where somebody cuts a mapped file short, reading what is gone
// would end the process with SIGBUS. While a FileWatch exists it reads as zeros. The watch knows of that, and of files
// that were written to, which is half old and half new in memory.
//
// Reading files instead would need as much memory again as a model has weights, and could not be given back.
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

/// The content of a file: mapped, or read where that cannot be (empty files, pipes).
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> mapFile(const std::string &path);

/// Gives the pages of a mapped file back to the system, which reads them again when they are used. Does nothing for
/// bytes that lie elsewhere.
void forgetPages(const void *bytes, size_t sizeBytes);

/// Whoever reads mapped files has one while reading, and asks it at the end, before the result is used.
class FileWatch {
public:
  FileWatch();
  ~FileWatch();
  FileWatch(const FileWatch &) = delete;
  FileWatch &operator=(const FileWatch &) = delete;

  /// Also asks for the file that these bytes are mapped from, if they are. Files that the watch's thread opens later
  /// need no word.
  void add(const void *bytes);
  /// The path of a file that is not what it was when it was mapped.
  std::optional<std::string> changedFile() const;

private:
  uint64_t start;
  std::thread::id thread;
  std::vector<uint64_t> added; ///< mappings, by their numbers
};

/// The error that says so.
std::string changedText(llvm::StringRef path);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_MAPPEDFILE_H
