//===- ContentHash.cpp - whether memory has changed -----------------------===//

#include "python/ContentHash.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"

namespace perpend::python {

std::vector<uint64_t> contentHashes(const std::vector<std::pair<intptr_t, int64_t>> &memory) {
  llvm::DenseMap<std::pair<intptr_t, int64_t>, uint64_t> known;
  std::vector<uint64_t> hashes;
  for (const auto &piece : memory) {
    auto [entry, isNew] = known.try_emplace(piece, 0);
    if (isNew)
      entry->second = llvm::xxh3_64bits(
          llvm::ArrayRef(reinterpret_cast<const uint8_t *>(piece.first), static_cast<size_t>(piece.second)));
    hashes.push_back(entry->second);
  }
  return hashes;
}
} // namespace perpend::python
