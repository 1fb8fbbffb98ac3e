//===- Passes.h - the passes of the host level ------------------*- C++ -*-===//

#ifndef PERPEND_HOST_PASSES_PASSES_H
#define PERPEND_HOST_PASSES_PASSES_H

#include "target/TargetOption.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace perpend::host {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "host/HostPasses.h.inc"
} // namespace perpend::host

#endif
