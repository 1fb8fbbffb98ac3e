//===- ContentHash.cpp - whether memory has changed -----------------------===//

#include "python/ContentHash.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"

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

uint64_t sampleHash(MemoryRange range) {
  constexpr int64_t places = 16, placeBytes = 64; // a cache line each
  if (range.sizeBytes <= places * placeBytes)
    return hashOf(range.address, range.sizeBytes);
  uint8_t sample[places * placeBytes];
  int64_t last = range.sizeBytes - placeBytes;
  for (int64_t i = 0; i < places; ++i) {
    int64_t offset = i + 1 == places ? last : (last / (places - 1) * i) & -placeBytes;
    std::memcpy(sample + i * placeBytes, reinterpret_cast<const uint8_t *>(range.address) + offset, placeBytes);
  }
  return llvm::xxh3_64bits(sample);
}
} // namespace perpend::python
