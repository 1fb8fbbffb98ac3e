//===- Nest.h - a nest as an intrinsic sees it -----------------*- C++ -*-===//
//
// Loops around one block as axes: how far each moves every access of the block, in
// elements of memory.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_NEST_H
#define PERPEND_TILE_INTRINSICS_NEST_H

#include "tile/KernelIndices.h"

namespace perpend::tile {

/// A loop of the nest, or several that follow one another through memory.
struct Axis {
  std::string name;
  SymbolicInt extent;
  bool isReduced = false;
  /// How many iterations there are, if that may be fewer.
  std::optional<SymbolicInt> count;
  /// Of each access, and of each iterator of the block.
  Shape strides, ofIterators;
};

class Nest {
public:
  Nest(mlir::Operation *root, KernelIndices &indices) : root(root), indices(indices) {}

  /// False: it is none, and `why`.
  bool read(std::string &why);
  /// But for the last ones.
  void mergeAxes(size_t kept);

  BlockOp block;
  llvm::SmallVector<Access> accesses;
  /// What accesses and iterators begin at.
  llvm::SmallVector<SymbolicInt> bases, iteratorBases;
  llvm::SmallVector<Axis> axes;
  Shape conditions;

  unsigned numberOf(mlir::Operation *access) const {
    return llvm::find_if(accesses, [&](const Access &known) { return known.op == access; }) - accesses.begin();
  }

private:
  bool readLoops(std::string &why);
  bool readKinds(std::string &why);
  bool readAccesses(std::string &why);
  bool readConditions(std::string &why);
  bool isHarmless(const Axis &axis);
  bool isReadBefore(mlir::func::FuncOp kernel, mlir::Value buffer, unsigned dim, const SymbolicInt &index);

  mlir::Operation *root;
  KernelIndices &indices;
  IndexRanges ranges;
  llvm::SmallVector<ForOp> loops;
  std::vector<std::string> variables;
};
} // namespace perpend::tile

#endif
