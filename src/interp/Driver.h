//===- Driver.h - devices of the interpreter --------------------*- C++ -*-===//
//
// A host program passes launches and copies to a driver. The interpreter's own driver runs asynchronous commands as
// late as possible, so that an operation which does not wait for them reads the old data. Another driver may run the
// commands on a device.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_DRIVER_H
#define PERPEND_INTERP_DRIVER_H

#include "interp/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>

namespace perpend::interp {

/// A launch, or a copy from the first tensor to the second.
struct Command {
  mlir::Operation *op;
  mlir::func::FuncOp kernel;                      ///< null: a copy
  llvm::SmallVector<Tensor> tensors;              ///< inputs, then outputs
  llvm::SmallVector<int64_t> symbols;             ///< of the kernel, in its order
  llvm::SmallVector<int64_t> extents;             ///< of the grid
  std::function<llvm::LogicalResult()> interpret; ///< does it
};

class Driver {
public:
  /// Number of a command that has been given, from 0 on in each run.
  using Event = unsigned;
  virtual ~Driver() = default;
  /// Bytes in a memory of a device; null if there are not so many.
  virtual std::shared_ptr<std::byte> allocate(llvm::StringRef memory, int64_t bytes) = 0;
  /// Takes a command that may begin once the events `after` have happened. Events are given in ascending order.
  virtual void start(Event event, Command command, llvm::ArrayRef<Event> after) = 0;
  /// Returns when an event has happened. Error: at the operation of a command.
  virtual llvm::LogicalResult wait(Event event) = 0;
};

/// Runs a command when the host waits for it, or for one that begins behind it.
class LateDriver : public Driver {
public:
  std::shared_ptr<std::byte> allocate(llvm::StringRef memory, int64_t bytes) override;
  void start(Event event, Command command, llvm::ArrayRef<Event> after) override;
  llvm::LogicalResult wait(Event event) override;

private:
  struct Waiting {
    Command command;
    llvm::SmallVector<Event> after;
  };
  std::map<Event, Waiting> commands;
};
} // namespace perpend::interp

#endif
