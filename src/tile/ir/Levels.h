//===- Levels.h - who runs the iterations of a kernel's loops ---*- C++ -*-===//
//
// A machine has levels of execution (target/Machine.h), such as threads. If a kernel is a single nest of loops and the
// outermost one is parallel, its iterations are the kernel's units. With Launch::Ranges, the instances of the
// outermost level share the units. With Launch::Grid, each iteration of a loop that is bound to a level runs on an
// instance of its own; bound loops are a perfect nest around the whole kernel, and an unbound outermost parallel loop
// runs at the outermost level. `bind` requires a loop to be run by a level; `parallel` only permits it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_IR_LEVELS_H
#define PERPEND_TILE_IR_LEVELS_H

#include "target/Machine.h"
#include "tile/ir/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// The loop of a kernel of blocks whose iterations are its units; null if the kernel is one unit.
ForOp loopOfUnits(mlir::func::FuncOp kernel);

/// For each level of the machine, the loop whose iterations its instances run; null: one instance runs all of them.
llvm::SmallVector<ForOp> loopsOfLevels(mlir::func::FuncOp kernel, const target::Machine &target);

/// Who runs a kernel: the device that it names, or the machine; null: the machine has no such device.
const target::Machine *machineOf(mlir::func::FuncOp kernel, const target::Machine &target);

/// Error: the machine has no such device.
mlir::LogicalResult reportDevice(mlir::func::FuncOp kernel, const target::Machine &target);

/// Why the machine does not run a loop at the level to which it is bound, for example "the loop 'i' is bound to
/// 'thread', but is not the kernel's only outermost loop"; empty if it runs all of them so.
std::string unmetBinding(mlir::func::FuncOp kernel, const target::Machine &target);
/// What a schedule with such a loop can do instead.
inline constexpr llvm::StringLiteral bindingAdvice = "bind the kernel's only outermost loop, or let it run in parallel";
} // namespace perpend::tile

#endif
