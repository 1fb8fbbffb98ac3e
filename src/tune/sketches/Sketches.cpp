//===- Sketches.cpp - rules that make sketches ----------------------------===//

#include "tune/sketches/Sketches.h"

#include "tile/ir/KernelIndices.h"
#include "tile/kernel/Scratch.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using perpend::tile::BlockOp;
using perpend::tile::KernelSchedule;

namespace perpend::tune {

llvm::ArrayRef<const SketchRule *> sketchRules() {
  static const SketchRule *const list[] = {
#define SKETCH_RULE(name, sentence) &name,
#include "tune/sketches/Sketches.def"
  };
  return list;
}

//===----------------------------------------------------------------------===//
// Generating
//===----------------------------------------------------------------------===//

namespace {
/// A kernel after a trace has been applied.
struct State {
  State(func::FuncOp plain, const target::Machine &target, const Trace &trace)
      : kernel(plain.clone()), schedule(*kernel, target) {
    isValid = succeeded(schedule.replay(trace));
  }
  Trace trace() const { return schedule.trace().vec(); }

  OwningOpRef<func::FuncOp> kernel;
  KernelSchedule schedule;
  bool isValid;
};
} // namespace

/// nullopt: the rule does not apply.
static std::optional<Trace> applied(const SketchRule &rule, unsigned form, func::FuncOp kernel,
                                    const target::Machine &target, Trace trace) {
  State before(kernel, target, trace);
  auto names = llvm::map_to_vector(tile::blocksOf(*before.kernel), [](BlockOp block) { return block.getName().str(); });
  std::reverse(names.begin(), names.end());
  bool isAny = false;
  for (const std::string &name : names) {
    State state(kernel, target, trace);
    FailureOr<KernelSchedule::Block> block = state.schedule.getBlock(name);
    if (failed(block) || !rule.applies(state.schedule.operation(*block), target) ||
        failed(rule.apply(state.schedule, *block, form, target)))
      continue; // also if the block is gone, or inside another
    isAny = true;
    trace = state.trace();
  }
  return isAny ? std::optional(trace) : std::nullopt;
}

static std::vector<Trace> next(const SketchRule &rule, func::FuncOp kernel, const target::Machine &target,
                               const Trace &trace) {
  std::vector<Trace> traces;
  for (unsigned form = 0; form < rule.forms; ++form)
    if (std::optional<Trace> one = applied(rule, form, kernel, target, trace))
      traces.push_back(std::move(*one));
  if (traces.empty() || rule.isOptional)
    traces.push_back(trace);
  return traces;
}

static bool fits(func::FuncOp kernel, const target::Machine &target, const Trace &trace) {
  State state(kernel, target, trace);
  tile::compactBuffers(*state.kernel);
  return state.isValid && !tile::accessWithoutPlace(*state.kernel) &&
         tile::exceededMemory(*state.kernel, target).empty();
}

std::vector<Trace> sketchesOf(func::FuncOp kernel, const target::Machine &target,
                              llvm::ArrayRef<const SketchRule *> rules) {
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  std::vector<Trace> sketches(1);
  for (const SketchRule *rule : rules) {
    std::vector<Trace> all;
    for (const Trace &trace : sketches)
      llvm::append_range(all, next(*rule, kernel, target, trace));
    sketches = std::move(all);
  }
  llvm::erase_if(sketches, [&](const Trace &trace) { return trace.empty() || !fits(kernel, target, trace); });
  return sketches;
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

static Space withSketches(Space space, func::FuncOp kernel, const target::Machine &target) {
  std::vector<Space> all = {std::move(space)};
  for (Trace &trace : sketchesOf(kernel, target))
    all.push_back(Space::ofTrace(kernel, target, std::move(trace)));
  return Space::unionOf(std::move(all));
}

static Space spaceOfRules(func::FuncOp kernel, const target::Machine &target, Trace given) {
  return withSketches(Space::ofOne(std::move(given)), kernel, target);
}

static Space spaceOfAll(func::FuncOp kernel, const target::Machine &target, Trace given) {
  return withSketches(Space::ofTrace(kernel, target, std::move(given)), kernel, target);
}

llvm::ArrayRef<SpaceInfo> spaces() {
  static const SpaceInfo list[] = {
      {"trace", "the numbers of the default schedule", Space::ofTrace},
      {"rules", "the sketches that rules make", spaceOfRules},
      {"all", "both", spaceOfAll},
  };
  return list;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool isUntouched(BlockOp block) {
  tile::KernelIndices indices;
  tile::Shape bindings = indices.bindingsOf(block);
  return !block->getParentOfType<BlockOp>() && llvm::all_of(tile::loopsAround(block), [&](tile::ForOp loop) {
    return loop.getKind() == tile::LoopKind::Serial &&
           llvm::is_contained(bindings, indices.names.symbol(loop.variable()));
  });
}

SmallVector<KernelSchedule::Loop> spatialLoops(KernelSchedule &schedule, KernelSchedule::Block block) {
  FailureOr<SmallVector<KernelSchedule::Loop>> loops = schedule.getLoops(block);
  tile::KernelIndices indices;
  BlockOp op = schedule.operation(block);
  tile::Shape bindings = indices.bindingsOf(op);
  SmallVector<KernelSchedule::Loop> spatial;
  for (KernelSchedule::Loop loop : succeeded(loops) ? *loops : SmallVector<KernelSchedule::Loop>()) {
    tile::ForOp loopOp = schedule.operation(loop);
    bool isSpatial = true;
    for (auto [i, binding] : llvm::enumerate(bindings))
      isSpatial &= op.kind(i) == tile::IteratorKind::Spatial || !tile::usesLoop(binding, loopOp, indices.names);
    if (!isSpatial)
      break;
    spatial.push_back(loop);
    if (!llvm::hasSingleElement(*loopOp.body()))
      break;
  }
  return spatial;
}

std::optional<KernelSchedule::Block> readerAlike(KernelSchedule &schedule, KernelSchedule::Block block) {
  FailureOr<SmallVector<KernelSchedule::Block>> readers = schedule.getConsumers(block);
  if (failed(readers) || readers->size() != 1)
    return std::nullopt;
  BlockOp reader = schedule.operation(readers->front());
  tile::Shape read(reader.getDomain().values()), computed(schedule.operation(block).getDomain().values());
  computed.truncate(std::min(computed.size(), read.size()));
  bool isAlike = isUntouched(reader) && !reader.isReduction() && llvm::equal(read, computed);
  return isAlike ? std::optional(readers->front()) : std::nullopt;
}

FailureOr<KernelSchedule::Number> sample(KernelSchedule &schedule, ArrayRef<int64_t> candidates, int64_t wanted,
                                         int64_t most) {
  SmallVector<int64_t> list;
  int64_t decision = 0;
  for (int64_t candidate : candidates)
    if (candidate <= most) {
      decision = candidate <= wanted ? static_cast<int64_t>(list.size()) : decision;
      list.push_back(candidate);
    }
  return schedule.sampleCategorical(list, SmallVector<int64_t>(list.size(), 1), decision);
}

bool reusesData(BlockOp block) {
  tile::KernelIndices indices;
  tile::Shape bindings = indices.bindingsOf(block);
  SmallVector<tile::ForOp> spatial;
  for (tile::ForOp loop : tile::loopsAround(block))
    if (auto found = llvm::find(bindings, indices.names.symbol(loop.variable()));
        found != bindings.end() && block.kind(found - bindings.begin()) == tile::IteratorKind::Spatial)
      spatial.push_back(loop);
  return block.init() && llvm::any_of(tile::accessesIn(block), [&](const tile::Access &access) {
           return llvm::any_of(spatial, [&](tile::ForOp loop) {
             return !tile::usesLoop(indices.positionOf(access), loop, indices.names);
           });
         });
}
} // namespace perpend::tune
