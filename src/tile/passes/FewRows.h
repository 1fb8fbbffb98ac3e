//===- FewRows.h - products of few rows with what a run computes -*- C++ -*-===//
//
// Packing a right operand that only a run knows reads it, writes it and reads it again. Where few rows are multiplied
// with it (one token with the keys and values of all before), that takes longer than the product. Then it is read where
// it lies: along the depth, as the left operand of the transposed product, whose packed one are the few rows,
//
//   contract(x : [m, k], transpose(y : [n, k]))  =>  transpose(tile.matmul(y, packed transpose(x)))
//
// or else as it is.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_FEWROWS_H
#define PERPEND_TILE_PASSES_FEWROWS_H

#include "tile/passes/Matrices.h"

namespace perpend::tile {

/// Whether a right operand that only a run knows is read as the left one of the transposed product, if an intrinsic
/// takes it so: few rows, which become a panel, with an operand whose dimensions memory has in that order.
bool isTransposed(graph::ProductInterface op, const Matrices &matrices, const target::TargetInfo &target);
/// Whether it is read as it is, again for each of few rows, in less time than it is packed in.
bool isReadAsItIs(graph::ProductInterface op, const Matrices &matrices, const target::TargetInfo &target);

/// Values that are computed of constants alone, which are folded: packing them costs nothing while a model runs.
llvm::DenseSet<mlir::Value> foldedValues(mlir::ModuleOp module);
} // namespace perpend::tile

#endif
