//===- FewRows.h - products of few rows with run-time operands --*- C++ -*-===//
//
// Packing a right operand that is computed at run time reads it, writes it and reads it again. If it is multiplied
// with few rows (up to half a vector of sums; one token with all earlier keys and values), that takes longer than the
// product. Then the operand is read in place. If it is contiguous along the contracted dimension, it becomes the left
// operand of the transposed product, whose packed operand is the few rows:
//
//   contract(x : [m, k], transpose(y : [n, k]))  =>  transpose(tile.matmul(y, packed transpose(x)))
//
// Otherwise the rule for reductions computes the product row by row, if that is cheaper than packing. A
// batch-invariant model (graph/BatchInvariance.h) uses neither. Exception: the keys of a growing state (a KV cache)
// become the left operand in any model, for a known number of up to 64 queries.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PACKING_FEWROWS_H
#define PERPEND_TILE_PACKING_FEWROWS_H

#include "tile/packing/Matrices.h"

namespace perpend::tile {

/// Whether to use the transposed product, provided that an intrinsic accepts it: there are few rows, and the right
/// operand's dimensions are in that order in memory.
bool isTransposed(graph::ProductInterface op, const Matrices &matrices, const target::Machine &target);
/// Whether reading the operand in place, once for each of few rows, is faster than packing it.
bool isReadAsItIs(graph::ProductInterface op, const Matrices &matrices, const target::Machine &target);

/// Whether a value is a grown state (graph/States.h), whose numbers may be extended to wider ones.
bool isOfGrownState(mlir::Value value);

/// Values computed from constants only. They are folded, so packing them costs nothing at run time.
llvm::DenseSet<mlir::Value> foldedValues(mlir::ModuleOp module);
} // namespace perpend::tile

#endif
