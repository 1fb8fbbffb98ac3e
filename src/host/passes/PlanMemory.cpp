//===- PlanMemory.cpp - main becomes a host program --------------------------===//
//
// Runs when main consists of constants, reshapes, calls and control flow, and
// kernels are loops on buffers: gives every value a buffer, a room or a place
// (MemoryPlan.cpp), writes the program down (BuildProgram.cpp), and lets what does
// not live at one time share memory (ShareMemory.cpp). host-place-values then
// decides in which memory a buffer lies.
//
//===----------------------------------------------------------------------===//

#include "graph/Entries.h"
#include "host/BuildProgram.h"
#include "host/Segments.h"
#include "host/ShareMemory.h"
#include "host/Strategy.h"
#include "host/passes/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::host {
#define GEN_PASS_DEF_HOSTPLANMEMORY
#include "host/HostPasses.h.inc"
} // namespace perpend::host

using namespace mlir;
using namespace perpend::host;

namespace {
struct PlanMemory : perpend::host::impl::HostPlanMemoryBase<PlanMemory> {
  using HostPlanMemoryBase::HostPlanMemoryBase;

  void runOnOperation() override {
    std::optional<perpend::runtime::Strategy> known = strategyOf(strategy);
    if (!known) {
      getOperation().emitError("memory planning: unknown strategy '")
          << strategy << "', expected one of " << llvm::join(strategyNames(), ", ");
      return signalPassFailure();
    }
    llvm::SmallVector<func::FuncOp, 2> entries = perpend::graph::entriesOf(getOperation());
    for (func::FuncOp main : entries) {
      FailureOr<MemoryPlan> plan = MemoryPlan::of(main, target);
      if (failed(plan))
        return signalPassFailure();
      EntryOp entry = buildProgram(main, *plan, target);
      if (*known != perpend::runtime::Strategy::Best)
        entry->setAttr(strategyAttribute, StringAttr::get(&getContext(), strategy));
      if (failed(shareMemory(entry)))
        return signalPassFailure();
    }
    if (entries.size() > 1)
      shareSegments(getOperation());
  }
};
} // namespace
