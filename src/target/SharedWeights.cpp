//===- SharedWeights.cpp - Weights of several machines --------------------===//
#include "target/SharedWeights.h"

#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace perpend::target {

static constexpr uint64_t alignment = 64; // the memory planner's alignment of constants

uint64_t SharedWeights::byteCount() const { return alignTo(file.end(), alignment); }

uint64_t SharedWeights::place(ArrayRef<char> bytes) {
  const auto hash = BLAKE3::hash(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  auto [entry, isNew] = offsets.try_emplace(hash, byteCount());
  if (isNew) {
    file.fill(entry->second);
    file.write(bytes);
  }
  return entry->second;
}

} // namespace perpend::target
