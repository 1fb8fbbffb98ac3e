#include "support/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace perpend::support {
namespace {

/// A mapping. The signal handler walks the list of mappings, so entries are reused but never freed; begin is 0 in
/// unused ones.
struct Mapping {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> isCut{false};
  uint64_t number = 0; ///< counts openings, from 1
  std::thread::id opener;
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
  off_t sizeBytes = 0;
  timespec modified = {};
  Mapping *next = nullptr;
};

std::atomic<Mapping *> mappings{nullptr};
std::mutex mutex; // guards everything except what the handler reads
uint64_t latestNumber = 0;
int watches = 0;
struct Changed {
  uint64_t number;
  std::thread::id opener;
  std::string path;
};
std::vector<Changed> changedAndClosed; ///< recorded while there are watches
struct sigaction previous;

uintptr_t pageBytes() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

Mapping *findMapping(uintptr_t address) {
  for (Mapping *mapping = mappings.load(); mapping; mapping = mapping->next)
    if (address >= mapping->begin.load() && address < mapping->end.load())
      return mapping;
  return nullptr;
}

bool isSame(const struct sigaction &one, const struct sigaction &other) {
  const bool hasInfo = one.sa_flags & SA_SIGINFO;
  return hasInfo == bool(other.sa_flags & SA_SIGINFO) &&
         (hasInfo ? one.sa_sigaction == other.sa_sigaction : one.sa_handler == other.sa_handler);
}

/// Restores the previous handler. If that is the current one already, it has forwarded the signal to this handler and
/// had its turn, so the default action follows.
void restorePrevious() {
  struct sigaction current, standard = {};
  standard.sa_handler = SIG_DFL;
  const bool cameRound = sigaction(SIGBUS, nullptr, &current) == 0 && isSame(current, previous);
  sigaction(SIGBUS, cameRound ? &standard : &previous, nullptr);
}

/// Maps zeros where the file has shrunk, and lets the access be repeated.
void onBusError(int, siginfo_t *info, void *) {
  const int savedErrno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Mapping *mapping = info->si_code == BUS_ADRERR ? findMapping(address) : nullptr;
  const uintptr_t page = address & ~(pageBytes() - 1);
  if (mapping && mmap(reinterpret_cast<void *>(page), mapping->end.load() - page, PROT_READ,
                      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    mapping->isCut.store(true);
  else
    restorePrevious();    //  a real fault occurs again
  if (info->si_code <= 0) // a signal sent by a process does not
    raise(SIGBUS);
  errno = savedErrno;
}

bool isInstalled() {
  struct sigaction current;
  return sigaction(SIGBUS, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) &&
         current.sa_sigaction == onBusError;
}

/// Detects changes without a signal, too: truncation clears the rest of the last page, and writes appear in the mapping
/// at once. Replacing the file by another of its name does not change it. A file that was merely touched looks like one
/// that was written to; telling them apart would require reading all of it.
bool hasChanged(const Mapping &mapping) {
  struct stat now;
  return mapping.isCut.load() ||
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
    mapping.end.store(0);
    mapping.begin.store(0);
    munmap(const_cast<char *>(getBufferStart()), getBufferSize());
  }
  llvm::StringRef getBufferIdentifier() const override { return mapping.path; }
  BufferKind getBufferKind() const override { return MemoryBuffer_MMap; }

private:
  Mapping &mapping;
};

Mapping &newMapping(const std::string &path, const struct stat &status, uintptr_t begin) {
  const std::lock_guard<std::mutex> lock(mutex);
  Mapping *mapping = mappings.load();
  while (mapping && mapping->begin.load())
    mapping = mapping->next;
  const bool isNew = !mapping;
  if (isNew)
    mapping = new Mapping;
  mapping->number = ++latestNumber;
  mapping->opener = std::this_thread::get_id();
  mapping->path = path;
  mapping->device = status.st_dev;
  mapping->inode = status.st_ino;
  mapping->sizeBytes = status.st_size;
  mapping->isCut.store(false);
  mapping->modified = status.st_mtim;
  mapping->begin.store(begin);
  mapping->end.store(begin + static_cast<uintptr_t>(status.st_size));
  if (isNew) {
    mapping->next = mappings.load();
    mappings.store(mapping);
  }
  return *mapping;
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
  Mapping &mapping = newMapping(path, status, reinterpret_cast<uintptr_t>(begin));
  return std::make_unique<MappedBuffer>(mapping, static_cast<const char *>(begin), static_cast<size_t>(status.st_size));
}

void forgetPages(const void *bytes, size_t sizeBytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto from = reinterpret_cast<uintptr_t>(bytes);
  const Mapping *mapping = findMapping(from);
  const uintptr_t mask = pageBytes() - 1, begin = (from + mask) & ~mask, end = (from + sizeBytes) & ~mask;
  if (mapping && end <= mapping->end.load() && begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

/// A handler that others install over this one during a watch either forwards signals or wants them for itself.
FileWatch::FileWatch() : thread(std::this_thread::get_id()) {
  const std::lock_guard<std::mutex> lock(mutex);
  start = latestNumber;
  if (++watches > 1 || isInstalled())
    return;
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, &previous);
}

/// Handlers that others have installed since stay in place.
FileWatch::~FileWatch() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (--watches > 0)
    return;
  changedAndClosed.clear();
  if (isInstalled())
    sigaction(SIGBUS, &previous, nullptr);
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
  for (const Mapping *mapping = mappings.load(); mapping; mapping = mapping->next)
    if (mapping->begin.load() && isWatched(*mapping) && hasChanged(*mapping))
      return mapping->path;
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
