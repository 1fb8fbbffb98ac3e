//===- Orders.h - operators on transposed operands --------------*- C++ -*-===//
//
// Which operators can work on transposed operands, and how: so transposes move
// past them, in either direction.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ORDERS_H
#define PERPEND_GRAPH_ORDERS_H

#include "graph/Graph.h"

#include <optional>

namespace perpend::graph {
class Builder;

/// Dimension k of a transposed tensor is dimension order[k] of the tensor.
using Order = llvm::SmallVector<int64_t>;

Order inverse(llvm::ArrayRef<int64_t> order);
bool isIdentity(llvm::ArrayRef<int64_t> order);

/// Whether all operands are transposed as the result is.
bool keepsOrder(mlir::Operation *op);
/// Whether the elements along a dimension of the result are looked for, at indices.
bool searchesAlong(mlir::Operation *op, int64_t dim);

/// How an operand must be transposed for the operator's result to be so; nullopt if the operator cannot work on
/// transposed operands. Empty: the operand stays as it is.
std::optional<Order> operandOrder(mlir::OpOperand &operand, llvm::ArrayRef<int64_t> order);
/// A gather or a reduction of a transpose of `input`, as a transpose of one of `input`; null for other operators.
mlir::Value transposedBehind(Builder &builder, mlir::Operation *op, mlir::Value input,
                             llvm::ArrayRef<int64_t> permutation);
/// The operator on operands that are transposed as operandOrder() says, with a transposed result.
mlir::Value transposed(Builder &builder, mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands,
                       llvm::ArrayRef<int64_t> order);
} // namespace perpend::graph

#endif
