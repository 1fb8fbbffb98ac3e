//===- KernelAbi.h - the arguments of a kernel on buffers --------*- C++ -*-===//
//
// A kernel that has been lowered to loops is a function without results:
//
//   @kernel(%input..., %output..., %symbols, %begin, %end)
//
// Inputs and outputs are 1-D buffers, %symbols is a buffer of the values of the
// kernel's symbols, and [%begin, %end) is the part of its units to run. This is
// the one place that knows the order.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELABI_H
#define PERPEND_TILE_KERNELABI_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

class KernelAbi {
public:
  KernelAbi(unsigned inputs, unsigned outputs) : inputs(inputs), outputs(outputs) {}
  /// Of a kernel whose arguments and results are tensors still.
  static KernelAbi ofTensors(mlir::func::FuncOp kernel) { return {kernel.getNumArguments(), kernel.getNumResults()}; }

  // Positions of arguments.
  unsigned input(unsigned number) const { return number; }
  unsigned output(unsigned number) const { return inputs + number; }
  unsigned symbols() const { return inputs + outputs; }
  unsigned begin() const { return symbols() + 1; }
  unsigned end() const { return symbols() + 2; }
  unsigned argumentCount() const { return symbols() + 3; }

  unsigned inputCount() const { return inputs; }
  unsigned outputCount() const { return outputs; }

  static bool isLowered(mlir::func::FuncOp kernel) {
    return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<mlir::MemRefType>);
  }
  /// How many arguments of a lowered kernel are buffers: all but the part to run. Inputs, outputs and symbols.
  static unsigned bufferCount(mlir::func::FuncOp lowered) { return lowered.getNumArguments() - 2; }
  /// The lowered kernel's type; `buffers` are those of inputs and outputs.
  static mlir::FunctionType type(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Type> buffers) {
    llvm::SmallVector<mlir::Type> arguments(buffers);
    arguments.push_back(
        mlir::MemRefType::get({mlir::ShapedType::kDynamic}, mlir::IntegerType::get(context, /*width=*/64)));
    arguments.append(2, mlir::IndexType::get(context));
    return mlir::FunctionType::get(context, arguments, {});
  }

private:
  unsigned inputs, outputs;
};

/// Whether a kernel on tensors has results that one nest of loops can store: computed by operators, of one shape, and
/// alone where elements depend on one another. An error names the result.
mlir::LogicalResult verifyResults(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
