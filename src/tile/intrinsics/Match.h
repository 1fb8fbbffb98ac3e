//===- Match.h - matches nests with intrinsics ------------------*- C++ -*-===//
//
// A nest of loops around one block matches an intrinsic if its body equals the description's, operation by operation
// (operands of commutative operations in any order), and its loops can be assigned to the description's iterators:
// each loop moves the same accesses as its iterator, by a stride that the intrinsic accepts. Strides are strides in
// memory, so the order of loops, transposed operands, batches and windows make no difference. Two loops count as one
// if together they traverse memory with one stride.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_MATCH_H
#define PERPEND_TILE_INTRINSICS_MATCH_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// An intrinsic applied at a place in a kernel. Expressions are over variables of outer loops and symbols.
struct IntrinsicMatch {
  const Intrinsic *intrinsic = nullptr;
  BlockOp block;

  /// The part of a kernel's buffer that stands for a buffer of the description.
  struct Tile {
    mlir::Value buffer;
    /// The position of its first element, and the strides of the description's dimensions, in elements.
    SymbolicInt base;
    Shape strides;
  };
  llvm::SmallVector<Tile> tiles;
  /// For each iterator of the description: its extent, and the number of existing iterations if that may be smaller.
  Shape extents;
  llvm::SmallVector<std::optional<SymbolicInt>> counts;
  /// Pairs (a, b) meaning a < b: there is work to do here only if all hold.
  Shape conditions;

  /// The value of a parameter; and the number of existing iterations if that may be smaller.
  SymbolicInt parameter(llvm::StringRef name) const;
  std::optional<SymbolicInt> count(llvm::StringRef name) const;
  bool isWhole() const {
    return llvm::none_of(counts, [](const auto &count) { return count.has_value(); });
  }
};

/// `root` is the outermost loop of the nest, or a block that contains nothing else.
std::optional<IntrinsicMatch> matchIntrinsic(mlir::Operation *root, const Intrinsic &intrinsic, KernelIndices &indices,
                                             std::string &why);

/// The correspondence of a block to a description, regardless of extents, layouts and memories.
struct Alignment {
  /// For each iterator of the description, the block's iterator.
  llvm::SmallVector<unsigned> iterators;
  /// For each buffer of the description, the block's access to its counterpart.
  llvm::SmallVector<Access> accesses;
};
/// Iterators correspond if they move the same operands. If several of the block's do, the innermost with more than one
/// iteration is chosen, and the others stay outside. nullopt: the block computes something else, or lacks an iterator.
std::optional<Alignment> alignIntrinsic(BlockOp block, const Intrinsic &intrinsic, std::string &why);

/// If an intrinsic's extents are constants, parts of a nest's loops can become its iterators. Returns for each iterator
/// the loop to split by its extent, counted from the outermost. Other loops stay outside, as does the init of a sum
/// that the description continues.
std::optional<llvm::SmallVector<std::optional<size_t>>> fitIntrinsic(mlir::Operation *root, const Intrinsic &intrinsic,
                                                                     KernelIndices &indices, std::string &why);
} // namespace perpend::tile

#endif
