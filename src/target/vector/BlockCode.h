//===- BlockCode.h - one function per distinct block ------------*- C++ -*-===//
//
// All emitters (Emitters.h) use this: each distinct block becomes one private function, and every use of the block
// calls it. So code size and compile time do not grow with the number of uses.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_BLOCKCODE_H
#define PERPEND_TARGET_VECTOR_BLOCKCODE_H

#include "tile/intrinsics/Emitters.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::target {

/// Emits the indices and loops of a block's code.
class BlockCode {
protected:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Takes the iteration and the carried values; returns the values for the next iteration.
  using LoopBody = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;

  BlockCode(mlir::ImplicitLocOpBuilder &builder, const Machine &target) : builder(builder), target(target) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value offset(mlir::Value base, mlir::Value position, mlir::Value step) {
    return add(base, multiply(position, step));
  }
  Values emitLoop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange initial, LoopBody body);
  /// Prefetches the cache lines of `elements` elements from `index + from` on; `cache` is MLIR's locality: 3 the first
  /// level, 2 the second.
  void prefetch(mlir::Value buffer, mlir::Value index, int64_t from, int64_t elements, unsigned cache = 3);

  mlir::ImplicitLocOpBuilder &builder;
  const Machine &target;
};

class BlockCall {
public:
  using EmitCode = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange arguments)>;

  BlockCall(tile::CallIntrinsicOp op, const tile::Intrinsic &intrinsic) : op(op), intrinsic(intrinsic), builder(op) {}

  /// The shapes of the description's buffers, as text: "rows depth ; depth cols ; rows cols ; ".
  static std::string shapesOf(const tile::Intrinsic &intrinsic);

  mlir::Value rows() { return extent(tile::rowsParameter); }
  mlir::Value columns() { return extent(tile::columnsParameter); }
  /// Checks that rows and columns are constants that the intrinsic accepts, for this number of lines. Emits errors.
  mlir::LogicalResult check(std::optional<int64_t> rows, std::optional<int64_t> columns, int64_t lines = 1);
  /// The function of this name; calls `emit` to create it if it does not exist, with these LLVM attributes.
  mlir::func::FuncOp function(llvm::StringRef name, mlir::TypeRange inputs, llvm::ArrayRef<mlir::Attribute> attributes,
                              EmitCode emit);
  /// Replaces the intrinsic's call by a call of that function.
  void replace(llvm::StringRef name, mlir::ValueRange operands, EmitCode emit);

protected:
  mlir::Value extent(llvm::StringRef name);
  mlir::Value stride(unsigned buffer, unsigned dim);
  /// The buffers as contiguous memory of dynamic size, the type of the functions' parameters. Emits errors.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> plainBuffers();

  tile::CallIntrinsicOp op;
  const tile::Intrinsic &intrinsic;
  mlir::OpBuilder builder;
};
} // namespace perpend::target

#endif
