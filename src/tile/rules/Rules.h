//===- Rules.h - the default schedules, one rule for each kind of kernel -*- C++ -*-===//
//
// A rule looks at a kernel of plain loops around blocks, and transforms it
// through the primitives of tile/schedule. Rules.def is the list.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_RULES_RULES_H
#define PERPEND_TILE_RULES_RULES_H

#include "target/TargetInfo.h"
#include "tile/intrinsics/PanelLayout.h"
#include "tile/schedule/Schedule.h"

namespace perpend::tile {
struct Intrinsic;

struct Rule {
  llvm::StringLiteral name;
  /// Whether it is made for such a kernel; if that is of its kind, and it is not, `why` says what is in the way.
  bool (*applies)(mlir::func::FuncOp kernel, const target::TargetInfo &target, std::string &why);
  /// Fails, with the reason in the schedule, where a primitive is refused or a step is not possible.
  mlir::LogicalResult (*schedule)(KernelSchedule &schedule, mlir::func::FuncOp kernel,
                                  const target::TargetInfo &target);
};

/// What a rule works on while it schedules.
class RuleBody {
public:
  RuleBody(KernelSchedule &schedule, mlir::func::FuncOp kernel, const target::TargetInfo &target)
      : schedule(schedule), kernel(kernel), target(target) {}

protected:
  using Loop = KernelSchedule::Loop;
  using Block = KernelSchedule::Block;
  using Loops = llvm::SmallVector<Loop>;

  KernelSchedule &schedule;
  mlir::func::FuncOp kernel;
  const target::TargetInfo &target;
};

/// The first rule that applies, and is not refused, makes the kernel's schedule, which becomes its trace. Which one
/// that was, and what was in the way of others, stays as rulesAttribute.
void applyRule(mlir::func::FuncOp kernel, const target::TargetInfo &target);

#define RULE(name, sentence) extern const Rule name;
#include "tile/rules/Rules.def"

/// ChooseIntrinsic.cpp: those of the machine that compute with the block's types.
llvm::SmallVector<const Intrinsic *> intrinsicsFor(BlockOp block, const target::TargetInfo &target);
/// ChooseIntrinsic.cpp: how many rows of a product, in panels of so many columns, of words of `group` elements, are a
/// block of the cheapest of these intrinsics; where none says so, as many as registers hold of sums. `together`: how
/// many such blocks a call may have; `lines`: how many lines of an image a block has, each with all of these rows.
struct RowsOfBlock {
  int64_t rows, together = 1, lines = 1;
};
RowsOfBlock rowsOfBlock(llvm::ArrayRef<const Intrinsic *> intrinsics, const ProductExtents &extents, int64_t panel,
                        int64_t group, mlir::Type sum, const target::TargetInfo &target);
/// ChooseIntrinsic.cpp: gives the nest of a sum, its loops inside of the first `outer`, to the cheapest intrinsic that
/// takes it. Fails, with nothing done, where none does.
mlir::LogicalResult chooseIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                    const target::TargetInfo &target);
/// The same with one intrinsic, whatever it costs.
mlir::LogicalResult giveToIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                    const Intrinsic &intrinsic, const target::TargetInfo &target);

/// The blocks of a kernel, in order.
llvm::SmallVector<BlockOp> blocksOf(mlir::func::FuncOp kernel);

// Loops.cpp
/// The loops around a block that its spatial iterators stand for, up to the first of another kind.
unsigned leadingSpatialLoops(BlockOp block);
/// Whether two loops, the inner one of this extent, are one to all operands, which cross both in one stride.
bool areOne(ForOp outer, ForOp inner, const SymbolicInt &extent, KernelIndices &indices);
/// Makes one of the loops around a block that all operands cross in one stride: of a loop and the group inside of it,
/// numbered from the innermost, where `mayJoin`. Every loop is an iterator's. Spatial iterators of one value, at which
/// the block may store, become loops in front, or 0.
mlir::LogicalResult joinLoops(KernelSchedule &schedule, KernelSchedule::Block block,
                              llvm::function_ref<bool(ForOp outer, unsigned group, const SymbolicInt &inside)> mayJoin,
                              bool keepsUnits = false);
/// Whether whole vectors are loaded and stored along the loop, or the same element loaded.
bool isContiguousAlong(ForOp loop, KernelIndices &indices);
/// Of a vector of the loop's iterations; 0: there are none.
int64_t lanesOf(ForOp loop, const target::TargetInfo &target);
/// Of the iterations of all of the loops together.
SymbolicInt countOf(KernelSchedule &schedule, llvm::ArrayRef<KernelSchedule::Loop> loops);
/// The outer ones of these loops that are the units: as many as it takes.
llvm::SmallVector<KernelSchedule::Loop> unitsAmong(KernelSchedule &schedule,
                                                   llvm::ArrayRef<KernelSchedule::Loop> loops);
/// All of them together.
mlir::LogicalResult runUnits(KernelSchedule &schedule, llvm::ArrayRef<KernelSchedule::Loop> units);
} // namespace perpend::tile

#endif
