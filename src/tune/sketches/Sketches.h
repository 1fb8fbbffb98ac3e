//===- Sketches.h - rules that make sketches --------------------*- C++ -*-===//
//
// A rule transforms a kernel by primitives (tile/schedule). Where there are
// alternatives, it adds a sampling primitive to the trace, whose first decision is
// the alternative that the rule prefers. The trace is a sketch (Space.h).
// Sketches.def lists the rules.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_SKETCHES_SKETCHES_H
#define PERPEND_TUNE_SKETCHES_SKETCHES_H

#include "tune/Space.h"

namespace perpend::tune {

struct SketchRule {
  llvm::StringLiteral name;
  bool (*applies)(tile::BlockOp block, const target::Machine &target);
  /// Applies one form of the rule. Fails if a primitive refuses; the result is discarded then.
  mlir::LogicalResult (*apply)(tile::KernelSchedule &schedule, tile::KernelSchedule::Block block, unsigned form,
                               const target::Machine &target);
  unsigned forms = 1;
  /// The input of the rule remains a sketch, too.
  bool isOptional = false;
};

#define SKETCH_RULE(name, sentence) extern const SketchRule name;
#include "tune/sketches/Sketches.def"
llvm::ArrayRef<const SketchRule *> sketchRules();

/// Applies the rules to a kernel of unscheduled blocks: one rule after another, each to all blocks to which it applies,
/// last blocks first. A rule with several forms multiplies the sketches. All results are accepted by the primitives and
/// fit into the machine's memory.
std::vector<Trace> sketchesOf(mlir::func::FuncOp kernel, const target::Machine &target,
                              llvm::ArrayRef<const SketchRule *> rules = sketchRules());

/// A way to make the space of a kernel of unscheduled blocks, whose given point is a trace that the kernel accepts.
struct SpaceInfo {
  llvm::StringLiteral name, sentence;
  Space (*make)(mlir::func::FuncOp kernel, const target::Machine &target, Trace given);
};
llvm::ArrayRef<SpaceInfo> spaces();

// Queries of blocks for rules.
/// Whether it is an outermost block, and each of its loops is one of its iterators.
bool isUntouched(tile::BlockOp block);
/// The loops around a block that belong to no reduction, as a perfect nest.
llvm::SmallVector<tile::KernelSchedule::Loop> spatialLoops(tile::KernelSchedule &schedule,
                                                           tile::KernelSchedule::Block block);
/// The only reader of the block's result, if it reads at its own iterators.
std::optional<tile::KernelSchedule::Block> readerAlike(tile::KernelSchedule &schedule,
                                                       tile::KernelSchedule::Block block);
/// Samples one of the candidates up to `most`; the decision is the last one up to `wanted`.
mlir::FailureOr<tile::KernelSchedule::Number> sample(tile::KernelSchedule &schedule, llvm::ArrayRef<int64_t> candidates,
                                                     int64_t wanted, int64_t most);
/// Whether it is a reduction that uses its operands for several results.
bool reusesData(tile::BlockOp block);
} // namespace perpend::tune

#endif
