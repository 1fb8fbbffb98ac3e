//===- BlockCost.cpp - estimates the time of scheduled blocks -------------===//

#include "tile/cost/BlockCost.h"

#include "graph/Work.h"
#include "tile/cost/Footprint.h"
#include "tile/cost/KernelCost.h"
#include "tile/intrinsics/Expand.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelWork.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Number of partial sums that LLVM uses for a sum carried by a loop.
static constexpr double interleavedSums = 4;
/// Fraction of the peak that the code of an intrinsic reaches.
static constexpr double reachedByIntrinsics = 0.85;

namespace {
/// The number and width of one block's executions.
struct Instances {
  double count = 1; ///< number of executions, of vectors or scalars
  double lanes = 1;
  double registersOf(int64_t elementBytes, const target::Machine &target) const {
    return std::ceil(lanes / target.vectorLanes(elementBytes));
  }
};

class CostFinder {
public:
  CostFinder(func::FuncOp kernel, const target::Machine &target)
      : kernel(kernel), target(target), lineBytes(target.lineBytes()), footprints(kernel) {}

  BlockCost run() {
    Block &body = kernel.getBody().front();
    kernel.walk([&](BlockOp block) {
      bool isInner = block.walk([&](BlockOp inner) { return WalkResult(failure(inner != block)); }).wasInterrupted();
      if (!isInner)
        addBlock(block);
    });
    addTraffic(body);
    for (Operation &statement : body)
      if (auto loop = dyn_cast<ForOp>(statement); loop && loop.getKind() == LoopKind::Parallel)
        cost.units = std::max(cost.units, footprints.trips(loop));
    return cost;
  }

private:
  /// What a cache does not hold moves between it and the next memory.
  void addTraffic(Block &body) {
    SmallVector<const target::Memory *, 4> memories = target.caches();
    memories.push_back(&target.global);
    if (memories.size() == 1)
      addTraffic(body, /*cacheBytes=*/0, target.global);
    double all = footprints.of(body).bytes(lineBytes);
    for (auto [cache, next] : llvm::zip(memories, llvm::drop_begin(memories)))
      if (cache == memories.front() || all > double(cache->bytes)) // else the previous kernel left it in this cache
        addTraffic(body, double(cache->bytes), *next);
  }

  void addTraffic(Block &body, double cacheBytes, const target::Memory &next) {
    double &time = &next == &target.global ? cost.fromMemory
                   : target.isOwn(next)    ? cost.fromOwnCaches
                                           : cost.fromSharedCaches;
    time = std::max(time, moved(body, cacheBytes) / next.bytesPerSecond);
  }

  /// Bytes that move into or out of a cache of this size.
  double moved(Block &body, double cacheBytes) {
    Footprint all = footprints.of(body);
    if (double bytes = all.bytes(lineBytes); bytes <= cacheBytes)
      return bytes;
    double sum = 0;
    for (Operation &statement : body) {
      if (isa<BlockOp>(statement))
        sum += footprints.of(&statement).bytes(lineBytes);
      if (auto loop = dyn_cast<ForOp>(statement))
        sum += moved(loop, cacheBytes);
    }
    return sum;
  }

  double moved(ForOp loop, double cacheBytes) {
    Footprint one = footprints.of(*loop.body());
    double trips = footprints.trips(loop);
    if (one.bytes(lineBytes) > cacheBytes)
      return trips * moved(*loop.body(), cacheBytes);
    double sum = 0; // data read by one iteration is still cached in the next
    for (const auto &[buffer, whole] : footprints.of(loop).boxes) {
      auto type = cast<BufferType>(buffer.getType());
      sum += std::min(whole.bytes(type, lineBytes), trips * one.boxes.lookup(buffer).bytes(type, lineBytes));
    }
    return sum;
  }

  void addBlock(BlockOp block) {
    int64_t width = std::max<int64_t>(1, elementBytesOf(block));
    SmallVector<ForOp> loops;
    bool isIntrinsic = false;
    for (Operation *around = block->getParentOp(); around != kernel; around = around->getParentOp()) {
      if (auto loop = dyn_cast<ForOp>(around))
        loops.push_back(loop); // innermost first
      if (auto outer = dyn_cast<BlockOp>(around))
        isIntrinsic |= !intrinsicOf(outer).empty();
    }
    Instances instances;
    for (ForOp loop : loops)
      instances.count *= footprints.trips(loop);
    if (isIntrinsic) {
      double work = instances.count * static_cast<double>(operationsOf(block)) * static_cast<double>(width) / 4;
      cost.arithmetic += work / (target.flopsPerSecond() * reachedByIntrinsics);
      return;
    }
    ForOp lanes = lanesOf(block, loops, width, instances);
    addArithmetic(block, loops, width, instances);
    addAccesses(block, loops, lanes, instances);
  }

  /// The loop that is vectorised: by the schedule, or the innermost one if LLVM's vectoriser would accept it.
  ForOp lanesOf(BlockOp block, ArrayRef<ForOp> loops, int64_t width, Instances &instances) {
    for (ForOp loop : loops)
      if (loop.getKind() == LoopKind::Vectorized) {
        instances.lanes = footprints.trips(loop);
        instances.count /= instances.lanes;
        return loop;
      }
    if (loops.empty())
      return {};
    double wanted = target.vectorLanes(width);
    bool canBe = footprints.trips(loops.front()) >= wanted;
    for (const Access &access : accessesIn(block)) {
      IndexAlong index = along(access, loops.front());
      canBe &= index.isUniform() || index.isContiguous();
    }
    if (canBe) {
      instances.lanes = wanted;
      instances.count /= wanted;
    }
    return loops.front();
  }

  IndexAlong along(const Access &access, ForOp loop) {
    auto [position, isNew] = positions.try_emplace(access.op);
    if (isNew)
      position->second = footprints.indices.positionOf(access);
    return footprints.indices.along(position->second, loop, access.op);
  }

  /// The bound of a loop inside a block, in the block's first instance.
  static SymbolicInt boundOf(Value bound) {
    if (std::optional<int64_t> number = getConstantIntValue(bound))
      return *number;
    auto index = bound.getDefiningOp<IndexOp>();
    llvm::StringMap<SymbolicInt> first;
    for (unsigned i = 0; index && i < index.getVariables().size(); ++i)
      first["%" + std::to_string(i)] = SymbolicInt(0);
    return index ? index.getExpression().values().front().substitute(first) : SymbolicInt::symbol("unknown");
  }

  /// How often the loops inside a block execute one of its operations.
  static double repeats(Operation *op, BlockOp block) {
    double times = 1;
    for (auto loop = op->getParentOfType<scf::ForOp>(); loop && block->isAncestor(loop);
         loop = loop->getParentOfType<scf::ForOp>())
      times *= static_cast<double>(estimate(boundOf(loop.getUpperBound()) - boundOf(loop.getLowerBound())));
    return times;
  }

  void addArithmetic(BlockOp block, ArrayRef<ForOp> loops, int64_t width, const Instances &instances) {
    double slots = 0, products = 0, sums = 0;
    block.walk([&](Operation *op) {
      if (op->getParentOfType<InitOp>() || isa<LoadOp, StoreOp, IndexOp, BlockOp, InitOp>(op) ||
          op->hasTrait<OpTrait::IsTerminator>())
        return;
      double times = repeats(op, block);
      slots += times * graph::workOf(*op);
      products += isa<arith::MulFOp>(op) ? times : 0;
      sums += isa<arith::AddFOp, arith::SubFOp>(op) ? times : 0;
    });
    if (target.fusesMultiplyAdds)
      slots -= std::min(products, sums);
    double registers = instances.registersOf(width, target);
    double cycles = instances.count * registers * slots / std::max(1u, target.fmaPerCycle);
    if (block.isReduction() && !loops.empty() && carriesSum(block, loops.front())) {
      double chains = registers;
      for (ForOp loop : loops)
        if (loop.getKind() == LoopKind::Unrolled)
          chains *= footprints.trips(loop);
      cycles = std::max(cycles, instances.count * registers * target.cyclesOfSum / std::max(chains, interleavedSums));
    }
    cost.arithmetic += cycles / target.cyclesPerSecond;
  }

  /// Whether consecutive iterations add to the same element.
  bool carriesSum(BlockOp block, ForOp innermost) {
    return llvm::all_of(accessesIn(block), [&](const Access &access) {
      return !access.isStore() || along(access, innermost).isUniform();
    });
  }

  void addAccesses(BlockOp block, ArrayRef<ForOp> loops, ForOp lanes, const Instances &instances) {
    double cycles = 0;
    for (const Access &access : accessesIn(block)) {
      if (access.op->getParentOfType<InitOp>() || (!loops.empty() && loops.front() != lanes && isKept(access, loops)))
        continue;
      double vectors = instances.count * repeats(access.op, block);
      for (ForOp loop : loops) // the copies of an unrolled body share loads
        if (loop.getKind() == LoopKind::Unrolled && along(access, loop).isUniform())
          vectors /= footprints.trips(loop);
      cycles += vectors * accessesOf(access, loops, lanes, instances) / target.accessesPerCycle;
    }
    cost.accesses += cycles / target.cyclesPerSecond;
  }

  /// The number of accesses needed to load or store one vector.
  double accessesOf(const Access &access, ArrayRef<ForOp> loops, ForOp lanes, const Instances &instances) {
    IndexAlong index = lanes ? along(access, lanes) : IndexAlong{SymbolicInt(0), SymbolicInt(0)};
    if (index.isUniform())
      return 1;
    int64_t width = elementBytes(cast<BufferType>(access.buffer().getType()).getElementType());
    if (index.isContiguous())
      return instances.registersOf(width, target);
    bool isTransposed = llvm::any_of(loops, [&](ForOp loop) {
      return loop.getKind() == LoopKind::Unrolled && footprints.trips(loop) == instances.lanes &&
             along(access, loop).isContiguous();
    });
    return isTransposed ? 1 + std::log2(instances.lanes) // shuffles
                        : 2 * instances.lanes;           //  a load and an insertion per lane
  }

  /// Whether the element stays in a register across iterations of the innermost loop.
  bool isKept(const Access &access, ArrayRef<ForOp> loops) { return along(access, loops.front()).isUniform(); }

  func::FuncOp kernel;
  const target::Machine &target;
  double lineBytes;
  FootprintFinder footprints;
  llvm::DenseMap<Operation *, SymbolicInt> positions;
  BlockCost cost;
};
} // namespace

BlockCost perpend::tile::costOf(func::FuncOp kernel, const target::Machine &target) {
  return CostFinder(kernel, target).run();
}
