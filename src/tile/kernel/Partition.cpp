//===- Partition.cpp - how a kernel is divided among threads --------------===//

#include "tile/kernel/Partition.h"

#include "graph/ErrorKind.h"
#include "tile/Attributes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace perpend::tile {
static constexpr StringLiteral grainEntry = "grain", estimateEntry = "estimate";

std::optional<graph::RowChain> rowChainOf(func::FuncOp kernel) {
  Operation *terminator = kernel.getBody().front().getTerminator();
  Operation *root = terminator->getNumOperands() == 1 ? terminator->getOperand(0).getDefiningOp() : nullptr;
  return root ? graph::rowChainAt(root, graph::mostRowBytes) : std::nullopt;
}

Partition Partition::of(func::FuncOp kernel) {
  Partition schedule;
  if (auto entries = kernel->getAttrOfType<DictionaryAttr>(scheduleAttribute)) {
    if (auto number = entries.getAs<IntegerAttr>(grainEntry))
      schedule.grain = number.getInt();
    schedule.isEstimate = entries.contains(estimateEntry);
  }
  return schedule;
}

void Partition::attachTo(func::FuncOp kernel) const {
  Builder builder(kernel.getContext());
  NamedAttrList entries;
  if (grain != Partition().grain)
    entries.set(grainEntry, builder.getI64IntegerAttr(grain));
  if (isEstimate)
    entries.set(estimateEntry, builder.getUnitAttr());
  kernel->setAttr(scheduleAttribute, entries.getDictionary(kernel.getContext()));
}

LogicalResult Partition::verify(func::FuncOp kernel) {
  auto fail = [&](const Twine &message, StringRef hint = "docs/howto/override-a-schedule.md says what it may be") {
    return kernel.emitError("kernel '") << kernel.getSymName() << "': " << message.str() << graph::Hint(hint);
  };
  auto entries = kernel->getAttrOfType<DictionaryAttr>(scheduleAttribute);
  if (!entries)
    return fail("it has no tile.schedule", "an empty one, tile.schedule = {}, stands for defaults");
  for (NamedAttribute entry : entries) {
    if (entry.getName() == estimateEntry && isa<UnitAttr>(entry.getValue()))
      continue;
    if (entry.getName() != grainEntry)
      return fail("tile.schedule: '" + entry.getName().getValue() + "' is no entry: expected grain or estimate");
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    if (!number || !number.getType().isSignlessInteger(64))
      return fail("tile.schedule: grain: expected an integer of 64 bits");
    if (number.getInt() < 1)
      return fail("tile.schedule: grain: expected at least 1, got " + Twine(number.getInt()));
  }
  return success();
}
} // namespace perpend::tile
