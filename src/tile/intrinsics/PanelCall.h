//===- PanelCall.h - calls of intrinsics on panels ---------------*- C++ -*-===//
//
// What emitters share whose intrinsics add products of words in rows and in panels, over a window of two dimensions:
//
//   %a: [outer, inner, rows, depth(, g)], %b: [outer, inner, depth, cols(, g)], %c: [rows, cols]
//
// Each distinct block becomes one private function, and every use a call of it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_PANELCALL_H
#define PERPEND_TILE_INTRINSICS_PANELCALL_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

/// Parameters of the description.
inline constexpr llvm::StringLiteral rowsParameter = "rows", columnsParameter = "cols", depthParameter = "depth";

/// The arguments of a block's function, in order. Bases, strides, steps of the window and the depth are in elements.
struct PanelArguments {
  mlir::Value a, aOffset, aStride, b, bOffset, c, cOffset, cStride, depth, counts[2], aSteps[2], bSteps[2];
  mlir::Value ahead; ///< what is asked for in memory; null: nothing

  explicit PanelArguments(mlir::ValueRange v)
      : a(v[0]), aOffset(v[1]), aStride(v[2]), b(v[3]), bOffset(v[4]), c(v[5]), cOffset(v[6]), cStride(v[7]),
        depth(v[8]), counts{v[9], v[10]}, aSteps{v[11], v[12]}, bSteps{v[13], v[14]},
        ahead(v.size() > 15 ? v[15] : mlir::Value()) {}
};

class PanelCall {
public:
  PanelCall(CallIntrinsicOp op, const Intrinsic &intrinsic) : op(op), intrinsic(intrinsic), builder(op) {}

  /// Whether an intrinsic's buffers are such ones; strides of the sums, and of elements, are what the code has.
  static bool takes(const Intrinsic &intrinsic);

  mlir::Value rows() { return extent(rowsParameter); }
  mlir::Value columns() { return extent(columnsParameter); }
  /// Whether rows and columns are numbers that the intrinsic takes. Errors are emitted.
  mlir::LogicalResult check(std::optional<int64_t> rows, std::optional<int64_t> columns);
  /// What the function of a block takes, but for what is asked for ahead. Errors are emitted.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> operands();
  /// The function of this name, made by `emit` where there is none yet, with these attributes of LLVM.
  mlir::func::FuncOp function(llvm::StringRef name, mlir::TypeRange inputs, llvm::ArrayRef<mlir::Attribute> attributes,
                              llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, PanelArguments)> emit);

private:
  mlir::Value extent(llvm::StringRef name);
  mlir::Value stride(unsigned buffer, unsigned dim);
  mlir::FailureOr<mlir::Value> plain(mlir::Value buffer);

  CallIntrinsicOp op;
  const Intrinsic &intrinsic;
  mlir::OpBuilder builder;
};
} // namespace perpend::tile

#endif
