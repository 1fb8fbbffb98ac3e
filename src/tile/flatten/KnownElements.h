//===- KnownElements.h - forwards stores and loads, removes dead stores --*- C++ -*-===//
//
// Unrolled blocks read elements that an earlier block has loaded or stored. Within a basic block, this class reuses
// such values instead of loading them again, and removes a store that another store to the same elements overwrites
// before they are read.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_FLATTEN_KNOWNELEMENTS_H
#define PERPEND_TILE_FLATTEN_KNOWNELEMENTS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace perpend::tile {

class KnownElements {
public:
  /// Loads a scalar, or a vector of consecutive elements, or returns the known value.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory, mlir::Value position,
                   mlir::Type type);
  /// Stores, and erases an earlier store to the same place that nothing has read.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value memory, mlir::Value position);

private:
  /// Position: `offset` elements behind the value `behind`, or behind the start of the memory if that is null.
  struct Elements {
    mlir::Value behind;
    int64_t offset = 0, count = 1;
    mlir::Value value;
    /// The last store; null if it has been read since, or if there was none.
    mlir::Operation *store = nullptr;

    bool isSame(const Elements &other, mlir::Type stored) const {
      return behind == other.behind && offset == other.offset && value.getType() == stored;
    }
    bool mayOverlap(const Elements &other) const {
      return behind != other.behind || (offset < other.offset + other.count && other.offset < offset + count);
    }
  };
  static Elements at(mlir::Value position, mlir::Type type);

  /// Drops knowledge that operations emitted elsewhere since may have invalidated. Code must be emitted in program
  /// order.
  void catchUp(mlir::OpBuilder &builder);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Elements>> known; // by memory
  /// The code seen so far: a block, up to an operation (null: nothing yet).
  mlir::Block *block = nullptr;
  mlir::Operation *last = nullptr;
};

/// Whether the insertion point follows an operation in its block or is nested in one that does.
bool isBehind(mlir::OpBuilder &builder, mlir::Operation *op);
/// The memory representation of a scalar or vector type: elements below a byte take a byte.
mlir::Type storedType(mlir::Type type, mlir::Value memory);
/// Converts from the memory representation to a value.
mlir::Value asValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored, mlir::Type type);
} // namespace perpend::tile

#endif
