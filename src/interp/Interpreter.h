//===- Interpreter.h - executes graphs and kernels --------------*- C++ -*-===//
//
// Runs a main function of the graph level on tensors; the result defines the
// meaning of a module. graph.call_kernel runs the kernel in any form: graph
// operators on tensors, loops around blocks on buffers, or loops on memory.
// Compiled code is tested against it.
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
class Driver;

struct InterpreterOptions {
  /// Called after each operation of main with its results, in program order.
  std::function<void(mlir::Operation *op, llvm::ArrayRef<Tensor> results)> observer;
  /// Limit of the memory of all live tensors; exceeding it is an error.
  uint64_t memoryLimitBytes = uint64_t{16} << 30;
  /// Limit of executed operators, counting those of regions each time; 0: none.
  uint64_t operatorLimit = 0;
  /// Number of parts of the parallel extent in which tiled kernels are run.
  unsigned kernelParts = 1;
  /// In kernels of blocks, report instances that never run or run twice; takes a byte per instance. (A block that is
  /// computed where it is read may legitimately do either.)
  bool checksInstances = false;
  /// Runs what host programs hand to devices (Driver.h); null: the interpreter, as late as it may.
  Driver *driver = nullptr;
  /// Holds the lists of inputs and results; null: no input is a list.
  std::shared_ptr<library::ListTable> lists;
};

/// The results of `main`. Symbols get their values from the extents of the inputs. Values are freed after their last
/// use. Errors (diagnostics at the operation): an input's type or extent does not fit (names the input, the dimension,
/// expected and got), sizes do not fit at run time, an out-of-bounds access, the memory limit.
llvm::FailureOr<llvm::SmallVector<Tensor>> interpret(mlir::func::FuncOp main, llvm::ArrayRef<Tensor> inputs,
                                                     const InterpreterOptions &options = {});

/// Like above, for a host program, on bytes of its memories: all bits are set where nothing was written, and a place
/// that leaves its memory is an error.
llvm::FailureOr<llvm::SmallVector<Tensor>> interpret(host::EntryOp entry, llvm::ArrayRef<Tensor> inputs,
                                                     const InterpreterOptions &options = {});

/// The first values of the states of main: its last arguments (graph/States.h). Errors: an initial value without
/// elements.
llvm::FailureOr<llvm::SmallVector<Tensor>> firstStatesOf(mlir::func::FuncOp main);
llvm::FailureOr<llvm::SmallVector<Tensor>> firstStatesOf(host::EntryOp entry);

/// Whether the runtime has a function of this name ("library.name") for library calls.
bool isRuntimeFunction(llvm::StringRef name);
/// Registers a perpend_operator for library calls of this name in modules whose graph.objects is that list, replacing
/// an earlier one. Null removes it. Thread-safe.
void addFunction(mlir::Attribute objects, llvm::StringRef name, void *function);

/// Registers the dialects of modules that can be interpreted.
void registerDialects(mlir::DialectRegistry &registry);
} // namespace perpend::interp

#endif
