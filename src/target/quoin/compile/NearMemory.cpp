//===- NearMemory.cpp - what is taken of LLB ------------------------------===//
#include "target/quoin/compile/NearMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;

bool NearMemory::isFree(const Range &range) const {
  return range.end() <= bytes &&
         llvm::none_of(taken, [&](const Range &other) { return other.byte < range.end() && range.byte < other.end(); });
}

std::optional<uint64_t> NearMemory::takeLowest(uint64_t size, uint64_t from) {
  std::optional<uint64_t> lowest;
  auto consider = [&](uint64_t byte) {
    byte = llvm::alignTo(std::max(byte, from), lineBytes);
    if ((!lowest || byte < *lowest) && isFree({byte, size}))
      lowest = byte;
  };
  consider(0);
  for (const Range &range : taken)
    consider(range.end());
  if (lowest)
    take({*lowest, size});
  return lowest;
}

std::optional<uint64_t> NearMemory::highest(uint64_t size) const {
  std::optional<uint64_t> highest;
  auto consider = [&](uint64_t end) {
    if (end < size)
      return;
    const uint64_t byte = (end - size) / lineBytes * lineBytes;
    if ((!highest || byte > *highest) && isFree({byte, size}))
      highest = byte;
  };
  consider(bytes);
  for (const Range &range : taken)
    consider(range.byte);
  return highest;
}

} // namespace perpend::quoin
