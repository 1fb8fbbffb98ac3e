//===- Rules.h - default schedules, one rule per kind of kernel -*- C++ -*-===//
//
// A rule examines a kernel of unscheduled blocks and transforms it by the
// primitives of tile/schedule. Rules.def lists the rules.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_RULES_RULES_H
#define PERPEND_TILE_RULES_RULES_H

#include "target/Machine.h"
#include "tile/intrinsics/PanelLayout.h"
#include "tile/schedule/Schedule.h"

namespace perpend::tile {
struct Intrinsic;

struct Rule {
  llvm::StringLiteral name;
  /// Whether the rule handles this kernel. If the kernel is of its kind but unsuitable, `why` gives the reason.
  bool (*applies)(mlir::func::FuncOp kernel, const target::Machine &target, std::string &why);
  /// Fails, with the reason in the schedule, if a primitive refuses or a step is impossible.
  mlir::LogicalResult (*schedule)(KernelSchedule &schedule, mlir::func::FuncOp kernel, const target::Machine &target);
};

/// The state of a rule while it schedules.
class RuleBody {
public:
  RuleBody(KernelSchedule &schedule, mlir::func::FuncOp kernel, const target::Machine &target)
      : schedule(schedule), kernel(kernel), target(target) {}

protected:
  using Loop = KernelSchedule::Loop;
  using Block = KernelSchedule::Block;
  using Loops = llvm::SmallVector<Loop>;

  KernelSchedule &schedule;
  mlir::func::FuncOp kernel;
  const target::Machine &target;
};

/// Schedules the kernel by the first rule that applies and is not refused, and stores the trace. rulesAttribute records
/// which rule that was, and why others were refused.
void applyRule(mlir::func::FuncOp kernel, const target::Machine &target);

#define RULE(name, sentence) extern const Rule name;
#include "tile/rules/Rules.def"

/// ChooseIntrinsic.cpp: the machine's intrinsics for the block's types.
llvm::SmallVector<const Intrinsic *> intrinsicsFor(BlockOp block, const target::Machine &target);
/// ChooseIntrinsic.cpp: the rows of a block for the cheapest of these intrinsics, given panels of so many columns and
/// words of `group` elements. If none gives costs, as many rows of sums as fit into registers. `together`: the most
/// blocks per call; `lines`: lines of an image per block, each with all these rows; `shareWork`: calls should have
/// several blocks, whatever the size of a panel.
struct RowsOfBlock {
  int64_t rows, together = 1, lines = 1;
  bool shareWork = false;
};
RowsOfBlock rowsOfBlock(llvm::ArrayRef<const Intrinsic *> intrinsics, const ProductExtents &extents, int64_t panel,
                        int64_t group, mlir::Type sum, const target::Machine &target);
/// ChooseIntrinsic.cpp: lets the cheapest suitable intrinsic compute the nest of a sum, its loops inside the first
/// `outer`. Fails and changes nothing if none is suitable.
mlir::LogicalResult chooseIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                    const target::Machine &target);
/// The same with a given intrinsic, whatever its cost.
mlir::LogicalResult giveToIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                    const Intrinsic &intrinsic, const target::Machine &target);

/// Window.cpp: whether the rule `window` applies to a sum over windows and its epilogue, if there is one.
bool areWindows(llvm::ArrayRef<BlockOp> blocks, const target::Machine &target);
/// Schedules them. They are the last blocks of the kernel. Returns the loop of units: the outer loops, unless a cache
/// keeps what windows of several lines read.
mlir::FailureOr<KernelSchedule::Loop> scheduleWindows(KernelSchedule &schedule, llvm::ArrayRef<BlockOp> blocks,
                                                      const target::Machine &target);

/// The blocks of a kernel, in order.
llvm::SmallVector<BlockOp> blocksOf(mlir::func::FuncOp kernel);

// Loops.cpp
/// The number of outer loops of a block that correspond to spatial iterators, up to the first of another kind.
unsigned leadingSpatialLoops(BlockOp block);
/// Whether all operands traverse both loops with one stride, so that they can be joined; `extent` is the inner loop's.
bool areOne(ForOp outer, ForOp inner, const SymbolicInt &extent, KernelIndices &indices);
/// Joins loops around a block that all operands traverse with one stride, where `mayJoin` allows it for a loop and the
/// group inside it (numbered from the innermost). Every loop must be an iterator's. Spatial iterators with one value,
/// at which the block may store, become outer loops, or 0.
mlir::LogicalResult joinLoops(KernelSchedule &schedule, KernelSchedule::Block block,
                              llvm::function_ref<bool(ForOp outer, unsigned group, const SymbolicInt &inside)> mayJoin,
                              bool keepsUnits = false);
/// Whether accesses along the loop are contiguous or invariant, so that whole vectors are loaded and stored.
bool isContiguousAlong(ForOp loop, KernelIndices &indices);
/// Lanes of a vector along the loop; 0: it cannot be vectorised.
int64_t lanesOf(ForOp loop, const target::Machine &target);
/// Vectorises a loop, if that is possible; what is left of a known length gets shorter vectors. `isRest`: it is such a
/// rest.
mlir::LogicalResult vectorizeParts(KernelSchedule &schedule, KernelSchedule::Loop loop, const target::Machine &target,
                                   bool isRest = false);
/// The number of iterations of all loops together.
SymbolicInt countOf(KernelSchedule &schedule, llvm::ArrayRef<KernelSchedule::Loop> loops);
/// The outer loops that become units: as many as needed.
llvm::SmallVector<KernelSchedule::Loop> unitsAmong(KernelSchedule &schedule,
                                                   llvm::ArrayRef<KernelSchedule::Loop> loops);
/// Fuses all of them, at least one, into one parallel loop.
mlir::FailureOr<KernelSchedule::Loop> fuseUnits(KernelSchedule &schedule, llvm::ArrayRef<KernelSchedule::Loop> units);
/// The same, of any number.
mlir::LogicalResult runUnits(KernelSchedule &schedule, llvm::ArrayRef<KernelSchedule::Loop> units);
} // namespace perpend::tile

#endif
