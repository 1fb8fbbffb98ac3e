//===- ZeroedMemory.cpp - memory of constants and tensors -----------------===//

#include "support/ZeroedMemory.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace perpend::support {

static constexpr uint64_t lineBytes = 64, manyBytes = 1 << 20;

std::shared_ptr<std::byte> allocateZeroed(uint64_t sizeBytes) {
  if (sizeBytes > SIZE_MAX - lineBytes)
    return nullptr;
  size_t rounded = sizeBytes == 0 ? lineBytes : (sizeBytes + lineBytes - 1) / lineBytes * lineBytes;
  if (rounded >= manyBytes) {
    void *pages = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
