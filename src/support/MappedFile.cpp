#include "support/MappedFile.h"

#include "runtime/segments/BusGuard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <fcntl.h>
#include <list>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace perpend::support {
namespace {

struct Mapping {
  runtime::GuardedRange *range = nullptr; ///< null while the entry is not used
  uint64_t number = 0;                    ///< counts openings, from 1
  std::thread::id opener;
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
  off_t sizeBytes = 0;
  timespec modified = {};
};

/// Entries are reused, and never destroyed: buffers may live as long as the process.
std::list<Mapping> &allMappings() {
  static auto &list = *new std::list<Mapping>;
  return list;
}
std::mutex mutex;
uint64_t latestNumber = 0;
int watches = 0;
struct Changed {
  uint64_t number;
  std::thread::id opener;
  std::string path;
};
std::vector<Changed> changedAndClosed; ///< recorded while there are watches

uintptr_t pageBytes() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

Mapping *findMapping(uintptr_t address) {
  for (Mapping &mapping : allMappings())
    if (mapping.range && address >= mapping.range->begin.load() && address < mapping.range->end.load())
      return &mapping;
  return nullptr;
}

/// Detects changes without a signal, too: truncation clears the rest of the last page, and writes appear in the mapping
/// at once. Replacing the file by another of its name does not change it. A file that was merely touched looks like one
/// that was written to; telling them apart would require reading all of it.
bool hasChanged(const Mapping &mapping) {
  struct stat now;
  return mapping.range->isCut.load() ||
         (stat(mapping.path.c_str(), &now) == 0 && now.st_dev == mapping.device && now.st_ino == mapping.inode &&
          (now.st_size != mapping.sizeBytes || now.st_mtim.tv_sec != mapping.modified.tv_sec ||
           now.st_mtim.tv_nsec != mapping.modified.tv_nsec));
}

class MappedBuffer : public llvm::MemoryBuffer {
public:
  MappedBuffer(Mapping &mapping, const char *begin, size_t sizeBytes) : mapping(mapping) {
    init(begin, begin + sizeBytes, /*RequiresNullTerminator=*/false);
  }
  ~MappedBuffer() override {
    const std::lock_guard<std::mutex> lock(mutex);
    if (watches > 0 && hasChanged(mapping))
      changedAndClosed.push_back({mapping.number, mapping.opener, mapping.path});
    runtime::releaseRange(std::exchange(mapping.range, nullptr));
    munmap(const_cast<char *>(getBufferStart()), getBufferSize());
  }
  llvm::StringRef getBufferIdentifier() const override { return mapping.path; }
  BufferKind getBufferKind() const override { return MemoryBuffer_MMap; }

private:
  Mapping &mapping;
};

/// Null: there is no memory.
Mapping *newMapping(const std::string &path, const struct stat &status, uintptr_t begin) {
  const std::lock_guard<std::mutex> lock(mutex);
  runtime::GuardedRange *range = runtime::guardRange(begin, begin + static_cast<uintptr_t>(status.st_size));
  if (!range)
    return nullptr;
  std::list<Mapping> &mappings = allMappings();
  auto unused = llvm::find_if(mappings, [](const Mapping &mapping) { return !mapping.range; });
  Mapping *mapping = unused == mappings.end() ? &mappings.emplace_back() : &*unused;
  mapping->range = range;
  mapping->number = ++latestNumber;
  mapping->opener = std::this_thread::get_id();
  mapping->path = path;
  mapping->device = status.st_dev;
  mapping->inode = status.st_ino;
  mapping->sizeBytes = status.st_size;
  mapping->modified = status.st_mtim;
  return mapping;
}

} // namespace

llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> mapFile(const std::string &path) {
  struct stat status;
  void *begin = MAP_FAILED;
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) { // opening a pipe would have effects
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
      begin = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
      close(file);
  }
  if (begin == MAP_FAILED)
    return llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  Mapping *mapping = newMapping(path, status, reinterpret_cast<uintptr_t>(begin));
  if (!mapping) {
    munmap(begin, static_cast<size_t>(status.st_size));
    return std::make_error_code(std::errc::not_enough_memory);
  }
  return std::make_unique<MappedBuffer>(*mapping, static_cast<const char *>(begin),
                                        static_cast<size_t>(status.st_size));
}

void forgetPages(const void *bytes, size_t sizeBytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto from = reinterpret_cast<uintptr_t>(bytes);
  const Mapping *mapping = findMapping(from);
  const uintptr_t mask = pageBytes() - 1, begin = (from + mask) & ~mask, end = (from + sizeBytes) & ~mask;
  if (mapping && end <= mapping->range->end.load() && begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

std::optional<FilePlace> placeInFile(const void *bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  const Mapping *mapping = findMapping(address);
  if (!mapping)
    return std::nullopt;
  return FilePlace{mapping->path, address - mapping->range->begin.load(), static_cast<uint64_t>(mapping->sizeBytes)};
}

FileWatch::FileWatch() : thread(std::this_thread::get_id()) {
  runtime::raiseGuard();
  const std::lock_guard<std::mutex> lock(mutex);
  start = latestNumber;
  ++watches;
}

FileWatch::~FileWatch() {
  runtime::lowerGuard();
  const std::lock_guard<std::mutex> lock(mutex);
  if (--watches == 0)
    changedAndClosed.clear();
}

void FileWatch::add(const void *bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Mapping *mapping = findMapping(reinterpret_cast<uintptr_t>(bytes));
  if (mapping && !llvm::is_contained(added, mapping->number))
    added.push_back(mapping->number);
}

std::optional<std::string> FileWatch::changedFile() const {
  const std::lock_guard<std::mutex> lock(mutex);
  auto isWatched = [&](const auto &file) {
    return (file.number > start && file.opener == thread) || llvm::is_contained(added, file.number);
  };
  for (const Mapping &mapping : allMappings())
    if (mapping.range && isWatched(mapping) && hasChanged(mapping))
      return mapping.path;
  for (const Changed &file : changedAndClosed)
    if (isWatched(file))
      return file.path;
  return std::nullopt;
}

std::string changedText(llvm::StringRef path) {
  return ("the file '" + path +
          "' was changed or cut short while it was read\nhint: wait until it is written, then compile again")
      .str();
}

} // namespace perpend::support
