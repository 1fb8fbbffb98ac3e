//===- Sketches.h - rules that write sketches --------------------*- C++ -*-===//
//
// A rule transforms a kernel through primitives (tile/schedule); what it could have
// done otherwise, it samples, with what it thinks is best as the decision. The
// trace of it is a sketch (Space.h). Sketches.def is the list.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_SKETCHES_SKETCHES_H
#define PERPEND_TUNE_SKETCHES_SKETCHES_H

#include "tune/Space.h"

namespace perpend::tune {

struct SketchRule {
  llvm::StringLiteral name;
  bool (*applies)(tile::BlockOp block, const target::TargetInfo &target);
  /// One of its forms. Fails where a primitive is refused; then nothing is kept of it.
  mlir::LogicalResult (*apply)(tile::KernelSchedule &schedule, tile::KernelSchedule::Block block, unsigned form,
                               const target::TargetInfo &target);
  unsigned forms = 1;
  /// What it is applied to stays a sketch, too.
  bool isOptional = false;
};

#define SKETCH_RULE(name, sentence) extern const SketchRule name;
#include "tune/sketches/Sketches.def"
llvm::ArrayRef<const SketchRule *> sketchRules();

/// What rules make of a kernel of plain blocks: one after another, each of all blocks to which it applies, those that
/// stand last first. A rule of several forms makes several of each. All of them are traces that primitives take, and
/// fit into the memory of the machine.
std::vector<Trace> sketchesOf(mlir::func::FuncOp kernel, const target::TargetInfo &target,
                              llvm::ArrayRef<const SketchRule *> rules = sketchRules());

/// A way to make the space of a kernel of plain blocks, whose given point is a trace that it takes.
struct SpaceInfo {
  llvm::StringLiteral name, sentence;
  Space (*make)(mlir::func::FuncOp kernel, const target::TargetInfo &target, Trace given);
};
llvm::ArrayRef<SpaceInfo> spaces();

// What rules ask of blocks.
/// It stands outermost, and each of its loops is one of its iterators.
bool isUntouched(tile::BlockOp block);
/// Those around a block that no sum goes along, each of which holds nothing but the next.
llvm::SmallVector<tile::KernelSchedule::Loop> spatialLoops(tile::KernelSchedule &schedule,
                                                           tile::KernelSchedule::Block block);
/// The only one that reads what the block computes, where it does so at the block's own iterators.
std::optional<tile::KernelSchedule::Block> readerAlike(tile::KernelSchedule &schedule,
                                                       tile::KernelSchedule::Block block);
/// One of the candidates that are at most `most`; the decision is the last one that is at most `wanted`.
mlir::FailureOr<tile::KernelSchedule::Number> sample(tile::KernelSchedule &schedule, llvm::ArrayRef<int64_t> candidates,
                                                     int64_t wanted, int64_t most);
/// A sum of what it reads for several of its results.
bool reusesData(tile::BlockOp block);
} // namespace perpend::tune

#endif
