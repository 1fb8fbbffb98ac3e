//===- Asynchrony.h - the order of what runs at one time --------*- C++ -*-===//
//
// Keeps, in a run, what has been started and not waited for, with the bytes that
// it touches. Whatever touches the same bytes has to begin behind it, by events
// or because the host has waited: the rule that host/Events.h proves for all
// runs, here by addresses. Internal to the interpreter.
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
