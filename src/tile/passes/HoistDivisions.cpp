//===- HoistDivisions.cpp - hoists divisions of indices -------------------===//
//
// If LLVM 19 vectorises a division whose operands are the same in all lanes, under a condition that varies between
// lanes, it computes the division for the first lane only, and not at all if that lane is inactive. Divisions of
// indices by expressions of symbols are of this kind. So they are hoisted out of the condition, and out of loops that
// do not change them. There the divisor may be 0, which is replaced by 1.
//
//   scf.if %inside {                         %e = arith.maxui %d, 1
//     %q = arith.divui %i, %d          =>    %q = arith.divui %i, %e
//     … }                                    scf.if %inside { … }
//
//===----------------------------------------------------------------------===//

#include "tile/passes/Passes.h"

#include "graph/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEHOISTDIVISIONS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;

static bool isDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp>(op) &&
         op->getResult(0).getType().isIndex();
}

/// Collects the operations inside `around` that compute `value`, in order; false if they are not all arithmetic.
static bool collect(Value value, Operation *around, SetVector<Operation *> &slice) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !around->isAncestor(value.getParentBlock()->getParentOp());
  if (!around->isAncestor(op) || slice.contains(op))
    return true;
  if (!isa<arith::ArithDialect>(op->getDialect()) || !isMemoryEffectFree(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, around, slice); }))
    return false;
  slice.insert(op);
  return true;
}

namespace {
struct HoistDivisions : perpend::tile::impl::TileHoistDivisionsBase<HoistDivisions> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(graph::kernelAttribute))
        continue;
      SmallVector<Operation *> divisions;
      kernel.walk([&](Operation *op) {
        if (isDivision(op))
          divisions.push_back(op);
      });
      llvm::for_each(divisions, hoist);
    }
  }

  /// Hoists out of loops as well, where possible: LLVM sinks what is just before a condition back to its use.
  static void hoist(Operation *division) {
    Operation *front = nullptr;
    SetVector<Operation *> slice;
    bool isConditional = false;
    for (Operation *around = division->getParentOp(); isa<scf::IfOp, scf::ForOp>(around);
         around = around->getParentOp()) {
      SetVector<Operation *> inside;
      if (!collect(division->getResult(0), around, inside))
        break;
      isConditional |= isa<scf::IfOp>(around);
      front = around;
      slice = std::move(inside);
    }
    if (!isConditional)
      return;
    for (Operation *op : slice) {
      op->moveBefore(front);
      if (!isDivision(op) || op->getOperand(1).getDefiningOp<arith::ConstantIndexOp>())
        continue;
      OpBuilder builder(op);
      Value one = builder.create<arith::ConstantIndexOp>(op->getLoc(), 1);
      op->setOperand(1, builder.create<arith::MaxUIOp>(op->getLoc(), op->getOperand(1), one));
    }
  }
};
} // namespace
