//===- ScheduleBlocks.cpp - default schedules of kernels of blocks --------===//
//
// Runs behind BuildBlocks: the rule for a kernel's kind transforms it through the
// primitives of tile/schedule, and the trace stays as the kernel's attribute
// tile.trace. Afterwards FlattenBlocks makes loops on memory of it.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/passes/Passes.h"
#include "tile/rules/Rules.h"

#include "graph/Attributes.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILESCHEDULEBLOCKS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
struct ScheduleBlocks : perpend::tile::impl::TileScheduleBlocksBase<ScheduleBlocks> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      bool isBlocks = llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<BufferType>);
      if (!kernel->hasAttr(graph::kernelAttribute) || !isBlocks || kernel->hasAttr(traceAttribute))
        continue;
      KernelSchedule schedule(kernel);
      if (failed(scheduleRows(schedule, kernel))) {
        kernel.emitError("kernel '") << kernel.getSymName() << "': " << schedule.refusal();
        return signalPassFailure();
      }
      Builder builder(kernel.getContext());
      SmallVector<Attribute> lines;
      for (const TraceInstruction &instruction : schedule.trace())
        lines.push_back(builder.getStringAttr(instruction.str()));
      kernel->setAttr(traceAttribute, builder.getArrayAttr(lines));
    }
  }
};
} // namespace
