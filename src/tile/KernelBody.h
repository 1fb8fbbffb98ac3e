//===- KernelBody.h - the parts that emit a kernel's loops -------*- C++ -*-===//
//
// What LowerKernels hands to the code that emits one kind of kernel, and the
// pieces they share.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELBODY_H
#define PERPEND_TILE_KERNELBODY_H

#include "tile/KernelEmitter.h"
#include "tile/Schedule.h"
#include "tile/Tile.h"

namespace perpend::tile {

struct KernelBody {
  KernelEmitter &emitter;
  const Schedule &schedule;
  /// A value that the kernel computes, and the buffer where it goes. Several have the same shape.
  struct Result {
    mlir::Value root, output;
  };
  llvm::SmallVector<Result, 1> results;
  /// The part of the units to run.
  mlir::Value begin, end;
  mlir::Location loc;

  using LoopBody = llvm::function_ref<void(mlir::OpBuilder &, mlir::Value index)>;
  void forEach(mlir::OpBuilder &builder, mlir::Value from, mlir::Value to, mlir::Value step, LoopBody body);
  /// Loops over all of `extents`; body gets all indices.
  void forEachIndex(mlir::OpBuilder &builder, llvm::ArrayRef<graph::SymbolicInt> extents,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> body);
  using UnitBody =
      llvm::function_ref<void(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value> index, mlir::Value from, mlir::Value to)>;
  /// The units to run: each has an index of the dimensions `outer` and a part [from, to) of [0, extent), `part`
  /// elements long (0: all of it). Returns the number of all units.
  graph::SymbolicInt forEachUnit(mlir::OpBuilder &builder, llvm::ArrayRef<graph::SymbolicInt> outer,
                                 const graph::SymbolicInt &extent, int64_t part, UnitBody body);
  /// The first result, whose shape all have.
  mlir::Value root() const { return results.front().root; }
  /// Where the only result goes.
  mlir::Value output() const { return results.front().output; }
  bool hasOneResult() const { return results.size() == 1; }
  /// Stores each result's element at `index`.
  void storeElement(mlir::OpBuilder &builder, mlir::ValueRange index);
  /// Loads/stores of scratch memory for `count` elements, allocated at the start of the kernel.
  mlir::Value scratch(mlir::OpBuilder &builder, int64_t count, mlir::Type elementType);

  mlir::Value constant(int64_t value) { return emitter.constant(value); }
  mlir::Value extent(mlir::OpBuilder &builder, const graph::SymbolicInt &value) {
    return emitter.extent(builder, loc, value);
  }
};

/// Each returns the number of parallel units.
graph::SymbolicInt emitElements(mlir::OpBuilder &builder, KernelBody &body);
graph::SymbolicInt emitRows(mlir::OpBuilder &builder, KernelBody &body, graph::ReduceOp reduce);
graph::SymbolicInt emitSequence(mlir::OpBuilder &builder, KernelBody &body, graph::SequenceInterface op);
} // namespace perpend::tile

#endif
