//===- Environment.h - what the evaluation of operators shares --*- C++ -*-===//
//
// The values of the symbols, the memory limit, and the functions that evaluate
// each family of primitives. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ENVIRONMENT_H
#define PERPEND_INTERP_ENVIRONMENT_H

#include "interp/Tensor.h"

#include "graph/Graph.h"
#include "library/ListTable.h"
#include "tile/Tile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::interp {
using Tensors = llvm::SmallVector<Tensor>;
using Extents = llvm::SmallVector<int64_t>;

class Environment {
public:
  explicit Environment(uint64_t memoryLimitBytes)
      : limitBytes(memoryLimitBytes), usedBytes(std::make_shared<uint64_t>(0)) {}

  llvm::StringMap<int64_t> symbols;
  /// The lists of this run.
  std::shared_ptr<library::ListTable> lists = std::make_shared<library::ListTable>();
  /// The order of the symbols in a kernel's %symbols argument.
  std::vector<std::string> symbolOrder;
  /// Into how many parts [begin, end) of a tiled kernel is cut.
  unsigned kernelParts = 1;

  /// Error (at op): a symbol without value, or an extent that is negative or overflows.
  mlir::FailureOr<int64_t> evaluate(mlir::Operation *op, const graph::SymbolicInt &expression) const;
  mlir::FailureOr<Extents> evaluate(mlir::Operation *op, llvm::ArrayRef<graph::SymbolicInt> expressions) const;
  mlir::FailureOr<Extents> shapeOf(mlir::Operation *op, mlir::Type tensorType) const;

  /// Zeros. Error (at op): the memory limit, an unsupported element type.
  mlir::FailureOr<Tensor> allocate(mlir::Operation *op, mlir::Type elementType, llvm::ArrayRef<int64_t> shape) const;
  mlir::FailureOr<Tensor> allocateResult(mlir::Operation *op, unsigned index = 0) const;
  /// Error (at op) when temporary memory of this size would exceed the limit.
  mlir::LogicalResult checkScratch(mlir::Operation *op, double bytes) const;

private:
  uint64_t limitBytes;
  std::shared_ptr<uint64_t> usedBytes;
};

/// "2x3x4"
std::string describe(llvm::ArrayRef<int64_t> shape);

// Moves.cpp
mlir::FailureOr<Tensor> evaluateMove(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                                     const Environment &environment);
/// target[i...] = source[i...] for i < extents, strides in elements of 1, 2, 4 or 8 bytes; strides may be negative or
/// 0.
void copyStrided(std::byte *target, llvm::ArrayRef<int64_t> targetStrides, const std::byte *source,
                 llvm::ArrayRef<int64_t> sourceStrides, llvm::ArrayRef<int64_t> extents, unsigned elementBytes);

// Bodies.cpp
mlir::FailureOr<Tensor> evaluateBody(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                                     const Environment &environment);

// Reductions.cpp
mlir::FailureOr<Tensor> evaluate(graph::ReduceOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);
mlir::FailureOr<Tensor> evaluate(graph::ContractOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);

// Sequences.cpp
mlir::FailureOr<Tensor> evaluate(graph::ScatterOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);
mlir::FailureOr<Tensor> evaluate(graph::SortOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);
mlir::FailureOr<Tensor> evaluate(graph::ScanOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);

// Windows.cpp
mlir::FailureOr<Tensor> evaluate(graph::ConvOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);
mlir::FailureOr<Tensor> evaluate(graph::WindowReduceOp op, llvm::ArrayRef<Tensor> operands,
                                 const Environment &environment);

// Packed.cpp
mlir::FailureOr<Tensor> evaluate(tile::MatmulOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);
mlir::FailureOr<Tensor> evaluate(tile::ConvOp op, llvm::ArrayRef<Tensor> operands, const Environment &environment);

// Kernels.cpp
/// Runs a kernel on memory. results are allocated by the caller.
mlir::LogicalResult runKernel(mlir::Operation *kernel, llvm::ArrayRef<Tensor> inputs,
                              llvm::MutableArrayRef<Tensor> results, const Environment &environment);

// Library.cpp
/// Calls the C function; symbols that the call defines are the caller's to read from the results.
mlir::FailureOr<Tensors> callLibrary(graph::CallLibraryOp op, llvm::ArrayRef<Tensor> operands,
                                     const Environment &environment);

/// Any primitive with one result. Interpreter.cpp
mlir::FailureOr<Tensor> evaluatePrimitive(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                                          const Environment &environment);
} // namespace perpend::interp

#endif
