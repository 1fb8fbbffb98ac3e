//===- Passes.h - passes for processors with vector registers ---*- C++ -*-===//

#ifndef PERPEND_TARGET_VECTOR_PASSES_PASSES_H
#define PERPEND_TARGET_VECTOR_PASSES_PASSES_H

#include "target/TargetOption.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace perpend::target {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "target/VectorPasses.h.inc"
} // namespace perpend::target

#endif
