//===- Emitters.h - intrinsics whose code is made in C++ --------*- C++ -*-===//
//
// An emitter makes the code of a whole family of intrinsics, of any number of
// rows and columns and any elements. Each has a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_EMITTERS_H
#define PERPEND_TILE_INTRINSICS_EMITTERS_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

struct Emitter {
  llvm::StringLiteral name;
  /// Whether it can make code for what the description says.
  bool (*takes)(const Intrinsic &intrinsic);
  /// Puts the code in the place of the call. Columns are a number, and so are rows, unless it takes any. Errors are
  /// emitted at the call.
  mlir::LogicalResult (*lower)(CallIntrinsicOp call, const Intrinsic &intrinsic, const target::TargetInfo &target);
  /// Of a product in panels of so many columns: the rows of a block, at most; `rows` are those of the product.
  int64_t (*rowsAtOnce)(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                        const target::TargetInfo &target);
  /// Whether one call can be of the rows (or lines) that are left behind whole blocks, though only a run knows how
  /// many.
  bool takesAnyRows;
  /// Blocks of rows that one call may have: with several, it divides the depth so that the first cache serves them all.
  int64_t blocksAtOnce = 1;
  /// Lines of an image that one call may have, where the conditions allow it: each operand in a panel is read once for
  /// all of them.
  int64_t linesAtOnce = 1;
};

/// Null: there is none of this name.
const Emitter *findEmitter(llvm::StringRef name);
std::string emitterNames();

/// As rowsAtOnce of the intrinsic's emitter; an implementation in text is taken to hold its sums in registers.
int64_t rowsAtOnce(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                   const target::TargetInfo &target);

int64_t blocksAtOnce(const Intrinsic &intrinsic);
int64_t linesAtOnce(const Intrinsic &intrinsic);

/// A block of sums in vector registers (Registers.cpp).
extern const Emitter registersEmitter;
/// Its rowsAtOnce, of sums of a type and words of `group` elements: as many accumulators as registers allow, spread
/// evenly over the rows.
int64_t rowsInRegisters(mlir::Type sum, int64_t panel, int64_t group, std::optional<int64_t> rows,
                        const target::TargetInfo &target, int64_t sumsOfColumn = 1);
/// A block of sums in registers that are matrices (Tiles.cpp).
extern const Emitter tilesEmitter;
/// The same of numbers in groups (Groups.cpp).
extern const Emitter groupsEmitter;
} // namespace perpend::tile

#endif
