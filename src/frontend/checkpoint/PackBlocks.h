//===- PackBlocks.h - blocks as the graph's weights in groups ---*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H
#define PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H

#include "frontend/checkpoint/SharedBlocks.h"
#include "frontend/checkpoint/StoredTensors.h"

namespace perpend::checkpoint {

/// A matrix [rows, columns] in groups along the columns: an element is (number - zero) * scale. Without zeros, zero is
/// the middle of the numbers' range.
struct PackedBlocks {
  unsigned bits = 0;
  int64_t groupSize = 0;
  /// f16 if the file has them so, otherwise f32.
  bool hasHalfScales = false;
  /// u8 [rows, groups, bytes], the first number in the lowest bits; scales [rows, groups]; f32 [rows, groups] or null.
  std::shared_ptr<std::byte> numbers, scales, zeros;
  uint64_t numbersBytes = 0, scalesBytes = 0, zerosBytes = 0;
};

/// Whether blocks of this encoding have that form. Elements are then the same, bit for bit, but for those of encodings
/// with an offset: scale * number + offset, whose zero, -offset / scale, is rounded to f32.
bool canPack(Encoding encoding);
/// What a SharedBlocks has already, if the matrix is a part of a mapped file. Nullopt: there is no memory.
std::optional<PackedBlocks> packBlocks(const StoredTensor &matrix);
} // namespace perpend::checkpoint

#endif
