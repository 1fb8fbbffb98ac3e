//===- WeightMemory.cpp - Weights of artifacts in one process -------------===//
#include "target/WeightMemory.h"

#include "perpend_module.h"
#include "support/ZeroedMemory.h"

#include "llvm/Support/BLAKE3.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace perpend::target {

static WeightMemory::Piece copyOf(ArrayRef<char> bytes) {
  std::shared_ptr<std::byte> memory = support::allocateZeroed(bytes.size());
  if (memory)
    std::memcpy(memory.get(), bytes.data(), bytes.size());
  return {memory, reinterpret_cast<const char *>(memory.get())};
}

WeightMemory::Piece WeightMemory::place(ArrayRef<char> bytes, Piece given) {
  const Hash hash = BLAKE3::hash(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::lock_guard locked(mutex);
  if (pieces.size() >= mostPieces) {
    std::erase_if(pieces, [](const auto &entry) { return entry.second.expired(); });
    mostPieces = std::max<size_t>(mostPieces, 2 * pieces.size());
  }
  std::weak_ptr<const char> &known = pieces[hash];
  if (Piece piece = known.lock())
    return piece;
  bool isAligned = given && reinterpret_cast<uintptr_t>(given.get()) % PERPEND_ALIGNMENT == 0;
  Piece piece = isAligned ? std::move(given) : copyOf(bytes);
  known = piece;
  return piece;
}

} // namespace perpend::target
