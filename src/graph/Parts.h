//===- Parts.h - kernels on parts of a leading dimension --------*- C++ -*-===//
//
// A kernel that computes the indices of the first dimension of its results (a batch) independently of each other can
// compute a part of them from the same part of some of its operands, and from others as a whole. Which these are
// follows from how the dimensions go on through its operators (DimensionFlowInterface), not from their names.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_PARTS_H
#define PERPEND_GRAPH_PARTS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::graph {

/// The values in a kernel of which a part needs only the same part.
struct Parts {
  int64_t extent = 0; ///< of the first dimension
  llvm::SetVector<mlir::Value> values;

  /// nullopt: an index of the results depends on others, an operator does not say on what, or a size is no number.
  static std::optional<Parts> of(mlir::func::FuncOp kernel);

  bool isDivided(mlir::Value value) const { return values.contains(value); }
  /// A copy of the kernel, in front of it, for so many indices. See DividedKernels::shared.
  mlir::func::FuncOp copyOf(mlir::func::FuncOp kernel, int64_t extent) const;
};

/// The kernels that operators of main run, and the parts of these, each found once.
class DividedKernels {
public:
  /// Whether an operator of main runs a kernel.
  static bool isCall(mlir::Operation *op);
  /// Null: it runs none.
  static mlir::func::FuncOp kernelOf(mlir::Operation *op);
  /// Of the kernel that an operator runs. Null: it runs none, or one without parts.
  const Parts *partsOf(mlir::Operation *op);
  /// Whether a part of the call needs only a part of this operand. The kernel must have parts.
  bool isDivided(mlir::OpOperand &operand);
  /// Whether all parts together read fewer elements of an operand than it has, such as rows of a table that each looks
  /// up.
  bool readsSome(mlir::OpOperand &operand);
  /// Whether the only result of a call may lie where this operand does, which nobody reads any more: each element, or
  /// each row of the last dimension, depends on the same one of the operand.
  bool mayOverwrite(mlir::OpOperand &operand);
  /// Lets a copy of `call` run the kernel for so many indices.
  void runPart(mlir::Operation *copy, mlir::Operation *call, int64_t rows);
  /// Of a copy of a kernel whose values have other types: an equal copy that was made before, or this one with a name
  /// of its own. Copies of different kernels may be equal.
  mlir::func::FuncOp shared(mlir::func::FuncOp copy);

private:
  llvm::MapVector<mlir::func::FuncOp, std::optional<Parts>> parts;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, mlir::func::FuncOp> made;
  llvm::StringMap<mlir::func::FuncOp> copies; ///< by structure
};

/// The type with another first extent.
mlir::RankedTensorType withRows(mlir::RankedTensorType type, int64_t rows);

/// The indices [start, start + size) of a value's first dimension, in its memory.
mlir::Value partOf(mlir::OpBuilder &builder, mlir::Value value, int64_t start, int64_t size);
/// A value of this type whose parts are computed in its memory, one behind the other (assembledAttribute).
mlir::Value assembled(mlir::OpBuilder &builder, mlir::RankedTensorType type, mlir::ValueRange parts);
} // namespace perpend::graph

#endif
