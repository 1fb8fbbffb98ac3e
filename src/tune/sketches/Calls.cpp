//===- Calls.cpp - sketch rules for user-supplied intrinsics --------------===//
//
// An intrinsic with an implementation, which a user has written or which calls a library, may compute a whole product.
// So it gets as much of a nest as it accepts, whatever its cost:
//
//   tensorize %i, "gemm"
//
// or units of rows or columns, together with the epilogue:
//
//   %i0, %i1 = split %i, [_, 64]     compute_at %sum, %i0     tensorize %i_sum, "gemm"
//
// If it does not accept the whole nest, an operand that was packed into panels for another intrinsic is copied back to
// whole rows, and the intrinsic gets the whole nest with the copy:
//
//   cache_read %sum, 1, "local"      transform_layout %sum, "read", 1, (p, k, c) -> (k, p * 16 + c)
//
//===----------------------------------------------------------------------===//

#include "tile/intrinsics/Intrinsic.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"
#include "tune/sketches/Sketches.h"

using namespace mlir;
using perpend::tile::BlockOp;
using perpend::tile::Intrinsic;
using perpend::tile::KernelSchedule;
using Loop = KernelSchedule::Loop;
using Loops = SmallVector<Loop>;

namespace perpend::tune {

static SmallVector<const Intrinsic *> implementedFor(BlockOp block, const target::Machine &target) {
  SmallVector<const Intrinsic *> known = tile::intrinsicsFor(block, target);
  llvm::erase_if(known, [](const Intrinsic *intrinsic) { return !intrinsic->implementation; });
  return known;
}

static bool isImplemented(BlockOp block, const target::Machine &target) {
  return isUntouched(block) && !implementedFor(block, target).empty();
}

/// Rows per unit; other points of the space have other numbers.
static constexpr int64_t rowsOfUnit = 64;
/// The first of these that the intrinsic accepts: packed operands fix the columns of a panel.
static constexpr int64_t columnsOfUnit[] = {256, 64, 48, 32, 16, 8, 4};

/// Divides into units of rows or columns, together with the reader. Returns the number of loops around them.
static FailureOr<size_t> divide(KernelSchedule &schedule, KernelSchedule::Block block, bool byColumns, int64_t size) {
  std::optional<KernelSchedule::Block> reader = readerAlike(schedule, block);
  Loops loops = spatialLoops(schedule, reader.value_or(block));
  if (loops.size() < 2)
    return schedule.refuse("it has no rows and columns");
  FailureOr<Loops> parts = schedule.split(loops[loops.size() - (byColumns ? 1 : 2)], {std::nullopt, size});
  if (failed(parts))
    return failure();
  Loop columns = loops.pop_back_val(), rows = loops.pop_back_val();
  loops.push_back(parts->front());
  Loops order(loops);
  order.append({byColumns ? rows : parts->back(), byColumns ? parts->back() : columns});
  if (failed(schedule.reorder(order)) || (reader && failed(schedule.computeAt(block, parts->front()))))
    return failure();
  return loops.size();
}

static LogicalResult callInUnits(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                                 bool byColumns, int64_t size, const target::Machine &target) {
  FailureOr<size_t> outer = divide(schedule, block, byColumns, size);
  return failed(outer) ? failure() : tile::giveToIntrinsic(schedule, block, *outer, intrinsic, target);
}

/// The map (…, p, k, c) -> (…, k, p * columns + c); empty if the buffer has no panels.
static std::string rowsOfPanels(tile::BufferType type) {
  tile::Shape extents(type.extents());
  std::optional<int64_t> columns = extents.size() < 3 ? std::nullopt : extents.back().constant();
  std::string outer;
  for (size_t dim = 0; dim + 3 < extents.size(); ++dim)
    outer += "b" + std::to_string(dim) + ", ";
  return columns ? "(" + outer + "p, k, c) -> (" + outer + "k, p * " + std::to_string(*columns) + " + c)" : "";
}

/// Gives the whole nest to the intrinsic, with a copy of one operand.
static LogicalResult callOnCopy(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                                const target::Machine &target) {
  for (auto [number, buffer] : llvm::enumerate(tile::buffersOf(schedule.operation(block), /*isWritten=*/false))) {
    std::string map = rowsOfPanels(cast<tile::BufferType>(buffer.getType()));
    auto steps = [&, number = number](KernelSchedule &trial) {
      auto operand = static_cast<int64_t>(number);
      return success(succeeded(trial.cacheRead(block, operand, "local")) &&
                     succeeded(trial.transformLayout(block, "read", operand, map)) &&
                     succeeded(tile::giveToIntrinsic(trial, block, /*outer=*/0, intrinsic, target)));
    };
    if (!map.empty() && succeeded(schedule.tryOut(steps)))
      return steps(schedule);
  }
  return failure();
}

static LogicalResult callWhole(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                               const target::Machine &target) {
  auto whole = [&](KernelSchedule &trial) {
    return tile::giveToIntrinsic(trial, block, /*outer=*/0, intrinsic, target);
  };
  return succeeded(schedule.tryOut(whole)) ? whole(schedule) : callOnCopy(schedule, block, intrinsic, target);
}

static LogicalResult callOnColumns(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                                   const target::Machine &target) {
  for (int64_t columns : columnsOfUnit) {
    auto steps = [&](KernelSchedule &trial) {
      return callInUnits(trial, block, intrinsic, /*byColumns=*/true, columns, target);
    };
    if (succeeded(schedule.tryOut(steps)))
      return steps(schedule);
  }
  return failure();
}

static constexpr unsigned mostIntrinsics = 6, ways = 3;

static LogicalResult callImplementation(KernelSchedule &schedule, KernelSchedule::Block block, unsigned form,
                                        const target::Machine &target) {
  SmallVector<const Intrinsic *> known = implementedFor(schedule.operation(block), target);
  if (form / ways >= known.size())
    return failure();
  const Intrinsic &intrinsic = *known[form / ways];
  if (form % ways == 0)
    return callWhole(schedule, block, intrinsic, target);
  return form % ways == 1 ? callInUnits(schedule, block, intrinsic, /*byColumns=*/false, rowsOfUnit, target)
                          : callOnColumns(schedule, block, intrinsic, target);
}

const SketchRule callsRule = {"calls", isImplemented, callImplementation, mostIntrinsics *ways, /*isOptional=*/true};
} // namespace perpend::tune
