//===- TargetOption.td - a machine as the option of a pass ----------------===//
//
// The option by which a pass gets the machine; see TargetOption.h.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_TARGETOPTION_TD
#define PERPEND_TARGET_TARGETOPTION_TD

include "mlir/Pass/PassBase.td"

def TargetOption : Option<"target", "target", "::perpend::target::Machine", "::perpend::target::defaultTarget()",
                          "the machine, by name">;

#endif
