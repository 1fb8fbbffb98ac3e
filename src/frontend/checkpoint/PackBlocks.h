//===- PackBlocks.h - blocks as the graph's weights in groups ---*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H
#define PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H

#include "frontend/checkpoint/StoredTensors.h"

namespace perpend::checkpoint {

/// A matrix [rows, columns] in blocks along the columns: an element is (number - middle of the range) * scale.
struct PackedBlocks {
  unsigned bits = 0;
  int64_t blockSize = 0;
  /// u8 [rows, blocks, bytes], the first number in the lowest bits, and f16 [rows, blocks].
  std::shared_ptr<std::byte> numbers, scales;
  uint64_t numbersBytes = 0, scalesBytes = 0;
};

/// Whether blocks of this encoding have that form: their numbers then are the same, bit for bit.
bool canPack(Encoding encoding);
/// Nullopt: there is no memory.
std::optional<PackedBlocks> packBlocks(const StoredTensor &matrix);
} // namespace perpend::checkpoint

#endif
