//===- BlockCode.h - functions of blocks, and their calls --------*- C++ -*-===//
//
// What emitters share (Emitters.h): each distinct block becomes one private function, and every use a call of it.
// Emitting a block once keeps code size and compile time independent of the number of uses.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_BLOCKCODE_H
#define PERPEND_TILE_INTRINSICS_BLOCKCODE_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

/// Parameters of the description.
inline constexpr llvm::StringLiteral rowsParameter = "rows", linesParameter = "lines", columnsParameter = "cols",
                                     depthParameter = "depth";

/// What the code of a block is made of: indices and loops.
class BlockCode {
protected:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Gets the iteration and what is carried, and returns what is carried to the next.
  using LoopBody = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;

  BlockCode(mlir::ImplicitLocOpBuilder &builder, const target::TargetInfo &target) : builder(builder), target(target) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value offset(mlir::Value base, mlir::Value position, mlir::Value step) {
    return add(base, multiply(position, step));
  }
  Values emitLoop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange initial, LoopBody body);
  /// Asks for the lines of so many elements from there on, for one of the nearest caches: 3 is the first, 2 the second.
  void prefetch(mlir::Value buffer, mlir::Value index, int64_t from, int64_t elements, unsigned cache = 3);

  mlir::ImplicitLocOpBuilder &builder;
  const target::TargetInfo &target;
};

class BlockCall {
public:
  using EmitCode = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange arguments)>;

  BlockCall(CallIntrinsicOp op, const Intrinsic &intrinsic) : op(op), intrinsic(intrinsic), builder(op) {}

  /// The extents of the description's buffers: "rows depth ; depth cols ; rows cols ; ".
  static std::string shapesOf(const Intrinsic &intrinsic);

  mlir::Value rows() { return extent(rowsParameter); }
  mlir::Value columns() { return extent(columnsParameter); }
  /// Whether rows and columns are numbers that the intrinsic takes, of so many lines. Errors are emitted.
  mlir::LogicalResult check(std::optional<int64_t> rows, std::optional<int64_t> columns, int64_t lines = 1);
  /// The function of this name, made by `emit` where there is none yet, with these attributes of LLVM.
  mlir::func::FuncOp function(llvm::StringRef name, mlir::TypeRange inputs, llvm::ArrayRef<mlir::Attribute> attributes,
                              EmitCode emit);
  /// Puts a call of it in the place of the intrinsic's.
  void replace(llvm::StringRef name, mlir::ValueRange operands, EmitCode emit);

protected:
  mlir::Value extent(llvm::StringRef name);
  mlir::Value stride(unsigned buffer, unsigned dim);
  /// Contiguous ones of any size, as functions take them. Errors are emitted.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> plainBuffers();

  CallIntrinsicOp op;
  const Intrinsic &intrinsic;
  mlir::OpBuilder builder;
};
} // namespace perpend::tile

#endif
