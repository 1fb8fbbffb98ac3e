//===- Events.h - what may still run when an operation begins ---*- C++ -*-===//
//
// An asynchronous launch or copy signals its event when it has completed. Two operations are ordered if the later one
// waits for the event of the earlier one: through `after`, or because the host has waited. Operations without an order
// may run at the same time, even if they touch the same memory.
//
// A region waits for all that it starts, so no event leaves it, and one iteration of a loop is enough to analyse.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_EVENTS_H
#define PERPEND_HOST_EVENTS_H

#include "host/Host.h"

#include "llvm/ADT/BitVector.h"

namespace perpend::host {

/// A place, room or buffer that an operation reads or writes.
struct Touched {
  mlir::Value value;
  bool isWritten;
};
llvm::SmallVector<Touched> touchedBy(mlir::Operation *op);

/// The events behind which an operation begins, and its own; null: the next operation begins when it has ended.
mlir::OperandRange eventsBefore(mlir::Operation *op);
mlir::Value eventOf(mlir::Operation *op);
/// For messages: "the launch of 'k'", "a copy".
std::string describe(mlir::Operation *asynchronous);

/// Visits the operations of an entry in order, and asks for an order where one is missing.
class EventOrder {
public:
  virtual ~EventOrder() = default;
  mlir::LogicalResult run(EntryOp entry) { return visit(entry.getBody().front()); }

protected:
  using Operations = llvm::ArrayRef<mlir::Operation *>;
  /// `op` begins while `running`, the latest first, may touch the same bytes, and one of both writes them. If this
  /// succeeds, at least the first of them is in order now.
  virtual mlir::LogicalResult order(mlir::Operation *op, Operations running) = 0;
  /// The same of operations that a block has started and not waited for at its end.
  virtual mlir::LogicalResult end(mlir::Block &block, Operations running) = 0;
  /// The host has waited for these.
  void wait(mlir::ValueRange events);

private:
  /// Bytes in a memory: of `root`, or with a root without value of the whole memory's arena.
  struct Access {
    mlir::Value root;
    std::optional<std::pair<int64_t, int64_t>> range; ///< begin and end from the start of the root; nullopt: all of it
    bool isWritten;
  };
  struct Started {
    mlir::Operation *op;
    llvm::BitVector before; ///< what has ended when it begins
    llvm::SmallVector<Access> accesses;
  };

  mlir::LogicalResult visit(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation &op);
  mlir::LogicalResult visitBranches(IfOp branch);
  llvm::BitVector endedBefore(mlir::ValueRange events) const;
  llvm::SmallVector<mlir::Operation *> running(llvm::ArrayRef<Access> accesses, const llvm::BitVector &ended) const;
  static llvm::SmallVector<Access> accessesOf(mlir::Operation *op);
  static void collect(mlir::Value value, Access access, llvm::SmallVectorImpl<mlir::Value> &seen,
                      llvm::SmallVectorImpl<Access> &accesses);
  static bool mayMeet(const Access &a, const Access &b);

  std::vector<Started> started;
  llvm::DenseMap<mlir::Value, unsigned> numbers; ///< of events, among `started`
  llvm::BitVector ended;                         ///< what the host has waited for
};

/// A1: an operation begins behind those that touch the same bytes, where one of both writes. A2: a block waits for what
/// it starts. VerifyEvents.cpp
mlir::LogicalResult verifyEvents(EntryOp entry);
} // namespace perpend::host

#endif
