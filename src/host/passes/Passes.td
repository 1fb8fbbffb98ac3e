//===- Passes.td - the passes of the host level ----------------------------===//

#ifndef PERPEND_HOST_PASSES_TD
#define PERPEND_HOST_PASSES_TD

include "target/TargetOption.td"

def HostPlaceCopies : Pass<"host-place-copies", "::mlir::ModuleOp"> {
  let summary = "Copies each value of main to the memories of those that read it elsewhere";
  let dependentDialects = ["::perpend::host::HostDialect"];
  let options = [TargetOption];
}

def HostPlaceValues : Pass<"host-place-values", "::mlir::ModuleOp"> {
  let summary = "Decides in which memory each buffer lies: the nearest one in which it fits";
  let options = [TargetOption];
}

def HostPlaceWaits : Pass<"host-place-waits", "::mlir::ModuleOp"> {
  let summary = "Lets launches and copies run beside the host, in the order that the memory they touch requires";
  let options = [TargetOption];
}

def HostPlanMemory : Pass<"host-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Makes main a host program: every value gets a place in memory";
  let dependentDialects = ["::perpend::host::HostDialect"];
  let options = [Option<"strategy", "strategy", "std::string", "\"best\"", "how places in the arena are chosen (host/Strategy.h)">,
                 TargetOption];
}

#endif
