//===- Calls.cpp - rules for intrinsics with code of their own ------------===//
//
// What users have written by hand, or call of a library, may be a whole product. So
// such an intrinsic is given as much of a nest as it takes, whatever it costs:
//
//   tensorize %i, "gemm"
//
// or rows or columns, which are units, of what follows the nest, too:
//
//   %i0, %i1 = split %i, [_, 64]     compute_at %sum, %i0     tensorize %i_sum, "gemm"
//
// An operand that was packed in panels of columns for another intrinsic is copied to
// whole rows, where all of the nest is taken then:
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

static SmallVector<const Intrinsic *> implementedFor(BlockOp block, const target::TargetInfo &target) {
  SmallVector<const Intrinsic *> known = tile::intrinsicsFor(block, target);
  llvm::erase_if(known, [](const Intrinsic *intrinsic) { return !intrinsic->implementation; });
  return known;
}

static bool isImplemented(BlockOp block, const target::TargetInfo &target) {
  return isUntouched(block) && !implementedFor(block, target).empty();
}

/// What a unit has; a point of the space has other numbers.
static constexpr int64_t rowsOfUnit = 64;
/// Of these the first that the intrinsic takes: packed operands have the columns of a panel together.
static constexpr int64_t columnsOfUnit[] = {256, 64, 48, 32, 16, 8, 4};

/// So many rows, or columns, with what reads them. Returns the number of loops around them.
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
                                 bool byColumns, int64_t size, const target::TargetInfo &target) {
  FailureOr<size_t> outer = divide(schedule, block, byColumns, size);
  return failed(outer) ? failure() : tile::giveToIntrinsic(schedule, block, *outer, intrinsic, target);
}

/// (…, p, k, c) -> (…, k, p * columns + c); empty: no such buffer.
static std::string rowsOfPanels(tile::BufferType type) {
  tile::Shape extents(type.extents());
  std::optional<int64_t> columns = extents.size() < 3 ? std::nullopt : extents.back().constant();
  std::string outer;
  for (size_t dim = 0; dim + 3 < extents.size(); ++dim)
    outer += "b" + std::to_string(dim) + ", ";
  return columns ? "(" + outer + "p, k, c) -> (" + outer + "k, p * " + std::to_string(*columns) + " + c)" : "";
}

/// All of the nest, on a copy of one of its operands.
static LogicalResult callOnCopy(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                                const target::TargetInfo &target) {
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
                               const target::TargetInfo &target) {
  auto whole = [&](KernelSchedule &trial) {
    return tile::giveToIntrinsic(trial, block, /*outer=*/0, intrinsic, target);
  };
  return succeeded(schedule.tryOut(whole)) ? whole(schedule) : callOnCopy(schedule, block, intrinsic, target);
}

static LogicalResult callOnColumns(KernelSchedule &schedule, KernelSchedule::Block block, const Intrinsic &intrinsic,
                                   const target::TargetInfo &target) {
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
                                        const target::TargetInfo &target) {
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
