//===- Ranges.cpp - a call runs a range of a kernel's units -----------------===//

#include "tile/flatten/Flattener.h"
#include "tile/ir/Levels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace perpend::tile {
namespace {
/// The iterations of the kernel's outermost loop, if that is parallel and the only one; otherwise the kernel is one
/// unit.
class Ranges : public Units {
public:
  explicit Ranges(ForOp loop) : loop(loop) {}
  unsigned arguments() const override { return 2; }

  graph::Shape emit(Flattener &flattener, OpBuilder &builder) override {
    Location loc = flattener.location();
    if (loop) {
      emitPart(flattener, builder);
      return {flattener.extentOf(loop)};
    }
    auto unit =
        builder.create<scf::ForOp>(loc, flattener.unitArgument(0), flattener.unitArgument(1), flattener.constant(1));
    OpBuilder inner = OpBuilder::atBlockBegin(unit.getBody());
    flattener.emitKernel(inner);
    return {SymbolicInt(1)};
  }

private:
  /// The part of the loop that this call runs.
  void emitPart(Flattener &flattener, OpBuilder &builder) {
    Location loc = flattener.location();
    SymbolicInt extent = flattener.extentOf(loop);
    flattener.forEachPart(loop, [&](const SymbolicInt &from, const SymbolicInt &to) {
      Value first = flattener.unitArgument(0), last = flattener.unitArgument(1);
      if (from != SymbolicInt(0))
        first = builder.create<arith::MaxSIOp>(loc, first, flattener.value(builder, from));
      if (to != extent)
        last = builder.create<arith::MinSIOp>(loc, last, flattener.value(builder, to));
      auto units = builder.create<scf::ForOp>(loc, first, last, flattener.constant(1));
      flattener.setIteration(loop, units.getInductionVar());
      OpBuilder inner = OpBuilder::atBlockBegin(units.getBody());
      flattener.emitPrefetches(inner, loop);
      flattener.emit(inner, *loop.body());
    });
  }

  ForOp loop;
};
} // namespace

Units::Pointer unitsInRanges(func::FuncOp kernel) { return std::make_unique<Ranges>(loopOfUnits(kernel)); }

Units::Pointer Units::of(func::FuncOp kernel, const target::Machine &machine) {
  return machine.launch == target::Launch::Grid ? unitsOfGrid(kernel, machine) : unitsInRanges(kernel);
}
} // namespace perpend::tile
