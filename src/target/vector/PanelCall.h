//===- PanelCall.h - calls of intrinsics on panels --------------*- C++ -*-===//
//
// Shared by emitters of intrinsics that multiply words of a row-major operand with words of an operand in panels, and
// add the products over a window of two dimensions:
//
//   %a: [outer, inner, rows, depth(, g)], %b: [outer, inner, depth, cols(, g)], %c: [rows, cols]
//
// or for several lines of an image with the same number of rows each: %a: [outer, inner, lines, rows, …], %c: [lines,
// rows, cols].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_PANELCALL_H
#define PERPEND_TARGET_VECTOR_PANELCALL_H

#include "target/vector/BlockCode.h"

namespace perpend::target {

/// The arguments of a block's function, in order. Bases, strides, steps of the window and the depth are in elements.
struct PanelArguments {
  mlir::Value a, aOffset, aStride, b, bOffset, c, cOffset, cStride, depth, counts[2], aSteps[2], bSteps[2];
  mlir::Value ahead; ///< address to prefetch; null: none

  explicit PanelArguments(mlir::ValueRange v)
      : a(v[0]), aOffset(v[1]), aStride(v[2]), b(v[3]), bOffset(v[4]), c(v[5]), cOffset(v[6]), cStride(v[7]),
        depth(v[8]), counts{v[9], v[10]}, aSteps{v[11], v[12]}, bSteps{v[13], v[14]},
        ahead(v.size() > 15 ? v[15] : mlir::Value()) {}
  /// All arguments except `ahead`.
  llvm::SmallVector<mlir::Value> values() const {
    return {a,     aOffset,   aStride,   b,         bOffset,   c,         cOffset,  cStride,
            depth, counts[0], counts[1], aSteps[0], aSteps[1], bSteps[0], bSteps[1]};
  }
};

class PanelCode : protected BlockCode {
protected:
  PanelCode(mlir::ImplicitLocOpBuilder &builder, PanelArguments arguments, const Machine &target)
      : BlockCode(builder, target), arguments(arguments) {}

  /// Emits the loops of the window. The body gets the bases of its elements of a and b, then the carried values.
  Values emitWindow(mlir::ValueRange initial,
                    llvm::function_ref<Values(mlir::Value aBase, mlir::Value bBase, mlir::ValueRange)> body);

  PanelArguments arguments;
};

class PanelCall : public BlockCall {
public:
  using BlockCall::BlockCall;

  /// Whether an intrinsic has these buffers, with the strides of sums and elements that the code assumes.
  static bool takes(const tile::Intrinsic &intrinsic) { return hasShapes(intrinsic, /*lines=*/""); }
  /// The same for descriptions with lines.
  static bool takesLines(const tile::Intrinsic &intrinsic) { return hasShapes(intrinsic, /*lines=*/"lines "); }
  /// The arguments of a block's function, except the address to prefetch. Emits errors.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> operands();
  /// The distance of rows of a panel: columns times elements of a word, unless they lie apart.
  mlir::Value rowOfPanel() { return stride(1, 2); }
  /// For descriptions with lines: their number, and their strides in the left operand and in the sums.
  mlir::Value lines() { return extent(tile::linesParameter); }
  mlir::Value leftOfLine() { return stride(0, 2); }
  mlir::Value sumsOfLine() { return stride(2, 0); }

private:
  static bool hasShapes(const tile::Intrinsic &intrinsic, llvm::StringRef lines);
};
} // namespace perpend::target

#endif
