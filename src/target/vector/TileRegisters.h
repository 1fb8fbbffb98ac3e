//===- TileRegisters.h - matrix registers of a kernel -----------*- C++ -*-===//
//
// Shared by the emitters whose sums are in matrix registers (Tiles.cpp, ByteTiles.cpp). The intrinsic's text gives the
// size of the registers and the functions that operate them (Intrinsic::Tiles).
//
// The processor must be configured with the shapes of its registers, which costs more than a step. So a kernel does so
// once on entry, as its first call needs it, and releases the registers at its end; calls that need other shapes
// configure these, and then the shapes of the entry again.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_TILEREGISTERS_H
#define PERPEND_TARGET_VECTOR_TILEREGISTERS_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::target {

/// Loads or stores a register, whose rows start at `position` of the buffer and are `stride` elements apart.
void emitTileMove(mlir::ImplicitLocOpBuilder &builder, const tile::Intrinsic::Code &move, int64_t tile,
                  mlir::Value buffer, mlir::Value position, mlir::Value stride);

/// The function that configures the registers, and its two arguments.
struct TileShapes {
  std::string function;
  int64_t first = 0, second = 0;
  bool operator==(const TileShapes &) const = default;
};

class TileConfiguration {
public:
  TileConfiguration(mlir::Operation *call, const tile::Intrinsic::Tiles &tiles) : call(call), tiles(tiles) {}

  /// These numbers for the configuring function of the intrinsic's text.
  TileShapes shapes(int64_t first, int64_t second);
  /// The shapes that the kernel configures on entry: those wanted, if no call before has had others.
  TileShapes onEntry(const TileShapes &wanted);
  void emit(mlir::OpBuilder &builder, const TileShapes &shapes);
  void emit(mlir::OpBuilder &builder, mlir::Value first, mlir::Value second) {
    emit(builder, function().getSymName(), first, second);
  }

private:
  void emit(mlir::OpBuilder &builder, llvm::StringRef function, mlir::Value first, mlir::Value second);
  mlir::func::FuncOp function();

  mlir::Operation *call;
  const tile::Intrinsic::Tiles &tiles;
};
} // namespace perpend::target

#endif
