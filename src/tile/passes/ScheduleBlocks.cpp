//===- ScheduleBlocks.cpp - schedules kernels of blocks -------------------===//
//
// Runs after BuildBlocks and applies the kernel's trace by the primitives of tile/schedule. A kernel without a trace
// gets one from the rules, and so does one whose record in the tuning database is refused, with a warning; any other
// trace that is refused is an error. The applied trace stays as the attribute tile.trace. Afterwards FlattenBlocks
// converts to loops on memory.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/cost/BlockCost.h"
#include "tile/cost/KernelCost.h"
#include "tile/ir/Levels.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/kernel/Partition.h"
#include "tile/kernel/Scratch.h"
#include "tile/passes/Passes.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/KernelTraces.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILESCHEDULEBLOCKS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Least estimated duration of a part for one thread. Estimates assume ideal conditions, and small kernels take up to
/// three times as long, so that this corresponds to the four microseconds of CostModel.h.
static constexpr double leastEstimateOfPart = 1.5e-6;

/// Whether the work of a unit is independent of symbols: no loop in it has a symbolic extent.
static bool isUnitKnown(func::FuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    std::set<std::string> names;
    if (auto loop = dyn_cast<ForOp>(op); loop && loop.getKind() != LoopKind::Parallel)
      loop.getExtent().values()[0].symbols(names);
    return names.empty() && !isa<scf::ForOp, scf::WhileOp>(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Applies a tuning record. If it is refused, leaves the kernel unchanged, warns, and stores the reason as an
/// attribute.
static bool applyRecord(func::FuncOp kernel, const target::Machine &target) {
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  KernelSchedule schedule(*trial, target);
  std::string why;
  bool isReplayed = false;
  {
    ScopedDiagnosticHandler quiet(kernel.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && why.empty())
        why = diagnostic.str();
      return success();
    });
    isReplayed = succeeded(replayTrace(*trial, schedule));
  }
  if (isReplayed) {
    compactBuffers(*trial);
    why = exceededMemory(*trial, target);
    if (why.empty())
      why = unmetBinding(*trial, target);
  }
  kernel->removeAttr(recordAttribute);
  kernel->removeAttr(traceAttribute);
  if (!isReplayed || !why.empty()) {
    auto [reason, advice] = StringRef(why).split('\n');
    bool lacksIntrinsic = advice.contains("--intrinsics FILE");
    kernel.emitWarning("kernel '") << kernel.getSymName() << "': its record in the database is not used: " << reason
                                   << "\nhint: "
                                   << (lacksIntrinsic ? "--intrinsics FILE, as when it was found; or " : "")
                                   << "tune again into another file";
    kernel->setAttr(refusedRecordAttribute, StringAttr::get(kernel.getContext(), reason));
    return false;
  }
  kernel.getBody().takeBody(trial->getBody());
  setTrace(kernel, schedule);
  return true;
}

namespace {
struct ScheduleBlocks : perpend::tile::impl::TileScheduleBlocksBase<ScheduleBlocks> {
  using TileScheduleBlocksBase::TileScheduleBlocksBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(graph::kernelAttribute) || !isOnBlocks(kernel))
        continue;
      const target::Machine *machine = machineOf(kernel, target);
      if (failed(machine ? schedule(kernel, *machine) : reportDevice(kernel, target)))
        return signalPassFailure();
    }
  }

  LogicalResult schedule(func::FuncOp kernel, const target::Machine &machine) {
    if (!kernel->hasAttr(scheduledAttribute)) {
      if (kernel->hasAttr(recordAttribute) ? !applyRecord(kernel, machine) : !hasTrace(kernel)) {
        applyRule(kernel, machine);
      } else if (kernel->hasAttr(scheduledAttribute)) {
        // Scheduled by its record.
      } else if (KernelSchedule schedule(kernel, machine); succeeded(replayTrace(kernel, schedule))) {
        setTrace(kernel, schedule);
      } else {
        return failure();
      }
    }
    compactBuffers(kernel);
    if (std::string exceeded = exceededMemory(kernel, machine); !exceeded.empty())
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "': " << exceeded
             << graph::Hint("give its schedule smaller blocks, or compute them at an inner loop");
    if (std::string unmet = unmetBinding(kernel, machine); !unmet.empty())
      return kernel.emitError("kernel '") << kernel.getSymName() << "': " << unmet << graph::Hint(bindingAdvice);
    if (Partition numbers = Partition::of(kernel); !numbers.grain)
      setGrain(kernel, machine, numbers);
    return success();
  }

  static void setGrain(func::FuncOp kernel, const target::Machine &machine, Partition numbers) {
    BlockCost cost = costOf(kernel, machine);
    numbers.grain = cost.unitsForSeconds(leastEstimateOfPart);
    numbers.isEstimate = !graph::symbolsOfKernel(kernel).empty() && !isUnitKnown(kernel);
    numbers.attachTo(kernel);
  }
};
} // namespace
