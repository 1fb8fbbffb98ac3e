//===- Packer.h - products and convolutions on packed operands --*- C++ -*-===//

#ifndef PERPEND_TILE_PACKING_PACKER_H
#define PERPEND_TILE_PACKING_PACKER_H

#include "graph/builder/Builder.h"
#include "tile/packing/ExactOperands.h"
#include "tile/packing/GroupedWeights.h"
#include "tile/packing/Matrices.h"
#include "tile/packing/PanelChoice.h"

namespace perpend::tile {

/// Rewrites an operator in terms of the tile level, if an intrinsic accepts it.
class Packer {
public:
  /// `folded`: values whose packing costs nothing at run time (FewRows.h).
  Packer(mlir::OpBuilder &operations, mlir::Operation *op, const target::Machine &target, mlir::Type precision,
         const llvm::DenseSet<mlir::Value> &folded)
      : operations(operations), builder(operations, op->getLoc()), target(target), precision(precision), folded(folded),
        sum(graph::tensorTypeOf(op->getResult(0)).getElementType()) {}

  mlir::Value packed(graph::ProductInterface op);
  /// Products that packed() has made beside its result, to be packed in turn. Their right operands are constant.
  llvm::SmallVector<graph::ProductInterface> further;

private:
  /// Operands converted to the elements of an intrinsic.
  struct Operands {
    CentredNumbers lhs, rhs;
  };

  // PackOperands.cpp
  llvm::SmallVector<PanelChoice> choicesFor(const ProductExtents &extents, mlir::Value left, mlir::Value right);
  std::optional<Operands> operandsFor(const PanelChoice &choice, mlir::Value lhs, mlir::Value rhs,
                                      bool mayHaveRightZero);
  mlir::Value wholeMultiples(mlir::Value tensor, llvm::ArrayRef<std::pair<int64_t, int64_t>> multiples);
  mlir::Value pack(mlir::Value matrix, size_t outerRank, const PanelChoice &choice, int64_t depth);
  /// As pack(), of a transpose that keeps rows; the permutation is that of pack().
  mlir::Value packedRows(mlir::Operation *rows, llvm::ArrayRef<int64_t> permutation, int64_t columns);
  mlir::Value matmul(const Operands &operands, const PanelChoice &choice);
  mlir::Value groupedProduct(mlir::Value rows, mlir::Value matrix, bool isForAnyRows);
  const Intrinsic *intrinsicFor(const GroupedWeights &weights, const ScaledBytes &left, bool isFloat);
  mlir::Value product(graph::ProductInterface op, const Matrices &matrices);
  mlir::Value product(mlir::Operation *op, const Matrices &matrices, bool isTransposed);
  // PackConvolutions.cpp
  mlir::Value convolution(graph::ConvOp op);
  mlir::Value depthwiseConv(graph::ConvOp op);
  mlir::Value windowConv(graph::ConvOp op);
  mlir::Value windowConv(graph::ConvOp op, const Operands &operands, const PanelChoice &choice, bool byRows);
  std::optional<PanelChoice> choiceByRows(graph::ConvOp op, ProductExtents extents, const PanelChoice &other);
  void joinRows(mlir::Value &x, mlir::Value &w, int64_t &stride, const PanelChoice &choice);

  mlir::OpBuilder &operations;
  graph::Builder builder;
  const target::Machine &target;
  mlir::Type precision;
  const llvm::DenseSet<mlir::Value> &folded;
  mlir::Type sum;
};
} // namespace perpend::tile

#endif
