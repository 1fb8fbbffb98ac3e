//===- Passes.td - the passes of the host level ----------------------------===//

#ifndef PERPEND_HOST_PASSES_TD
#define PERPEND_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def HostPlanMemory : Pass<"host-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Makes main a host program: every value gets a place in memory";
  let dependentDialects = ["::perpend::host::HostDialect"];
  let options = [Option<"strategy", "strategy", "std::string", "\"best\"", "how places in the arena are chosen (host/Strategy.h)">];
}

#endif
