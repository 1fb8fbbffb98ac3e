//===- KernelAbi.h - the arguments of a kernel on buffers --------*- C++ -*-===//
//
// A kernel that has been lowered to loops is a function without results:
//
//   @kernel(%input..., %output..., %symbols, %scratch..., %begin, %end)
//
// Inputs and outputs are 1-D buffers, %symbols is a buffer of the values of the
// kernel's symbols, each %scratch a 1-D buffer that nobody else uses meanwhile
// (Scratch.h; most kernels have none), and [%begin, %end) is the part of the
// kernel's units to run. This is the one place that knows the order.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELABI_H
#define PERPEND_TILE_KERNELABI_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

class KernelAbi {
public:
  KernelAbi(unsigned inputs, unsigned outputs, unsigned scratchBuffers = 0)
      : inputs(inputs), outputs(outputs), scratchBuffers(scratchBuffers) {}
  /// Of a kernel whose arguments and results are tensors still.
  static KernelAbi ofTensors(mlir::func::FuncOp kernel) { return {kernel.getNumArguments(), kernel.getNumResults()}; }
  /// Of a lowered kernel, whose outputs count as inputs here: they are buffers alike.
  static KernelAbi ofLowered(mlir::func::FuncOp kernel);

  // Positions of arguments.
  unsigned input(unsigned number) const { return number; }
  unsigned output(unsigned number) const { return inputs + number; }
  unsigned symbols() const { return inputs + outputs; }
  unsigned scratch(unsigned number) const { return symbols() + 1 + number; }
  unsigned begin() const { return scratch(scratchBuffers); }
  unsigned end() const { return begin() + 1; }
  unsigned argumentCount() const { return begin() + 2; }

  unsigned inputCount() const { return inputs; }
  unsigned outputCount() const { return outputs; }
  unsigned scratchCount() const { return scratchBuffers; }

  static bool isLowered(mlir::func::FuncOp kernel) {
    return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<mlir::MemRefType>);
  }
  /// How many scratch buffers a lowered kernel takes, as its attribute says.
  static unsigned scratchCountOf(mlir::func::FuncOp lowered);
  /// The lowered kernel's type; `buffers` are those of inputs and outputs.
  static mlir::FunctionType type(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Type> buffers,
                                 llvm::ArrayRef<mlir::Type> scratch = {});

private:
  unsigned inputs, outputs, scratchBuffers;
};

/// Whether a kernel on tensors has results that one nest of loops can store: computed by operators, of one shape, and
/// alone where elements depend on one another. An error names the result.
mlir::LogicalResult verifyResults(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
