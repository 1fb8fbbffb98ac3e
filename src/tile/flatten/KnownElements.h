//===- KnownElements.h - what memory holds while code is emitted -*- C++ -*-===//
//
// Blocks whose loops are unrolled read what others have just read or stored. Of
// code without branches, each element is loaded once here, and stored when the
// last of them has.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_FLATTEN_KNOWNELEMENTS_H
#define PERPEND_TILE_FLATTEN_KNOWNELEMENTS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace perpend::tile {

class KnownElements {
public:
  /// What a load of a scalar, or of a vector of those that follow one another, gives.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory, mlir::Value position,
                   mlir::Type type);
  /// A store, in place of one that nothing has read.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value memory, mlir::Value position);

private:
  /// A position is a number of elements behind a value, or (null) behind the start of the memory.
  struct Elements {
    mlir::Value behind;
    int64_t offset = 0, count = 1;
    mlir::Value value;
    /// Null: read since, or never written.
    mlir::Operation *store = nullptr;

    bool isSame(const Elements &other, mlir::Type stored) const {
      return behind == other.behind && offset == other.offset && value.getType() == stored;
    }
    bool mayOverlap(const Elements &other) const {
      return behind != other.behind || (offset < other.offset + other.count && other.offset < offset + count);
    }
  };
  static Elements at(mlir::Value position, mlir::Type type);

  /// Forgets what code that others have emitted since may have changed. Code is emitted forwards only.
  void catchUp(mlir::OpBuilder &builder);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Elements>> known; // by memory
  /// The code that has been seen: a block, up to an operation (null: none of it).
  mlir::Block *block = nullptr;
  mlir::Operation *last = nullptr;
};

/// Whether code that is emitted now stands behind an operation, in its block or in regions inside.
bool isBehind(mlir::OpBuilder &builder, mlir::Operation *op);
/// A scalar of such a type, or a vector of them, as memory holds it: less than a byte is one.
mlir::Type storedType(mlir::Type type, mlir::Value memory);
/// What lies in memory as a value.
mlir::Value asValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored, mlir::Type type);
} // namespace perpend::tile

#endif
