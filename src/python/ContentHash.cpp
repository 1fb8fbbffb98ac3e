//===- ContentHash.cpp - detects changes of memory ------------------------===//

#include "python/ContentHash.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstring>

namespace perpend::python {

static uint64_t hashOf(intptr_t address, int64_t sizeBytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(address), static_cast<size_t>(sizeBytes)));
}

std::vector<uint64_t> contentHashes(const std::vector<MemoryRange> &ranges) {
  llvm::DenseMap<std::pair<intptr_t, int64_t>, uint64_t> known;
  std::vector<uint64_t> hashes;
  for (const MemoryRange &range : ranges) {
    auto [entry, isNew] = known.try_emplace({range.address, range.sizeBytes}, 0);
    if (isNew)
      entry->second = hashOf(range.address, range.sizeBytes);
    hashes.push_back(entry->second);
  }
  return hashes;
}

static constexpr int64_t places = 16, lineBytes = 64;

int64_t sampleCount(MemoryRange range) {
  return std::max<int64_t>(1, llvm::divideCeil(range.sizeBytes, places * lineBytes));
}

uint64_t sampleHash(MemoryRange range, int64_t number) {
  uint8_t sample[places * lineBytes];
  int64_t count = sampleCount(range), sizeBytes = 0;
  for (int64_t i = 0; i < places; ++i) {
    int64_t offset = (i * count + number) * lineBytes, bytes = std::min(lineBytes, range.sizeBytes - offset);
    if (bytes <= 0)
      break;
    std::memcpy(sample + sizeBytes, reinterpret_cast<const uint8_t *>(range.address) + offset, bytes);
    sizeBytes += bytes;
  }
  return llvm::xxh3_64bits(llvm::ArrayRef(sample, static_cast<size_t>(sizeBytes)));
}
} // namespace perpend::python
