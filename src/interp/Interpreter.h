//===- Interpreter.h - the executable meaning of graphs and kernels -*- C++ -*-===//
//
// Runs a main function of the graph level on tensors. graph.call_kernel runs
// the kernel function in any form: graph operators on tensors, and at the tile
// level loops around blocks on buffers, or loops on memory. Compiled code is
// checked against this.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_INTERPRETER_H
#define PERPEND_INTERP_INTERPRETER_H

#include "interp/Tensor.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <functional>

namespace mlir {
class DialectRegistry;
class Operation;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace perpend::host {
class EntryOp;
} // namespace perpend::host

namespace perpend::library {
class ListTable;
} // namespace perpend::library

namespace perpend::interp {

struct InterpreterOptions {
  /// Called after each operation of main with its results, in program order.
  std::function<void(mlir::Operation *op, llvm::ArrayRef<Tensor> results)> observer;
  /// Of all live tensors; more is an error.
  uint64_t memoryLimitBytes = uint64_t{16} << 30;
  /// More operators than this, those of regions counted each time, are an error; 0: any number.
  uint64_t operatorLimit = 0;
  /// Tiled kernels are run in this many parts of their parallel extent.
  unsigned kernelParts = 1;
  /// In kernels of blocks, an instance of a block that never runs, or runs twice, is an error; takes a byte for each.
  /// (A block that is computed where it is read may rightly do either.)
  bool checksInstances = false;
  /// Holds the lists of inputs and results; null: no input is a list.
  std::shared_ptr<library::ListTable> lists;
};

/// The results of `main`. Symbols get their values from the extents of the inputs. Values are freed after their last
/// use. Errors (diagnostics at the operation): an input's type or extent does not fit (names the input, the dimension,
/// what was expected and got), sizes do not fit at run time, an access leaves its buffer, the memory limit.
llvm::FailureOr<llvm::SmallVector<Tensor>> interpret(mlir::func::FuncOp main, llvm::ArrayRef<Tensor> inputs,
                                                     const InterpreterOptions &options = {});

/// The same of a host program, on bytes of its memories: what was not written is poison (all bits set), and a place
/// that leaves its memory is an error.
llvm::FailureOr<llvm::SmallVector<Tensor>> interpret(host::EntryOp entry, llvm::ArrayRef<Tensor> inputs,
                                                     const InterpreterOptions &options = {});

/// Whether the runtime has the function of library calls of this name ("library.name").
bool isRuntimeFunction(llvm::StringRef name);
/// A perpend_operator for library calls of that name in modules whose graph.objects is that list, in place of an older
/// one. Null: they have none. Threads: any.
void addFunction(mlir::Attribute objects, llvm::StringRef name, void *function);

/// Registers the dialects that interpreted modules may use.
void registerDialects(mlir::DialectRegistry &registry);
} // namespace perpend::interp

#endif
