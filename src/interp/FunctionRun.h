//===- FunctionRun.h - runs a function of the graph level -------*- C++ -*-===//
//
// Executes operators in order on the values of one activation. A region runs in
// the activation of its function, so it sees outer values; symbols that
// operators define are entries of the shared environment. Internal to the
// interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_FUNCTIONRUN_H
#define PERPEND_INTERP_FUNCTIONRUN_H

#include "interp/Environment.h"
#include "interp/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::interp {

class FunctionRun {
public:
  FunctionRun(Environment &environment, const InterpreterOptions &options)
      : environment(environment), options(options) {}
  mlir::FailureOr<Tensors> run(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs);
  /// Runs one operator; `known` has the outside values that its regions use.
  mlir::FailureOr<Tensors> run(mlir::Operation &op, llvm::DenseMap<mlir::Value, Tensor> known);

private:
  /// Returns the operands of the block's terminator.
  mlir::FailureOr<Tensors> runBlock(mlir::Block &block, llvm::ArrayRef<Tensor> arguments, bool isObserved);
  mlir::FailureOr<Tensors> runOperation(mlir::Operation &op);
  mlir::FailureOr<Tensors> runIf(graph::IfOp op);
  mlir::FailureOr<Tensors> runLoop(graph::LoopOp op);
  mlir::FailureOr<Tensors> runIterations(graph::LoopOp op, std::optional<int64_t> limit);
  mlir::LogicalResult measure(graph::MeasureOp op);
  mlir::LogicalResult require(graph::RequireOp op);
  mlir::FailureOr<Tensors> callKernel(graph::CallKernelOp op, llvm::ArrayRef<Tensor> inputs);
  /// Symbols that are an extent of a type by themselves get the corresponding tensor's extent.
  void follow(llvm::ArrayRef<mlir::StringAttr> symbols, mlir::TypeRange types, llvm::ArrayRef<Tensor> tensors);
  /// Error (at op): a tensor's shape differs from its type, given the current symbols.
  mlir::LogicalResult checkShapes(mlir::Operation *op, mlir::TypeRange types, llvm::ArrayRef<Tensor> tensors,
                                  llvm::StringRef what);
  Tensors lookup(mlir::ValueRange operands) const;
  void freeAfter(mlir::Operation &op);

  Environment &environment;
  const InterpreterOptions &options;
  uint64_t operators = 0;
  llvm::DenseMap<mlir::Value, Tensor> values;
};
} // namespace perpend::interp

#endif
