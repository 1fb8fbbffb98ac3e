//===- Units.h - who runs which iterations of a kernel ----------*- C++ -*-===//
//
// The part of flattening that depends on how a machine starts kernels (target::Launch): the code around a kernel's
// outermost loops, and the arguments that say which iterations one call runs. Ranges.cpp is for calls that run a range
// of units (the iterations of the outermost parallel loop), Grids.cpp for calls that run one instance of a grid.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_FLATTEN_UNITS_H
#define PERPEND_TILE_FLATTEN_UNITS_H

#include "graph/Shapes.h"
#include "target/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace perpend::tile {
class Flattener;

class Units {
public:
  using Pointer = std::unique_ptr<Units>;
  /// For a kernel of blocks.
  static Pointer of(mlir::func::FuncOp kernel, const target::Machine &machine);
  virtual ~Units() = default;

  /// The number of arguments (KernelAbi.h).
  virtual unsigned arguments() const = 0;
  /// Adds attributes that say what the arguments are.
  virtual void mark(mlir::func::FuncOp) const {}
  /// Emits the kernel; returns the number of units, or the extents of the grid.
  virtual graph::Shape emit(Flattener &flattener, mlir::OpBuilder &builder) = 0;
};

Units::Pointer unitsInRanges(mlir::func::FuncOp kernel);
Units::Pointer unitsOfGrid(mlir::func::FuncOp kernel, const target::Machine &machine);
} // namespace perpend::tile

#endif
