//===- Asynchrony.cpp - the order of what runs at one time ----------------===//

#include "interp/Asynchrony.h"

#include "graph/ErrorKind.h"
#include "host/Events.h"

using namespace mlir;

namespace perpend::interp {

std::set<Driver::Event> Asynchrony::endedBefore(ArrayRef<Driver::Event> events) const {
  std::set<Driver::Event> ended;
  for (Driver::Event event : events)
    if (auto found = running.find(event); found != running.end()) {
      ended.insert(event);
      ended.insert(found->second.before.begin(), found->second.before.end());
    }
  return ended;
}

static bool meet(const Asynchrony::Range &a, const Asynchrony::Range &b) {
  return (a.isWritten || b.isWritten) && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

LogicalResult Asynchrony::check(Operation *op, const Ranges &ranges, ArrayRef<Driver::Event> after) const {
  std::set<Driver::Event> ended = endedBefore(after);
  for (const auto &[event, other] : running)
    for (const Range &range : ranges)
      if (!ended.count(event) && llvm::any_of(other.ranges, [&](const Range &theirs) { return meet(range, theirs); }))
        return op->emitError("begins while ") << host::describe(other.op) << " may still run, which touches the same "
                                              << "memory"
                                              << graph::Hint("begin it `after` the event of that, or let "
                                                             "the host wait for it");
  return success();
}

Driver::Event Asynchrony::start(Command command, Ranges ranges, ArrayRef<Driver::Event> after) {
  running[next] = {command.op, std::move(ranges), endedBefore(after)};
  driver.start(next, std::move(command), after);
  return next++;
}

LogicalResult Asynchrony::wait(Driver::Event event) {
  if (failed(driver.wait(event)))
    return failure();
  for (Driver::Event ended : endedBefore({event}))
    running.erase(ended);
  return success();
}

LogicalResult Asynchrony::finish(Operation *op) const {
  if (running.empty())
    return success();
  return op->emitError("ends while ") << host::describe(running.begin()->second.op) << " may still run"
                                      << graph::Hint("host.wait for its event before");
}
} // namespace perpend::interp
