//===- Emitters.h - functions that generate intrinsics' code ----*- C++ -*-===//
//
// An emitter generates the code of a family of intrinsics, for any number of rows and columns and any element types.
// Targets define the emitters.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_EMITTERS_H
#define PERPEND_TILE_INTRINSICS_EMITTERS_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// Names of parameters in descriptions.
inline constexpr llvm::StringLiteral rowsParameter = "rows", linesParameter = "lines", columnsParameter = "cols",
                                     depthParameter = "depth";

struct Emitter {
  llvm::StringLiteral name;
  /// Whether it can emit code for this description.
  bool (*takes)(const Intrinsic &intrinsic);
  /// Replaces the call by code. The number of columns must be constant, and also that of rows unless takesAnyRows.
  /// Emits errors at the call.
  mlir::LogicalResult (*lower)(CallIntrinsicOp call, const Intrinsic &intrinsic, const target::Machine &target);
  /// The most rows of a block, for panels of this many columns; `rows` is the number of rows of the product, if known.
  int64_t (*rowsAtOnce)(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                        const target::Machine &target);
  /// Whether one call can process the rows (or lines) that remain after the whole blocks, even if their number is known
  /// only at run time.
  bool takesAnyRows;
  /// Blocks of rows per call. With several, the call divides the depth so that the innermost cache serves all of
  /// them.
  int64_t blocksAtOnce = 1;
  /// Lines of an image per call, if the conditions allow: each element of a panel is then loaded once for all of them.
  int64_t linesAtOnce = 1;
  /// Whether the blocks of a call share the work of unpacking the right operand, so that a call should have several.
  bool sharesUnpacking = false;
};

/// All emitters, which the targets define (src/target/vector). The first one's estimates of rows are those for
/// intrinsics without an emitter, too.
llvm::ArrayRef<const Emitter *> emitters();
/// The rows of a block that holds its sums in registers, for a product that no intrinsic computes; `group` is the
/// number of elements of a word. Defined beside the emitters.
int64_t rowsInRegisters(mlir::Type sum, int64_t panel, int64_t group, std::optional<int64_t> rows,
                        const target::Machine &target, int64_t sumsOfColumn = 1);

/// Null if there is no emitter of this name.
const Emitter *findEmitter(llvm::StringRef name);
std::string emitterNames();

/// rowsAtOnce of the intrinsic's emitter; implementations in text are assumed to hold their sums in registers.
int64_t rowsAtOnce(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                   const target::Machine &target);

int64_t blocksAtOnce(const Intrinsic &intrinsic);
int64_t linesAtOnce(const Intrinsic &intrinsic);
bool sharesUnpacking(const Intrinsic &intrinsic);
} // namespace perpend::tile

#endif
