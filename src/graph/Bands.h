//===- Bands.h - kernels on a part of the rows ------------------*- C++ -*-===//
//
// Of one index of the first dimension (an image of a batch), the rows are the indices of dimension 1. A kernel can
// compute some rows of its result from some rows of its operands: those that windows reach (RowWindows.h), so that
// parts of an operand overlap where windows do. The copy of the kernel for them has other extents, and other low
// borders.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_BANDS_H
#define PERPEND_GRAPH_BANDS_H

#include "graph/Parts.h"
#include "graph/RowWindows.h"

#include <map>

namespace perpend::graph {

/// The rows of a call's operands that some rows of its result need. nullopt: all of the operand, for each image.
using OperandRows = llvm::SmallVector<std::optional<RowRange>>;
using ValueRows = llvm::DenseMap<mlir::Value, RowRange>;

class BandedKernels {
public:
  explicit BandedKernels(DividedKernels &kernels) : kernels(kernels) {}

  /// Null: no copy of the kernel computes these rows of one image from some rows of operands.
  const OperandRows *read(mlir::Operation *call, const RowRange &rows);
  /// Lets a copy of `call` run the kernel for these rows of one image, from the rows that read() says.
  void runRows(mlir::Operation *copy, mlir::Operation *call, const RowRange &rows);

  /// What each call of a group computes, and what it reads of other values, for a band of what leaves the group: of so
  /// many bands, about equally many rows each. nullopt: a call has no such copy, or what leaves the group is read in it
  /// beyond the band.
  std::optional<ValueRows> rowsOfBand(llvm::ArrayRef<mlir::Operation *> members, int64_t band, int64_t bands);

private:
  struct Needed {
    unsigned dim = 0; ///< in which the rows are
    RowRange rows;
  };
  struct KernelRows {
    llvm::DenseMap<mlir::Value, Needed> needed; ///< values of which a part is needed
    OperandRows operands;
  };
  class Reader;

  const std::optional<KernelRows> &rowsOf(mlir::Operation *call, const RowRange &rows);
  mlir::func::FuncOp kernelFor(mlir::func::FuncOp kernel, const Parts &parts, const KernelRows &rows);

  DividedKernels &kernels;
  std::map<std::tuple<mlir::Operation *, int64_t, int64_t>, std::optional<KernelRows>> known;
  std::map<std::pair<mlir::Operation *, std::string>, mlir::func::FuncOp> made; ///< by the copy's structure
};

/// How many rows a value has; nullopt: none, or the size is no number.
std::optional<int64_t> rowCountOf(mlir::Value value);
/// Some rows of one index of the first dimension, in the value's memory.
mlir::Value rowsOfImage(mlir::OpBuilder &builder, mlir::Value value, int64_t image, const RowRange &rows);
/// A value of this type whose bands, image by image, are computed in its memory.
mlir::Value assembledBands(mlir::OpBuilder &builder, mlir::RankedTensorType type, mlir::ValueRange bands);

} // namespace perpend::graph

#endif
