//===- Passes.h - the passes of the tile level ------------------*- C++ -*-===//

#ifndef PERPEND_TILE_PASSES_PASSES_H
#define PERPEND_TILE_PASSES_PASSES_H

#include "target/TargetOption.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace perpend::tile {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

#endif
