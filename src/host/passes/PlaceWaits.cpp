//===- PlaceWaits.cpp - what can run beside the host does -------------------===//
//
// Runs on host programs whose operations run one after another. Launches on a
// device with a queue, and copies over a link that works by itself, become
// asynchronous. Each begins behind the events of those that touch the same
// memory, unless another event or a wait of the host implies that already; the
// host waits only in front of what it does itself, and at the end.
//
//   host.copy %x to %d                          %e = host.copy async %x to %d
//   host.launch @k(%d) -> (%r) on "device"  =>  %f = host.launch async @k(%d) -> (%r) on "device" after (%e)
//   host.launch @next(%r) -> (%y)               host.wait %f
//                                               host.launch @next(%r) -> (%y)
//
//===----------------------------------------------------------------------===//

#include "host/Devices.h"
#include "host/Events.h"
#include "host/Host.h"
#include "host/passes/Passes.h"

namespace perpend::host {
#define GEN_PASS_DEF_HOSTPLACEWAITS
#include "host/HostPasses.h.inc"
} // namespace perpend::host

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

namespace {
/// The latest of the running operations is ordered first: its event often implies the others.
class Order : public EventOrder {
  LogicalResult order(Operation *op, Operations running) override {
    Value event = eventOf(running.front());
    if (auto launch = dyn_cast<LaunchOp>(op); launch && launch.getEvent())
      launch.getAfterMutable().append(event);
    else if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getEvent())
      copy.getAfterMutable().append(event);
    else
      waitAt(OpBuilder(op), op->getLoc(), event);
    return success();
  }

  LogicalResult end(Block &block, Operations running) override {
    OpBuilder b = OpBuilder::atBlockEnd(&block);
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPoint(&block.back());
    waitAt(b, running.front()->getLoc(), eventOf(running.front()));
    return success();
  }

  void waitAt(OpBuilder b, Location loc, Value event) {
    b.create<WaitOp>(loc, event);
    wait(event);
  }
};

struct PlaceWaits : perpend::host::impl::HostPlaceWaitsBase<PlaceWaits> {
  using HostPlaceWaitsBase::HostPlaceWaitsBase;

  void runOnOperation() override {
    if (target.devices.empty() && target.mainMemories.empty())
      return;
    for (auto entry : getOperation().getOps<EntryOp>()) {
      entry.getBody().walk([&](Operation *op) {
        if (isAsynchronous(op) && !eventOf(op))
          addEvent(op);
      });
      if (failed(Order().run(entry)))
        return signalPassFailure();
    }
  }

private:
  bool isAsynchronous(Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      const target::Machine *runner = runnerOf(launch, target);
      return launch.getDevice() && runner && runner->hasQueue;
    }
    auto copy = dyn_cast<CopyOp>(op);
    const target::Link *link = copy ? target.link(copy.getSource().getType().getMemory().getValue(),
                                                  copy.getTarget().getType().getMemory().getValue())
                                    : nullptr;
    return link && link->isAsynchronous;
  }

  void addEvent(Operation *op) {
    OperationState state(op->getLoc(), op->getName(), op->getOperands(), EventType::get(&getContext()), op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    OpBuilder(op).create(state);
    op->erase();
  }
};
} // namespace
