//===- KernelAbi.h - the arguments of a kernel on buffers -------*- C++ -*-===//
//
// A kernel lowered to loops on memory is a function without results:
//
//   @kernel(%input..., %output..., %symbols, %scratch..., %begin, %end)
//
// Inputs and outputs are 1-D buffers. %symbols holds the values of the kernel's
// symbols. Each %scratch is a 1-D buffer that belongs to the thread during the
// call (Scratch.h; most kernels have none). [%begin, %end) is the range of
// units to run; a kernel of a grid (tile.grid) takes an id for each level instead.
// Only this file knows the order of arguments.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_KERNELABI_H
#define PERPEND_TILE_KERNEL_KERNELABI_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

class KernelAbi {
public:
  KernelAbi(unsigned inputs, unsigned outputs, unsigned scratchBuffers = 0, unsigned units = 2)
      : inputs(inputs), outputs(outputs), scratchBuffers(scratchBuffers), units(units) {}
  /// For a kernel whose arguments and results are still tensors.
  static KernelAbi ofTensors(mlir::func::FuncOp kernel) { return {kernel.getNumArguments(), kernel.getNumResults()}; }
  /// For a lowered kernel; its outputs are counted as inputs, because both are buffers.
  static KernelAbi ofLowered(mlir::func::FuncOp kernel);

  // Positions of the arguments.
  unsigned input(unsigned number) const { return number; }
  unsigned output(unsigned number) const { return inputs + number; }
  unsigned symbols() const { return inputs + outputs; }
  unsigned scratch(unsigned number) const { return symbols() + 1 + number; }
  unsigned begin() const { return scratch(scratchBuffers); }
  unsigned end() const { return begin() + 1; }
  unsigned id(unsigned level) const { return begin() + level; } ///< in place of begin and end
  unsigned argumentCount() const { return begin() + units; }

  unsigned inputCount() const { return inputs; }
  unsigned outputCount() const { return outputs; }
  unsigned scratchCount() const { return scratchBuffers; }

  static bool isLowered(mlir::func::FuncOp kernel) {
    return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<mlir::MemRefType>);
  }
  /// The number of scratch buffers of a lowered kernel, read from its attribute.
  static unsigned scratchCountOf(mlir::func::FuncOp lowered);
  /// The number of arguments that say what one call runs, read from its attribute.
  static unsigned unitCountOf(mlir::func::FuncOp lowered);
  /// The type of a lowered kernel; `buffers` are the types of inputs and outputs.
  static mlir::FunctionType type(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Type> buffers,
                                 llvm::ArrayRef<mlir::Type> scratch = {}, unsigned units = 2);

private:
  unsigned inputs, outputs, scratchBuffers, units;
};

/// Checks that a single loop nest can store all results of a kernel on tensors: operators compute them, they have the
/// same shape, and a sequence has no other result beside it. The error names the result.
mlir::LogicalResult verifyResults(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
