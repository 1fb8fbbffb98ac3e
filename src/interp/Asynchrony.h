//===- Asynchrony.h - checks the order of asynchronous commands -*- C++ -*-===//
//
// During a run, this class keeps the commands that have been started and not waited for, with the bytes that they
// access. A command that accesses bytes which a running one accesses, too, must be ordered after that one, by events
// or because the host has waited, unless both only read. host/Events.h proves this rule for all runs; this class
// checks it by addresses. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ASYNCHRONY_H
#define PERPEND_INTERP_ASYNCHRONY_H

#include "interp/Driver.h"

#include <map>
#include <set>

namespace perpend::interp {

class Asynchrony {
public:
  explicit Asynchrony(Driver &driver) : driver(driver) {}

  struct Range {
    const std::byte *begin;
    int64_t bytes;
    bool isWritten;
  };
  using Ranges = llvm::SmallVector<Range, 4>;

  bool isIdle() const { return running.empty(); }
  /// Error (at op): it begins while something runs that touches the same bytes.
  llvm::LogicalResult check(mlir::Operation *op, const Ranges &ranges, llvm::ArrayRef<Driver::Event> after = {}) const;
  Driver::Event start(Command command, Ranges ranges, llvm::ArrayRef<Driver::Event> after);
  llvm::LogicalResult wait(Driver::Event event);
  /// Error (at op): something still runs.
  llvm::LogicalResult finish(mlir::Operation *op) const;

private:
  struct Running {
    mlir::Operation *op;
    Ranges ranges;
    std::set<Driver::Event> before; ///< what has ended when it begins
  };
  std::set<Driver::Event> endedBefore(llvm::ArrayRef<Driver::Event> events) const;

  Driver &driver;
  std::map<Driver::Event, Running> running; ///< without those for which the host has waited
  Driver::Event next = 0;
};
} // namespace perpend::interp

#endif
