//===- RandomSteps.h - primitives with random operands ----------*- C++ -*-===//

#ifndef PERPEND_TEST_TILE_RANDOMSTEPS_H
#define PERPEND_TEST_TILE_RANDOMSTEPS_H

#include "Module.h"

#include "tile/schedule/Primitives.h"

namespace perpend::tile {

/// Those that change much more often than those that do not.
const PrimitiveInfo &randomPrimitive(interp::Random &random);
/// Applies a primitive to operands of its kernel that are drawn, or others with it so that it may apply.
mlir::LogicalResult applyRandomly(KernelSchedule &schedule, mlir::func::FuncOp kernel, llvm::StringRef primitive,
                                  interp::Random &random);
} // namespace perpend::tile

#endif
