//===- ZeroedMemory.cpp - memory of constants and tensors -----------------===//

#include "support/ZeroedMemory.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace perpend::support {

static constexpr uint64_t lineBytes = 64, manyBytes = 1 << 20;

static thread_local const char *folderOfMemory = nullptr;

MemoryInFiles::MemoryInFiles(const char *folder) : previous(folderOfMemory) {
  if (folder)
    folderOfMemory = folder;
}
MemoryInFiles::~MemoryInFiles() { folderOfMemory = previous; }

/// The disk's blocks are reserved at once: where they are missing, a write to the memory would be a signal. MAP_FAILED:
/// it cannot be had.
static void *mapNewFile(const char *folder, size_t bytes) {
  rlimit limit; // a larger file would be a signal, too
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes)
    return MAP_FAILED;
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0)
    return MAP_FAILED;
  void *pages = MAP_FAILED;
  if (fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0)
    pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return pages;
}

std::shared_ptr<std::byte> allocateZeroed(uint64_t sizeBytes) {
  if (sizeBytes > SIZE_MAX - lineBytes)
    return nullptr;
  size_t rounded = sizeBytes == 0 ? lineBytes : (sizeBytes + lineBytes - 1) / lineBytes * lineBytes;
  if (rounded >= manyBytes) {
    void *pages = folderOfMemory ? mapNewFile(folderOfMemory, rounded) : MAP_FAILED;
    if (pages == MAP_FAILED)
      pages = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      return nullptr;
    return {static_cast<std::byte *>(pages), [rounded](std::byte *memory) { munmap(memory, rounded); }};
  }
  auto *memory = static_cast<std::byte *>(std::aligned_alloc(lineBytes, rounded));
  if (!memory)
    return nullptr;
  std::memset(memory, 0, rounded);
  return {memory, [](std::byte *bytes) { std::free(bytes); }};
}

} // namespace perpend::support
