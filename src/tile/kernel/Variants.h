//===- Variants.h - schedules for ranges of a symbol ------------*- C++ -*-===//
//
// A kernel may have variants: functions that compute the same with another trace. A call runs the first variant whose
// range contains the value of the range's symbol; if there is none, the kernel itself.
//
//   func.func private @k(…) attributes {tile.kernel, tile.variants = [@k_variant1], …}
//   func.func private @k_variant1(…) attributes {tile.kernel, tile.range = "n <= 11", …}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_VARIANTS_H
#define PERPEND_TILE_KERNEL_VARIANTS_H

#include "support/SymbolRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::tile {

bool isVariant(mlir::func::FuncOp function);

/// The variants of a verified kernel, in the order in which a call tries them.
llvm::SmallVector<mlir::func::FuncOp, 2> variantsOf(mlir::func::FuncOp kernel);
/// The range of a variant.
support::SymbolRange rangeOf(mlir::func::FuncOp variant);

/// Appends a variant: a copy of the kernel, which main must call. The range is over one of its symbols.
mlir::func::FuncOp addVariant(mlir::func::FuncOp kernel, const support::SymbolRange &range);
void eraseVariants(mlir::func::FuncOp kernel);

/// The function that a call runs; `valueOf` gives the value of a symbol of the kernel.
mlir::func::FuncOp functionFor(mlir::func::FuncOp kernel, llvm::function_ref<int64_t(llvm::StringRef symbol)> valueOf);

/// Checks that the variants are kernels of the same type and symbols, and that each has a range. Errors: a diagnostic
/// with a hint.
mlir::LogicalResult verifyVariants(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
