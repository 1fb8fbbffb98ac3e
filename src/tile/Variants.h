//===- Variants.h - schedules of one kernel for ranges of a symbol -*- C++ -*-===//
//
// A kernel may have variants, functions of their own that compute the same with
// other traces; a call runs the first one whose range holds its symbol, else the
// kernel itself.
//
//   func.func private @k(…) attributes {tile.kernel, tile.variants = [@k_variant1], …}
//   func.func private @k_variant1(…) attributes {tile.kernel, tile.range = "n <= 11", …}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_VARIANTS_H
#define PERPEND_TILE_VARIANTS_H

#include "support/SymbolRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::tile {

bool isVariant(mlir::func::FuncOp function);

/// Of a kernel that has been verified: in the order in which they are asked.
llvm::SmallVector<mlir::func::FuncOp, 2> variantsOf(mlir::func::FuncOp kernel);
/// Of a variant.
support::SymbolRange rangeOf(mlir::func::FuncOp variant);

/// A copy of a kernel that main calls, behind those that it has. The range is of one of its symbols.
mlir::func::FuncOp addVariant(mlir::func::FuncOp kernel, const support::SymbolRange &range);
void eraseVariants(mlir::func::FuncOp kernel);

/// What a call runs; `valueOf`: a symbol of the kernel there.
mlir::func::FuncOp functionFor(mlir::func::FuncOp kernel, llvm::function_ref<int64_t(llvm::StringRef symbol)> valueOf);

/// Whether the variants of a kernel are kernels of its type and symbols, and a variant has a range. Errors: a
/// diagnostic, with advice.
mlir::LogicalResult verifyVariants(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
