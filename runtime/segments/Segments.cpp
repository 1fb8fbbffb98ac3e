// Maps the files that have a model's weights into one range of addresses. A file is found by its name, and known by its
// size and, if the compiler has written it, its header; its contents are compared with their checksum on request.
#include "../Checksum.h"
#include "../include/perpend_module.h"
#include "BusGuard.h"
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

constexpr uint64_t pageBytes = PERPEND_SEGMENT_PAGE;
constexpr uint64_t pageOf(uint64_t offset) { return offset / pageBytes * pageBytes; }

using Fail = int32_t (*)(int32_t status, const char *text);

__attribute__((format(printf, 3, 4))) int32_t fail(Fail report, int32_t status, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return report(status, text);
}

int64_t modificationTime(const struct stat &attributes) {
  return attributes.st_mtim.tv_sec * int64_t{1000000000} + attributes.st_mtim.tv_nsec;
}

// A file and the ranges that are mapped from it. Of its records, it is the first one's.
struct File {
  const char *name; // in the tables
  int number;       // open for reading; -1: not its own
  uint64_t device, inode;
  int64_t bytes, modified;
  GuardedRange *range;
};

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

struct perpend_segments {
  const perpend_segment_record *records;
  uint32_t count;
  File *files; // one for each record
  char *base;
  uint64_t bytes; // of addresses
  Fail report;
  bool isDoubtful; // a file was written again, and has not been compared with its checksum since
};

namespace perpend::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Where files are looked for
//===----------------------------------------------------------------------===//

// Looks for one file in one place after the other, and keeps what it says of each.
class Search {
public:
  Search(const perpend_segment_record &record, File &file) : record(record), file(file) {}

  // What "%.*s/%s" is, if nothing has been found before.
  void lookIn(const char *folder, size_t length, const char *name) {
    char path[4096];
    if (isFound() ||
        snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length), folder, name) >= static_cast<int>(sizeof path))
      return;
    look(path);
  }
  void look(const char *path);
  bool isFound() const { return file.number >= 0; }
  int32_t failure(Fail report) const;

private:
  bool fits(int number, const char *path);

  const perpend_segment_record &record;
  File &file;
  char places[300] = "";
  char unfit[300] = ""; // why a file of this name is another one
};

bool Search::fits(int number, const char *path) {
  struct stat attributes;
  if (fstat(number, &attributes) != 0 || !S_ISREG(attributes.st_mode)) {
    snprintf(unfit, sizeof unfit, "'%.200s': expected a file", path);
    return false;
  }
  if (static_cast<uint64_t>(attributes.st_size) != record.fileBytes) {
    snprintf(unfit, sizeof unfit, "'%.200s': expected %llu bytes, got %lld", path,
             static_cast<unsigned long long>(record.fileBytes), static_cast<long long>(attributes.st_size));
    return false;
  }
  perpend_weights_header header = {};
  if (record.hasHeader && (pread(number, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
                           memcmp(header.magic, PERPEND_WEIGHTS_MAGIC, sizeof header.magic) ||
                           header.bytes != record.bytes || header.checksum != record.checksum)) {
    snprintf(unfit, sizeof unfit, "'%.200s': expected weights with checksum %08x, got %s %08x", path, record.checksum,
             memcmp(header.magic, PERPEND_WEIGHTS_MAGIC, sizeof header.magic) ? "another kind of file," : "checksum",
             header.checksum);
    return false;
  }
  file.device = attributes.st_dev;
  file.inode = attributes.st_ino;
  file.bytes = attributes.st_size;
  file.modified = modificationTime(attributes);
  return true;
}

void Search::look(const char *path) {
  size_t used = strlen(places);
  snprintf(places + used, sizeof places - used, "%s'%s'", used ? ", " : "", path);
  const int number = open(path, O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    if (errno != ENOENT && errno != ENOTDIR)
      snprintf(unfit, sizeof unfit, "'%.200s': expected a readable file, got error %d", path, errno);
    return;
  }
  if (fits(number, path))
    file.number = number;
  else
    close(number);
}

int32_t Search::failure(Fail report) const {
  if (*unfit)
    return fail(report, PERPEND_CORRUPT, "weights: %s; hint: copy the file that was compiled with the model", unfit);
  return fail(report, PERPEND_NOT_FOUND,
              "weights: the file '%.100s' is missing, looked for as %s; hint: ship it beside the model, or name its "
              "folder (PERPEND_WEIGHTS)",
              file.name, places);
}

// The file that is mapped at an address; empty: none.
void findMapped(const void *at, char *path, size_t size) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[4300];
  while (maps && !*path && fgets(line, sizeof line, maps)) {
    unsigned long begin = 0, end = 0;
    const char *slash = strchr(line, '/');
    if (!slash || sscanf(line, "%lx-%lx", &begin, &end) != 2 || reinterpret_cast<uintptr_t>(at) < begin ||
        reinterpret_cast<uintptr_t>(at) >= end)
      continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(path, size, "%s", slash);
  }
  if (maps)
    fclose(maps);
}

// "folder/model.so" and ".weights": "model.weights". False: too long.
bool besideName(const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path, *dot = strrchr(last, '.');
  const size_t length = dot && dot != last ? static_cast<size_t>(dot - last) : strlen(last);
  return snprintf(name, size, "%.*s.weights", static_cast<int>(length), last) < static_cast<int>(size);
}

const char *lastPart(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}

// path: of the artifact; folder: given by the caller, or NULL.
int32_t findFile(const perpend_segment_record &record, const char *path, const char *folder, File &file, Fail report) {
  Search search(record, file);
  const char *slash = strrchr(path, '/'), *own = slash ? path : ".";
  const size_t ownLength = slash ? static_cast<size_t>(slash - path) : 1;
  if (folder)
    search.lookIn(folder, strlen(folder), lastPart(file.name));
  if (*file.name == '/')
    search.look(file.name);
  else
    search.lookIn(own, ownLength, file.name);
  if (lastPart(file.name) != file.name)
    search.lookIn(own, ownLength, lastPart(file.name));
  char beside[256];
  if (record.hasHeader && besideName(path, beside, sizeof beside) && strcmp(beside, file.name))
    search.lookIn(own, ownLength, beside);
  for (const char *list = getenv("PERPEND_WEIGHTS"); list && *list;) {
    const size_t length = strcspn(list, ":");
    if (length)
      search.lookIn(list, length, lastPart(file.name));
    list += length + (list[length] == ':');
  }
  return search.isFound() ? PERPEND_OK : search.failure(report);
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

// False: the process has closed it, and its number may be another file's by now.
bool isOpen(const File &file, struct stat &attributes) {
  return file.number >= 0 && fstat(file.number, &attributes) == 0 && attributes.st_dev == file.device &&
         attributes.st_ino == file.inode;
}

void unmap(perpend_segments *segments) {
  for (uint32_t i = 0; i < segments->count; ++i) {
    File &file = segments->files[i];
    struct stat attributes;
    if (isOpen(file, attributes))
      close(file.number);
    if (file.range)
      releaseRange(file.range);
  }
  if (segments->base)
    munmap(segments->base, segments->bytes);
  free(segments);
}

bool mapRecord(perpend_segments &segments, uint32_t number, int file) {
  const perpend_segment_record &record = segments.records[number];
  char *address = segments.base + pageOf(record.position);
  const uint64_t bytes = record.position + record.bytes - pageOf(record.position);
  if (mmap(address, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, static_cast<off_t>(pageOf(record.offset))) ==
      MAP_FAILED)
    return false;
#ifdef MADV_HUGEPAGE
  // The system then keeps what it reads of the file in pieces of 2 MB. A run reads all weights one after the other, and
  // does so faster from large pieces. It is no error if the system or the file has no such pages.
  madvise(address, bytes, MADV_HUGEPAGE);
#endif
  const auto begin = reinterpret_cast<uintptr_t>(address);
  segments.files[number].range = guardRange(begin, begin + (bytes + pageBytes - 1) / pageBytes * pageBytes);
  return segments.files[number].range;
}

int32_t mapAll(perpend_segments &segments, const perpend_tables *tables, const char *path, const char *folder) {
  const perpend_segment_record &last = segments.records[segments.count - 1];
  segments.bytes = pageOf(last.position + last.bytes + pageBytes - 1);
  void *base = mmap(nullptr, segments.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return fail(segments.report, PERPEND_OUT_OF_MEMORY, "weights: no addresses for %llu bytes",
                static_cast<unsigned long long>(segments.bytes));
  segments.base = static_cast<char *>(base);
  for (uint32_t i = 0; i < segments.count; ++i) {
    File &file = segments.files[i];
    file.name = reinterpret_cast<const char *>(tables) + segments.records[i].file;
    uint32_t first = 0; // of the same file
    while (segments.files[first].name != file.name)
      ++first;
    int32_t status = first == i ? findFile(segments.records[i], path, folder, file, segments.report) : PERPEND_OK;
    if (status != PERPEND_OK)
      return status;
    if (!mapRecord(segments, i, segments.files[first].number))
      return fail(segments.report, PERPEND_OUT_OF_MEMORY, "weights: cannot map the file '%.100s', error %d", file.name,
                  errno);
  }
  return PERPEND_OK;
}

int32_t map(const perpend_module *module, const perpend_tables *tables, const char *path, const char *folder,
            Fail report, perpend_segments **result, const uint8_t **weights) {
  const uint32_t count = tables->segments.count;
  void *memory = calloc(1, sizeof(perpend_segments) + count * sizeof(File));
  if (!memory)
    return fail(report, PERPEND_OUT_OF_MEMORY, "weights: no memory for a list of %u files", count);
  auto *segments = new (memory) perpend_segments;
  segments->records = reinterpret_cast<const perpend_segment_record *>(reinterpret_cast<const char *>(tables) +
                                                                       tables->segments.position);
  segments->count = count;
  segments->files = reinterpret_cast<File *>(segments + 1);
  segments->report = report;
  for (uint32_t i = 0; i < count; ++i)
    segments->files[i].number = -1;
  char own[4096] = "";
  if (!path)
    findMapped(module, own, sizeof own);
  int32_t status = mapAll(*segments, tables, path ? path : own, folder);
  if (status != PERPEND_OK) {
    unmap(segments);
    return status;
  }
  *result = segments;
  *weights = reinterpret_cast<const uint8_t *>(segments->base);
  return PERPEND_OK;
}

//===----------------------------------------------------------------------===//
// What may happen to files later
//===----------------------------------------------------------------------===//

int32_t failCut(const perpend_segments &segments, const File &file, const char *when) {
  return fail(segments.report, PERPEND_CORRUPT,
              "weights: the file '%.100s' was cut short %s; hint: load the model again; to replace the file of a model "
              "that runs, rename a new one",
              file.name, when);
}

int32_t checkCut(const perpend_segments &segments, const char *when) {
  for (uint32_t i = 0; i < segments.count; ++i)
    if (segments.files[i].range->isCut.load(std::memory_order_relaxed))
      return failCut(segments, segments.files[i], when);
  return PERPEND_OK;
}

int32_t verify(perpend_segments *segments) {
  int32_t status = PERPEND_OK;
  raiseGuard();
  for (uint32_t i = 0; i < segments->count && status == PERPEND_OK; ++i) {
    const perpend_segment_record &record = segments->records[i];
    const uint32_t got = record.hasChecksum ? crc32c(segments->base + record.position, record.bytes) : 0;
    if (record.hasChecksum && got != record.checksum)
      status = fail(segments->report, PERPEND_CORRUPT,
                    "weights: the file '%.100s': checksum: expected %08x, got %08x; hint: the file was damaged or "
                    "written again, copy it again or compile the model again",
                    segments->files[i].name, record.checksum, got);
  }
  lowerGuard();
  int32_t cut = checkCut(*segments, "while it was read");
  return cut == PERPEND_OK ? status : cut;
}

// The size of every file. isWrittenAgain: of one at least, since it was looked at last.
int32_t checkSizes(perpend_segments &segments, const char *when, bool &isWrittenAgain) {
  for (uint32_t i = 0; i < segments.count; ++i) {
    File &file = segments.files[i];
    struct stat attributes;
    if (!isOpen(file, attributes))
      continue;
    if (attributes.st_size < file.bytes)
      return failCut(segments, file, when);
    const int64_t modified = modificationTime(attributes);
    isWrittenAgain |= modified != __atomic_exchange_n(&file.modified, modified, __ATOMIC_RELAXED);
  }
  return PERPEND_OK;
}

int32_t begin(perpend_segments *segments) {
  bool isWrittenAgain = false;
  int32_t status = checkCut(*segments, "in an earlier run");
  if (status == PERPEND_OK)
    status = checkSizes(*segments, "after it had been mapped", isWrittenAgain);
  if (isWrittenAgain)
    __atomic_store_n(&segments->isDoubtful, true, __ATOMIC_RELAXED);
  if (status == PERPEND_OK && __atomic_load_n(&segments->isDoubtful, __ATOMIC_RELAXED)) {
    status = verify(segments);
    if (status == PERPEND_OK)
      __atomic_store_n(&segments->isDoubtful, false, __ATOMIC_RELAXED);
  }
  if (status == PERPEND_OK)
    raiseGuard();
  return status;
}

// A file that loses only a part of its last page sends no signal.
int32_t end(perpend_segments *segments) {
  constexpr char when[] = "during the run";
  lowerGuard();
  bool isWrittenAgain = false;
  int32_t status = checkCut(*segments, when);
  if (status == PERPEND_OK)
    status = checkSizes(*segments, when, isWrittenAgain);
  if (isWrittenAgain)
    __atomic_store_n(&segments->isDoubtful, true, __ATOMIC_RELAXED);
  return status;
}

} // namespace
} // namespace perpend::runtime

const perpend_segment_functions perpend_segment_functions_v1 = {map, begin, end, verify, unmap};
