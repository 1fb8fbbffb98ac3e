//===- TargetOption.td - a machine as the option of a pass -----------------===//
//
// The one option by which a pass asks for facts of the machine; see TargetOption.h.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_TARGETOPTION_TD
#define PERPEND_TARGET_TARGETOPTION_TD

include "mlir/Pass/PassBase.td"

def TargetOption : Option<"target", "target", "::perpend::target::TargetInfo", "::perpend::target::defaultTarget()",
                          "the machine, by name">;

#endif
