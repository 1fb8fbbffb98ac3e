//===- Footprint.h - memory footprints of loops -----------------*- C++ -*-===//

#ifndef PERPEND_TILE_COST_FOOTPRINT_H
#define PERPEND_TILE_COST_FOOTPRINT_H

#include "tile/ir/KernelIndices.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace perpend::tile {

/// A range of numbers, both ends inclusive.
struct NumberRange {
  double low = 0, high = 0;
  double count() const { return high - low + 1; }
};

/// The touched part of one buffer, as a box.
struct TouchedBox {
  llvm::SmallVector<NumberRange> dims;
  /// Number of accesses.
  double times = 0;

  void add(const TouchedBox &other);
  /// Bytes of the box, in whole cache lines along the last dimension; at most the size of the buffer.
  double bytes(BufferType type, double lineBytes) const;
};

/// The touched parts of all buffers.
struct Footprint {
  llvm::MapVector<mlir::Value, TouchedBox> boxes;

  void add(const Footprint &other);
  double bytes(double lineBytes) const;
};

/// Computes the footprints of statements in a kernel of blocks; symbols count as in CostModel.h. Loops around a
/// statement are at their first iteration, loops inside run completely. If an index is not affine, or was loaded, the
/// box is conservative.
class FootprintFinder {
public:
  explicit FootprintFinder(mlir::func::FuncOp kernel);

  /// The footprint of a loop or a block.
  const Footprint &of(mlir::Operation *statement);
  /// The footprint of all statements in a loop's body, or in a kernel.
  Footprint of(mlir::Block &body);
  /// The number of iterations of a loop, at least 1.
  double trips(ForOp loop);
  KernelIndices indices;

private:
  NumberRange rangeOf(const SymbolicInt &expression, mlir::Operation *statement);
  NumberRange rangeOf(const support::SymbolicAtom &atom, mlir::Operation *statement);
  NumberRange rangeOfName(llvm::StringRef name, mlir::Operation *statement);

  std::map<mlir::Operation *, Footprint> known; ///< std::map, because references must stay valid
  llvm::DenseMap<mlir::Operation *, double> tripCounts;
  llvm::DenseMap<mlir::Operation *, Shape> places;
};
} // namespace perpend::tile

#endif
