//===- PackBlocks.h - blocks as the graph's weights in groups ---*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H
#define PERPEND_FRONTEND_CHECKPOINT_PACKBLOCKS_H

#include "frontend/checkpoint/SharedBlocks.h"
#include "frontend/checkpoint/StoredTensors.h"

#include <array>

namespace perpend::checkpoint {

/// A matrix [rows, columns] in groups along the columns: an element is (number - zero) * scale - offset.
struct PackedBlocks {
  unsigned bits = 0;
  int64_t groupSize = 0;
  /// Groups of a block that shares a scale; 0: groups have scales of their own.
  int64_t sharing = 0;
  /// Of scales of their own: f16 if the file has them so, otherwise f32.
  bool hasHalfScales = false;
  /// What is subtracted from each number; if there are `zeros`, those are.
  int64_t zero = 0;
  struct Part {
    std::shared_ptr<std::byte> bytes;
    uint64_t size = 0;
  };
  /// u8 [rows, groups, bytes], the first number in the lowest bits.
  Part numbers;
  /// [rows, groups]: floats, or i8 that are times f16 [rows, groups / sharing].
  Part scales, sharedScales;
  /// [rows, groups]: f32 zero points; or offsets, i8 times f16 [rows, groups / sharing], which are subtracted from each
  /// scaled number. Null if there are none.
  Part zeros, offsets, sharedOffsets;

  std::array<Part *, 6> parts() { return {&numbers, &scales, &sharedScales, &zeros, &offsets, &sharedOffsets}; }
};

/// Whether blocks of this encoding have that form. Elements are then the same, bit for bit, but for those of encodings
/// with an offset of their own: scale * number + offset, whose zero, -offset / scale, is rounded to f32.
bool canPack(Encoding encoding);
/// What a SharedBlocks has already, if the matrix is a part of a mapped file. Nullopt: there is no memory.
std::optional<PackedBlocks> packBlocks(const StoredTensor &matrix);
} // namespace perpend::checkpoint

#endif
