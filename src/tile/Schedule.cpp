//===- Schedule.cpp - how a kernel runs -------------------------------------===//

#include "tile/Schedule.h"

#include "graph/Shapes.h"
#include "tile/Attributes.h"
#include "tile/Tile.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::tile {
namespace {
/// A number of a schedule, and what it may be.
struct Entry {
  StringLiteral name;
  int64_t Schedule::*number;
  int64_t least, most;
};
} // namespace

/// Numbers that are added to and multiplied with extents; a row is memory on the stack.
static constexpr int64_t mostLength = int64_t(1) << 48, mostRow = 4096;

static constexpr Entry numbers[] = {
    {"unit_dims", &Schedule::unitDims, 0, 64},
    {"part", &Schedule::part, 0, mostLength},
    {"row", &Schedule::row, 0, mostRow},
    {"grain", &Schedule::grain, 1, std::numeric_limits<int64_t>::max()},
};

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

std::optional<graph::RowChain> rowChainOf(func::FuncOp kernel) {
  Operation *terminator = kernel.getBody().front().getTerminator();
  Operation *root = terminator->getNumOperands() == 1 ? terminator->getOperand(0).getDefiningOp() : nullptr;
  return root ? graph::rowChainAt(root, graph::mostRowBytes) : std::nullopt;
}

Schedule Schedule::of(func::FuncOp kernel) {
  Schedule schedule;
  auto dictionary = kernel->getAttrOfType<DictionaryAttr>(scheduleAttribute);
  if (!dictionary)
    return schedule;
  for (const Entry &entry : numbers)
    if (auto number = dictionary.getAs<IntegerAttr>(entry.name))
      schedule.*entry.number = number.getInt();
  return schedule;
}

void Schedule::attachTo(func::FuncOp kernel) const {
  Builder builder(kernel.getContext());
  NamedAttrList entries;
  Schedule defaults;
  for (const Entry &entry : numbers)
    if (this->*entry.number != defaults.*entry.number)
      entries.set(entry.name, builder.getI64IntegerAttr(this->*entry.number));
  kernel->setAttr(scheduleAttribute, entries.getDictionary(kernel.getContext()));
}

//===----------------------------------------------------------------------===//
// Schedules written by hand
//===----------------------------------------------------------------------===//

namespace {
class ScheduleVerifier {
public:
  ScheduleVerifier(func::FuncOp kernel, DictionaryAttr entries)
      : kernel(kernel), entries(entries), schedule(Schedule::of(kernel)) {}

  LogicalResult run() {
    return success(llvm::all_of(entries, [&](NamedAttribute entry) { return isEntry(entry); }) && fitsKernel());
  }

private:
  bool fail(const Twine &message) {
    kernel.emitError("kernel '") << kernel.getSymName() << "': tile.schedule: " << message.str()
                                 << "\nhint: docs/howto/override-a-schedule.md says what each entry must hold";
    return false;
  }
  bool expect(bool holds, StringRef name, int64_t got, const Twine &expected) {
    return holds || fail(name + ": expected " + expected + ", got " + Twine(got));
  }

  bool isEntry(NamedAttribute attribute);
  bool fitsKernel();
  bool fitsElements(Operation *leading, int64_t rank);

  func::FuncOp kernel;
  DictionaryAttr entries;
  Schedule schedule;
};
} // namespace

bool ScheduleVerifier::isEntry(NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const Entry *entry = llvm::find_if(numbers, [&](const Entry &known) { return known.name == name; });
  if (entry == std::end(numbers)) {
    std::string known = llvm::join(llvm::map_range(numbers, [](const Entry &e) { return e.name; }), ", ");
    return fail("'" + name + "' is no entry: expected some of " + known);
  }
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!number || !number.getType().isSignlessInteger(64))
    return fail(name + ": expected an integer of 64 bits");
  std::string range = "at least " + std::to_string(entry->least);
  if (entry->most < mostLength)
    range = std::to_string(entry->least) + " to " + std::to_string(entry->most);
  return expect(number.getInt() >= entry->least && number.getInt() <= entry->most, name, number.getInt(), range);
}

/// What the loops of LowerKernels rely on.
bool ScheduleVerifier::fitsKernel() {
  Operation *terminator = kernel.getBody().front().getTerminator();
  if (terminator->getNumOperands() == 0)
    return true; // it is loops already
  Value root = terminator->getOperand(0);
  Operation *leading = leadingOperator(kernel);
  bool isSequence = root.getDefiningOp<graph::SequenceInterface>();
  bool hasSum = llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::ReductionInterface>);
  std::string ruled = isa_and_nonnull<MatmulOp, ConvOp>(leading) ? "a product on packed operands"
                      : rowChainOf(kernel)                       ? "a chain of rows"
                      : !hasSum && !isSequence                   ? "a kernel without a sum"
                                                                 : "";
  if (ruled.empty())
    return isSequence || fitsElements(leading, graph::tensorTypeOf(root).getRank());
  Schedule rest = schedule;
  rest.grain = Schedule().grain;
  return rest.isDefault() || fail(ruled + " takes no entry but grain: its rule makes its loops (tile.trace)");
}

bool ScheduleVerifier::fitsElements(Operation *leading, int64_t rank) {
  bool accumulatesRows = isa_and_nonnull<graph::ReduceOp>(leading) && schedule.row;
  if (!accumulatesRows)
    return expect(schedule.unitDims <= rank, "unit_dims", schedule.unitDims,
                  "at most the " + Twine(rank) + " dimensions of the result");
  rank = graph::tensorTypeOf(leading->getResult(0)).getRank();
  return expect(rank > 0, "row", schedule.row, "0 for a result without dimensions") &&
         expect(schedule.part % schedule.row == 0, "part", schedule.part, "a multiple of row = " + Twine(schedule.row));
}

LogicalResult Schedule::verify(func::FuncOp kernel) {
  auto entries = kernel->getAttrOfType<DictionaryAttr>(scheduleAttribute);
  if (!entries)
    return kernel.emitError("kernel '")
           << kernel.getSymName()
           << "': it has no tile.schedule\nhint: an empty one, tile.schedule = {}, stands for defaults";
  return ScheduleVerifier(kernel, entries).run();
}
} // namespace perpend::tile
