//===- VerifyEvents.cpp - that no wait is missing ---------------------------===//

#include "graph/ErrorKind.h"
#include "host/Events.h"

using namespace mlir;

namespace perpend::host {
namespace {
class Verifier : public EventOrder {
  LogicalResult order(Operation *op, Operations running) override {
    return op->emitOpError("A1: begins while ")
           << describe(running.front()) << " may still run, which touches the same memory"
           << graph::Hint("begin it `after` the event of that, or let the host wait for it");
  }

  LogicalResult end(Block &block, Operations running) override {
    Operation *at =
        block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>() ? block.getParentOp() : &block.back();
    return at->emitOpError("A2: ends while ")
           << describe(running.front()) << " may still run" << graph::Hint("host.wait for its event before");
  }
};
} // namespace

LogicalResult verifyEvents(EntryOp entry) {
  bool isSynchronous = true;
  entry.walk([&](Operation *op) { isSynchronous &= !eventOf(op); });
  return isSynchronous ? success() : Verifier().run(entry);
}
} // namespace perpend::host
