//===- Environment.h - shared state of the evaluation -----------*- C++ -*-===//
//
// Values of symbols, the memory limit, and the functions that evaluate each
// family of primitives. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ENVIRONMENT_H
#define PERPEND_INTERP_ENVIRONMENT_H

#include "interp/Tensor.h"

#include "graph/Graph.h"
#include "host/Host.h"
#include "library/ListTable.h"
#include "tile/ir/Tile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

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
  /// Number of parts into which [begin, end) of a tiled kernel is divided.
  unsigned kernelParts = 1;
  /// Check that every instance of a block runs exactly once.
  bool checksInstances = false;

  /// Error (at op): a symbol without value, or an extent that is negative or overflows.
  mlir::FailureOr<int64_t> evaluate(mlir::Operation *op, const graph::SymbolicInt &expression) const;
  mlir::FailureOr<Extents> evaluate(mlir::Operation *op, llvm::ArrayRef<graph::SymbolicInt> expressions) const;
  mlir::FailureOr<Extents> shapeOf(mlir::Operation *op, mlir::Type tensorType) const;

  /// Allocates zeros. Error (at op): the memory limit, an unsupported element type.
  mlir::FailureOr<Tensor> allocate(mlir::Operation *op, mlir::Type elementType, llvm::ArrayRef<int64_t> shape) const;
  mlir::FailureOr<Tensor> allocateResult(mlir::Operation *op, unsigned index = 0) const;
  /// Error (at op) when temporary memory of this size would exceed the limit.
  mlir::LogicalResult checkScratch(mlir::Operation *op, double bytes) const;

private:
  uint64_t limitBytes;
  std::shared_ptr<uint64_t> usedBytes;
};

/// For example "2x3x4".
std::string describe(llvm::ArrayRef<int64_t> shape);

/// The result of an operator with one result; nothing if the operator is of another kind. Interpreter.cpp lists the
/// kinds.
using Evaluated = std::optional<mlir::FailureOr<Tensor>>;
using Operands = llvm::ArrayRef<Tensor>;
/// Applies `evaluate` if the operator is one of `Ops`.
template <typename... Ops, typename Function> Evaluated evaluateOneOf(mlir::Operation *op, Function evaluate) {
  return llvm::TypeSwitch<mlir::Operation *, Evaluated>(op).template Case<Ops...>(evaluate).Default(Evaluated());
}
Evaluated evaluateMove(mlir::Operation *op, Operands operands, const Environment &environment);      // Moves.cpp
Evaluated evaluateBody(mlir::Operation *op, Operands operands, const Environment &environment);      // Bodies.cpp
Evaluated evaluateReduction(mlir::Operation *op, Operands operands, const Environment &environment); // Reductions.cpp
Evaluated evaluateWindow(mlir::Operation *op, Operands operands, const Environment &environment);    // Windows.cpp
Evaluated evaluateSequence(mlir::Operation *op, Operands operands, const Environment &environment);  // Sequences.cpp
Evaluated evaluatePacked(mlir::Operation *op, Operands operands, const Environment &environment);    // Packed.cpp

// Moves.cpp
/// target[i...] = source[i...] for i < extents, strides in elements of 1, 2, 4 or 8 bytes; strides may be negative or
/// 0.
void copyStrided(std::byte *target, llvm::ArrayRef<int64_t> targetStrides, const std::byte *source,
                 llvm::ArrayRef<int64_t> sourceStrides, llvm::ArrayRef<int64_t> extents, unsigned elementBytes);

// Kernels.cpp
/// What a call of a kernel runs, a variant or the kernel itself; `values` are the kernel's symbols there, which become
/// those of `own`, a copy of the caller's environment.
mlir::FailureOr<mlir::func::FuncOp> enterKernel(mlir::Operation *call, mlir::func::FuncOp kernel,
                                                const llvm::StringMap<graph::SymbolicInt> &values,
                                                const Environment &environment, Environment &own);
/// Runs a kernel on memory. results are allocated by the caller; the symbols of `environment` are the kernel's own.
mlir::LogicalResult runKernel(mlir::Operation *kernel, llvm::ArrayRef<Tensor> inputs,
                              llvm::MutableArrayRef<Tensor> results, const Environment &environment);

// Blocks.cpp
/// The same for a kernel of blocks, with every access checked. `haveValues`: the results may be read before they are
/// written.
mlir::LogicalResult runBlocks(mlir::Operation *kernel, llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> results,
                              const Environment &environment, bool haveValues = false);

// Library.cpp
/// A call of a C function, of the graph level or of the host level.
struct LibraryCall {
  explicit LibraryCall(graph::CallLibraryOp op);
  explicit LibraryCall(host::CallOp op);
  mlir::Operation *op;
  llvm::StringRef function;
  mlir::DictionaryAttr parameters;
  llvm::SmallVector<mlir::RankedTensorType> results;
  llvm::SmallVector<mlir::StringAttr> symbols; ///< that the extents of results define
};
/// Calls the C function; the caller derives symbols that the call defines from the results.
mlir::FailureOr<Tensors> callLibrary(const LibraryCall &call, llvm::ArrayRef<Tensor> operands,
                                     const Environment &environment);

/// Evaluates any primitive with one result. Interpreter.cpp
mlir::FailureOr<Tensor> evaluatePrimitive(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                                          const Environment &environment);
} // namespace perpend::interp

#endif
