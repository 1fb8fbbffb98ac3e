//===- LoadPlan.h - how an operand comes into L1 ----------------*- C++ -*-===//
//
// Loops along which an operand changes may go over the same elements, as those of a window and of its place do. Each
// element is loaded once: rows of what lies side by side, at two levels of distances.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_LOADPLAN_H
#define PERPEND_TARGET_QUOIN_COMPILE_LOADPLAN_H

#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// Of the extents of an instruction.
constexpr unsigned boxRank = 3;
using Extents = std::array<int64_t, boxRank>;
constexpr Extents mostBox = {65535, 4095, 4095};

/// A loop along which an operand changes, in elements. None of these strides is 0 or less.
struct LoadDim {
  int64_t extent = 1, stride = 0;
  int64_t near = 0;   ///< the stride in L1, which planLoad finds,
  unsigned level = 0; ///< and of which extent it is a part, which planLines is given
};

/// e1 * e2 rows of e0 elements, their distances in memory, and in L1.
struct LoadPlan {
  Extents extents = {1, 1, 1}, from = {0, 0, 0}, to = {0, 0, 0};
  int64_t elements = 0; ///< of L1; 0: no load has so many rows, or directions

  bool isLegal() const;
  /// A load of elements of a type, without its addresses; of another type in memory: one that converts.
  Instruction instruction(DType type, DType memory) const;
};

/// `row`: elements beyond which what lies between is not loaded, where it may be other values'; 0: there are none.
LoadPlan planLoad(llvm::MutableArrayRef<LoadDim> dims, int64_t row = 0);

/// Of an image that has a border: dimensions of level 0 make lines, which do not overlap in L1, and those of level 1 go
/// from line to line, which may be no further than from pixel to pixel. Where a part of each pixel is loaded, level 0
/// is that part, and lines of pixels and what goes from line to line are a level further out.
LoadPlan planLines(llvm::MutableArrayRef<LoadDim> dims);

} // namespace perpend::quoin

#endif
