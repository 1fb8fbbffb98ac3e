//===- Grids.cpp - a call runs one instance of a grid ---------------------===//
//
// No loop is emitted for a loop that is bound to a level (ir/Levels.h): its variable is the instance's id at that
// level. The grid has the extents of the loops, so ids need no check, unless a loop is emitted in parts (Edges.cpp).
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/flatten/Flattener.h"
#include "tile/ir/Levels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace perpend::tile {
namespace {
class Grid : public Units {
public:
  Grid(SmallVector<ForOp> loops, std::vector<std::string> levels)
      : loops(std::move(loops)), levels(std::move(levels)) {}
  unsigned arguments() const override { return levels.size(); }

  void mark(func::FuncOp kernel) const override {
    SmallVector<StringRef> names(levels.begin(), levels.end());
    kernel->setAttr(gridAttribute, Builder(kernel.getContext()).getStrArrayAttr(names));
  }

  graph::Shape emit(Flattener &flattener, OpBuilder &builder) override {
    emitFrom(0, flattener, builder);
    graph::Shape extents;
    for (ForOp loop : loops)
      extents.push_back(loop ? flattener.extentOf(loop) : SymbolicInt(1));
    return extents;
  }

private:
  /// The loops of this level and of those inside of it.
  void emitFrom(unsigned level, Flattener &flattener, OpBuilder &builder, ForOp around = {}) {
    while (level < loops.size() && !loops[level])
      ++level;
    if (level == loops.size())
      return around ? flattener.emit(builder, *around.body()) : flattener.emitKernel(builder);
    ForOp loop = loops[level];
    Value id = flattener.unitArgument(level);
    flattener.forEachPart(loop, [&](const SymbolicInt &from, const SymbolicInt &to) {
      OpBuilder inner = builder;
      auto require = [&](arith::CmpIPredicate predicate, const SymbolicInt &bound) {
        Location loc = flattener.location();
        Value holds = inner.create<arith::CmpIOp>(loc, predicate, id, flattener.value(inner, bound));
        inner = inner.create<scf::IfOp>(loc, holds, /*withElseRegion=*/false).getThenBodyBuilder();
      };
      if (from != SymbolicInt(0))
        require(arith::CmpIPredicate::sge, from);
      if (to != flattener.extentOf(loop))
        require(arith::CmpIPredicate::slt, to);
      flattener.setIteration(loop, id);
      emitFrom(level + 1, flattener, inner, loop);
    });
  }

  SmallVector<ForOp> loops;
  std::vector<std::string> levels;
};
} // namespace

Units::Pointer unitsOfGrid(func::FuncOp kernel, const target::Machine &machine) {
  return std::make_unique<Grid>(loopsOfLevels(kernel, machine), machine.levelNames());
}
} // namespace perpend::tile
