//===- GroupCall.h - calls of products with grouped numbers -----*- C++ -*-===//
//
// Shared by emitters of intrinsics in the layout of GroupLayout.h.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_GROUPCALL_H
#define PERPEND_TARGET_VECTOR_GROUPCALL_H

#include "target/vector/BlockCode.h"

namespace perpend::target {

/// The arguments of a block's function, in order.
struct GroupArguments {
  /// A buffer: its base, and the strides of its dimensions.
  struct Operand {
    mlir::Value buffer, base, stride, outerStride;
  };
  Operand rows, words, upper, scales, sharedScales, zeros, rowScales, sums;
  /// Units of words in a group; groups; and groups that share a scale, if there are shared ones.
  mlir::Value depth, outer, sharing;
  mlir::Value count; ///< of rows; null: the code has a constant number
};

class GroupCall : BlockCall {
public:
  using BlockCall::BlockCall;
  using BlockCall::columns;
  using BlockCall::rows;

  /// Whether the intrinsic's buffers have the shapes and strides that the code assumes.
  static bool takes(const tile::Intrinsic &intrinsic);

  using EmitBlock =
      llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, const GroupArguments &, int64_t rows, int64_t columns)>;
  /// Replaces the call by one of the block's function, whose name begins with `prefix`. Emits errors.
  mlir::LogicalResult lower(llvm::StringRef prefix, EmitBlock emit);

  /// The number of units of words in a group, and the distance of a row's groups, if they are constant.
  std::optional<int64_t> depth();
  std::optional<int64_t> groupStride();
  /// A copy of the call, at `builder`, for so many rows from `first` on.
  tile::CallIntrinsicOp ofRows(mlir::OpBuilder &builder, mlir::Value first, int64_t count);
  /// The number of rows, if it is not constant; or null.
  mlir::Value unknownRows();

  using EmitRows = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, const GroupArguments &, int64_t columns)>;
  /// The same with any number of rows, `most` at most, and so many units of words in a group. The function gets LLVM
  /// attributes (passthrough).
  mlir::LogicalResult lowerAnyRows(llvm::StringRef prefix, int64_t most, int64_t depth,
                                   llvm::ArrayRef<mlir::Attribute> attributes, EmitRows emit);

private:
  bool hasUpper() { return bool(intrinsic.groups->upper); }
  bool hasZeros() { return bool(intrinsic.groups->zero); }
  bool hasSharedScales() { return bool(intrinsic.groups->sharedScale); }
  bool hasRowScales() { return bool(intrinsic.groups->rowScale); }
  llvm::SmallVector<mlir::Value> operands(mlir::ValueRange buffers);
  GroupArguments argumentsOf(mlir::ValueRange values);
};
} // namespace perpend::target

#endif
