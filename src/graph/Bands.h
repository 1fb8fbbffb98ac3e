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

#include <memory>

namespace perpend::graph {

/// The rows of a call's operands that some rows of its result need. nullopt: all of the operand, for each image.
using OperandRows = llvm::SmallVector<std::optional<RowRange>>;
using ValueRows = llvm::DenseMap<mlir::Value, RowRange>;

class BandedKernels {
public:
  explicit BandedKernels(DividedKernels &kernels) : kernels(kernels) {}

  /// nullopt: no copy of the kernel computes these rows of one image from some rows of operands.
  std::optional<OperandRows> read(mlir::Operation *call, const RowRange &rows);
  /// Lets a copy of `call` run the kernel for these rows of one image, from the rows that read() says.
  void runRows(mlir::Operation *copy, mlir::Operation *call, const RowRange &rows);

  /// What each call of a group computes, and what it reads of other values, for a band of what leaves the group: of so
  /// many bands, about equally many rows each. nullopt: a call has no such copy, or what leaves the group is read in it
  /// beyond the band.
  std::optional<ValueRows> rowsOfBand(llvm::ArrayRef<mlir::Operation *> members, int64_t band, int64_t bands);
  /// Adds a call in front of such a group to what its band computes and reads. leaves: an operator behind the group
  /// reads its result. False: nullopt.
  bool addRows(mlir::Operation *call, bool leaves, int64_t band, int64_t bands, ValueRows &rows);

private:
  /// What rows of a kernel's result need of its values, whichever rows they are. Only values of which a part is needed
  /// are in it; number 0 is the result.
  struct KernelWindows {
    struct Step { ///< a value needs of an operand of the operator that makes it
      unsigned made = 0, read = 0;
      RowWindow window;
      int64_t extent = 0;
    };
    int64_t rows = 0; ///< of the result
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<unsigned> dims; ///< of each value: in which the rows are
    llvm::SmallVector<Step> steps;    ///< from the result to the arguments
    llvm::SmallVector<std::optional<unsigned>> arguments;

    /// Of each value. nullopt: a window reads none of an operand.
    std::optional<llvm::SmallVector<RowRange>> needed(const RowRange &rows) const;
  };
  class Reader;

  /// Null: no part of the result follows from a part of the arguments.
  const KernelWindows *windowsOf(mlir::Operation *call);
  mlir::func::FuncOp kernelFor(mlir::func::FuncOp kernel, const Parts &parts, const KernelWindows &windows,
                               llvm::ArrayRef<RowRange> rows);

  DividedKernels &kernels;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<KernelWindows>> known; ///< by the kernel's name
};

/// How many rows a value has; nullopt: none, or the size is no number.
std::optional<int64_t> rowCountOf(mlir::Value value);
/// Some rows of one index of the first dimension, in the value's memory.
mlir::Value rowsOfImage(mlir::OpBuilder &builder, mlir::Value value, int64_t image, const RowRange &rows);
/// A value of this type whose bands, image by image, are computed in its memory.
mlir::Value assembledBands(mlir::OpBuilder &builder, mlir::RankedTensorType type, mlir::ValueRange bands);

} // namespace perpend::graph

#endif
