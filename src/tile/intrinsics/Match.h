//===- Match.h - whether a nest computes what an intrinsic does -*- C++ -*-===//
//
// A nest of loops around one block matches an intrinsic when its body is the
// description's, operation by operation (operands of commutative ones in any
// order), and its loops can be told off against the description's iterators: each
// moves the accesses that its iterator moves, by a stride that the intrinsic takes.
// Strides are those of memory, so the order of loops, transposed operands, batches
// and windows make no difference; loops that walk on where others end are one.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_MATCH_H
#define PERPEND_TILE_INTRINSICS_MATCH_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// An intrinsic at its place in a kernel; expressions are over variables of loops around and symbols.
struct IntrinsicMatch {
  const Intrinsic *intrinsic = nullptr;
  BlockOp block;

  /// What a buffer of the description is.
  struct Tile {
    mlir::Value buffer;
    /// The position of its first element, and the strides of the description's dimensions, in elements.
    SymbolicInt base;
    Shape strides;
  };
  llvm::SmallVector<Tile> tiles;
  /// Of the description's iterators: the extent, and how many there are at this place where that may be fewer.
  Shape extents;
  llvm::SmallVector<std::optional<SymbolicInt>> counts;
  /// Pairs, the first less than the second: whether there is anything to do at this place.
  Shape conditions;

  /// What a parameter of the intrinsic is; and how many of its iterations there are where that may be fewer.
  SymbolicInt parameter(llvm::StringRef name) const;
  std::optional<SymbolicInt> count(llvm::StringRef name) const;
  bool isWhole() const {
    return llvm::none_of(counts, [](const auto &count) { return count.has_value(); });
  }
};

/// `root` is the outermost loop of the nest, or a block that holds nothing else.
std::optional<IntrinsicMatch> matchIntrinsic(mlir::Operation *root, const Intrinsic &intrinsic, KernelIndices &indices,
                                             std::string &why);

/// What of a block is what of a description, whatever extents, layouts and memories are.
struct Alignment {
  /// Of each iterator of the description, the block's.
  llvm::SmallVector<unsigned> iterators;
  /// Of each buffer of the description, the block's access to what it is there.
  llvm::SmallVector<Access> accesses;
};
/// Iterators move the same operands; where several of the block's do, it is the innermost that has more than one
/// iteration. The others stay outside. nullopt: the block computes something else, or has no such iterator.
std::optional<Alignment> alignIntrinsic(BlockOp block, const Intrinsic &intrinsic, std::string &why);

/// Where an intrinsic's extents are numbers, parts of a nest's loops can be its iterators: of each, the loop (counted
/// from the outermost) that is split by its extent. Other loops stay outside; so does the init of a sum that the
/// description takes as it is.
std::optional<llvm::SmallVector<std::optional<size_t>>> fitIntrinsic(mlir::Operation *root, const Intrinsic &intrinsic,
                                                                     KernelIndices &indices, std::string &why);
} // namespace perpend::tile

#endif
