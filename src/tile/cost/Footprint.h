//===- Footprint.h - which memory loops touch --------------------*- C++ -*-===//

#ifndef PERPEND_TILE_COST_FOOTPRINT_H
#define PERPEND_TILE_COST_FOOTPRINT_H

#include "tile/KernelIndices.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace perpend::tile {

/// A range of numbers, both ends included.
struct NumberRange {
  double low = 0, high = 0;
  double count() const { return high - low + 1; }
};

/// The part of one buffer that is touched: a box.
struct TouchedBox {
  llvm::SmallVector<NumberRange> dims;
  /// How often, as the loops go.
  double times = 0;

  void add(const TouchedBox &other);
  /// Whole cache lines along the last dimension; never more than the buffer has.
  double bytes(BufferType type, double lineBytes) const;
};

/// The parts of all buffers.
struct Footprint {
  llvm::MapVector<mlir::Value, TouchedBox> boxes;

  void add(const Footprint &other);
  double bytes(double lineBytes) const;
};

/// The footprints of the statements of a kernel of blocks, a symbol counts as in CostModel.h. Loops around a statement
/// are at their first iteration, those inside run. Where an index is not affine, or was loaded, the box is a cover.
class FootprintFinder {
public:
  explicit FootprintFinder(mlir::func::FuncOp kernel);

  /// Of a loop or a block.
  const Footprint &of(mlir::Operation *statement);
  /// Of all statements of a loop's body, or of a kernel's.
  Footprint of(mlir::Block &body);
  /// Iterations of a loop, at least 1.
  double trips(ForOp loop);
  KernelIndices indices;

private:
  NumberRange rangeOf(const SymbolicInt &expression, mlir::Operation *statement);
  NumberRange rangeOf(const support::SymbolicAtom &atom, mlir::Operation *statement);
  NumberRange rangeOfName(llvm::StringRef name, mlir::Operation *statement);

  std::map<mlir::Operation *, Footprint> known; ///< which stay where they are
  llvm::DenseMap<mlir::Operation *, double> tripCounts;
  llvm::DenseMap<mlir::Operation *, Shape> places;
};
} // namespace perpend::tile

#endif
