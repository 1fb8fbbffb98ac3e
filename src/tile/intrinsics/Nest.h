//===- Nest.h - a nest as axes in memory ------------------------*- C++ -*-===//
//
// Represents the loops around a block as axes: how far each moves every access of
// the block, in elements of memory.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_NEST_H
#define PERPEND_TILE_INTRINSICS_NEST_H

#include "tile/ir/KernelIndices.h"

namespace perpend::tile {

/// A loop of the nest, or several that continue one another in memory.
struct Axis {
  std::string name;
  SymbolicInt extent;
  bool isReduced = false;
  /// The number of existing iterations, if that may be smaller.
  std::optional<SymbolicInt> count;
  /// The stride of each access, and of each iterator of the block.
  Shape strides, ofIterators;
};

class Nest {
public:
  Nest(mlir::Operation *root, KernelIndices &indices) : root(root), indices(indices) {}

  /// False, with a reason, if it is not a suitable nest.
  bool read(std::string &why);
  /// Merges axes, except the last `kept`.
  void mergeAxes(size_t kept);

  BlockOp block;
  llvm::SmallVector<Access> accesses;
  /// The values of accesses and iterators when all axes are at 0.
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
