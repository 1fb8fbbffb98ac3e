//===- MemoryPlan.h - where the values of main lie --------------*- C++ -*-===//
//
// What memory planning decides before BuildProgram.cpp writes it down as
// buffers, rooms and places. Each has memory of its own until ShareMemory.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_MEMORYPLAN_H
#define PERPEND_HOST_MEMORYPLAN_H

#include "graph/Graph.h"
#include "target/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace perpend::host {

/// What the number of a storage counts: inputs, outputs, bytes from the start of the segments, buffers of the arena,
/// rooms (those of outputs first), and slots: addresses that change from one iteration of a loop to the next.
enum class Space { Input, Output, Segment, Arena, Room, Slot };

struct Storage {
  Space space = Space::Input;
  int64_t number = 0;
  bool operator==(const Storage &) const = default;
};

/// A buffer of the arena of one memory.
struct PlannedBuffer {
  graph::SymbolicInt bytes;
  std::string memory;
  bool isPinned = false;        ///< to this memory
  graph::SymbolicInt parts = 1; ///< of `bytes` each, at most; no more than there are threads
};

struct MemoryPlan {
  using Storages = llvm::SmallVector<Storage>;
  struct Loop {
    Storages arguments; ///< of the body
    Storages targets;   ///< where the next carried values and the elements of scan results are wanted
    Storages spares;    ///< the second storage of each carried value
  };

  /// A part of a state into which an operator computes a block of an update (graph::UpdateInterface), or of a value
  /// that is assembled of its parts.
  struct Part {
    Storage whole;               ///< a state is a result of main
    mlir::RankedTensorType type; ///< of the whole
    graph::SymbolicInt offset;   ///< in bytes
    mlir::Operation *update;     ///< or concatenation
    unsigned operand;
  };

  std::vector<PlannedBuffer> arena;
  int64_t rooms = 0; ///< those of outputs first
  /// Of an operator, each operand, then each result; of a terminator its operands.
  llvm::DenseMap<mlir::Operation *, Storages> values;
  llvm::DenseMap<mlir::Operation *, Loop> loops;
  llvm::DenseMap<mlir::Operation *, Storage> scratch;  ///< of calls of kernels with scratch memory
  llvm::DenseMap<mlir::Operation *, int64_t> segments; ///< where each constant that is used begins
  llvm::DenseMap<int64_t, Part> parts;                 ///< by the number of the slot
  llvm::StringMap<int64_t> initial;                    ///< where the first value of each state that has one begins

  /// Numbers the kernels, too (tile.number). Errors: a size has more than 63 bits, or is too long an expression.
  static mlir::FailureOr<MemoryPlan> of(mlir::func::FuncOp main, const target::Machine &machine);
};
} // namespace perpend::host

#endif
