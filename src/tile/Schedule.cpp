//===- Schedule.cpp - how a kernel runs -------------------------------------===//

#include "tile/Schedule.h"

#include "tile/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace perpend::tile {
static constexpr llvm::StringLiteral attributeName = "tile.schedule";

/// The entries of a schedule, each with its name: the one list.
template <typename Visitor> static void visitEntries(Schedule &schedule, Visitor visit) {
  visit("unit_dims", schedule.unitDims);
  visit("part", schedule.part);
  visit("row", schedule.row);
  visit("rows", schedule.rows);
  visit("cols", schedule.cols);
  visit("block", schedule.block);
  visit("grain", schedule.grain);
}

Operation *leadingOperator(func::FuncOp kernel) {
  Operation *reduction = nullptr;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<MatmulOp, ConvOp>(op))
      return &op;
    if (!reduction && isa<graph::ReduceOp>(op))
      reduction = &op;
  }
  return reduction;
}

Schedule Schedule::of(func::FuncOp kernel) {
  Schedule schedule;
  auto dictionary = kernel->getAttrOfType<DictionaryAttr>(attributeName);
  if (!dictionary)
    return schedule;
  visitEntries(schedule, [&](StringRef name, int64_t &value) {
    if (auto number = dictionary.getAs<IntegerAttr>(name))
      value = number.getInt();
  });
  schedule.flatten = dictionary.contains("flatten");
  return schedule;
}

void Schedule::attachTo(func::FuncOp kernel) const {
  Builder builder(kernel.getContext());
  NamedAttrList entries;
  Schedule copy = *this, defaults;
  SmallVector<int64_t> defaultValues;
  visitEntries(defaults, [&](StringRef, int64_t &value) { defaultValues.push_back(value); });
  size_t next = 0;
  visitEntries(copy, [&](StringRef name, int64_t &value) {
    if (value != defaultValues[next++])
      entries.set(name, builder.getI64IntegerAttr(value));
  });
  if (flatten)
    entries.set("flatten", builder.getUnitAttr());
  kernel->setAttr(attributeName, entries.getDictionary(kernel.getContext()));
}
} // namespace perpend::tile
