//===- Features.cpp - features of a scheduled kernel ----------------------===//

#include "tune/Features.h"

#include "graph/Work.h"
#include "tile/cost/BlockCost.h"
#include "tile/cost/Footprint.h"
#include "tile/cost/KernelCost.h"
#include "tile/intrinsics/Expand.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelWork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <map>

using namespace mlir;
using perpend::tile::Access;
using perpend::tile::ForOp;
using perpend::tile::LoopKind;
using ScheduledBlock = perpend::tile::BlockOp;

namespace perpend::tune {

/// Number of blocks with their own features, and of loops per block.
static constexpr size_t blocks = 2, levels = 8;

static constexpr const char *ofKernel[] = {"arithmetic time",
                                           "access time",
                                           "time from own caches",
                                           "time from shared caches",
                                           "time from memory",
                                           "time",
                                           "units",
                                           "bytes",
                                           "local bytes",
                                           "blocks",
                                           "loops",
                                           "vectorised loops",
                                           "unrolled loops"};
static constexpr const char *ofBlock[] = {"instances",
                                          "repetition",
                                          "work",
                                          "products",
                                          "costly operations",
                                          "loads",
                                          "stores",
                                          "lanes",
                                          "pieces of vectors",
                                          "filled lanes",
                                          "unrolled",
                                          "sums in registers",
                                          "is in an intrinsic",
                                          "conditions",
                                          "lanes that conditions cut",
                                          "uniform",
                                          "contiguous",
                                          "strided",
                                          "of far lines"};
/// Features of each loop that is neither vectorised nor unrolled, innermost first.
static constexpr const char *ofLoop[] = {"extent", "bytes", "is reduced"};

const std::vector<std::string> &featureNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list(std::begin(ofKernel), std::end(ofKernel));
    for (size_t block = 0; block < blocks; ++block) {
      std::string prefix = "block " + std::to_string(block) + ": ";
      for (const char *name : ofBlock)
        list.push_back(prefix + name);
      for (size_t level = 0; level < levels; ++level)
        for (const char *name : ofLoop)
          list.push_back(prefix + "loop " + std::to_string(level) + ": " + name);
    }
    return list;
  }();
  return names;
}

namespace {
class FeatureFinder {
public:
  FeatureFinder(func::FuncOp kernel, const target::Machine &target)
      : kernel(kernel), target(target), footprints(kernel) {}

  Features run() {
    addTimes();
    addStatements();
    SmallVector<ScheduledBlock> heaviest = blocksByWork();
    heaviest.truncate(std::min(heaviest.size(), blocks));
    for (ScheduledBlock block : heaviest) {
      addBlock(block);
      addLoops(block);
    }
    features.resize(featureNames().size());
    return std::move(features);
  }

private:
  void add(double value) { features.push_back(static_cast<float>(std::log2(1 + value))); }

  //===--------------------------------------------------------------------===//
  // The kernel
  //===--------------------------------------------------------------------===//

  void addTimes() {
    constexpr double nanoseconds = 1e9;
    tile::BlockCost cost = tile::costOf(kernel, target);
    for (double seconds :
         {cost.arithmetic, cost.accesses, cost.fromOwnCaches, cost.fromSharedCaches, cost.fromMemory, cost.seconds()})
      add(seconds * nanoseconds);
    add(cost.units);
    add(footprints.of(kernel.getBody().front()).bytes(target.lineBytes()));
  }

  void addStatements() {
    double localBytes = 0, count = 0, loops = 0, vectorised = 0, unrolled = 0;
    kernel.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
        auto type = cast<tile::BufferType>(alloc.getType());
        auto bytes = static_cast<double>(tile::elementBytes(type.getElementType()));
        for (const graph::SymbolicInt &extent : type.extents())
          bytes *= static_cast<double>(tile::estimate(extent));
        localBytes += bytes;
      }
      auto loop = dyn_cast<ForOp>(op);
      count += isa<ScheduledBlock>(op);
      loops += bool(loop);
      vectorised += loop && loop.getKind() == LoopKind::Vectorized;
      unrolled += loop && loop.getKind() == LoopKind::Unrolled;
    });
    for (double value : {localBytes, count, loops, vectorised, unrolled})
      add(value);
  }

  //===--------------------------------------------------------------------===//
  // Its blocks
  //===--------------------------------------------------------------------===//

  /// Innermost first.
  SmallVector<ForOp> loopsAround(ScheduledBlock block) {
    SmallVector<ForOp> loops;
    for (auto loop = block->getParentOfType<ForOp>(); loop; loop = loop->getParentOfType<ForOp>())
      loops.push_back(loop);
    return loops;
  }
  double instancesOf(ScheduledBlock block) {
    double count = 1;
    for (ForOp loop : loopsAround(block))
      count *= footprints.trips(loop);
    return count;
  }

  /// Blocks with the most work first.
  SmallVector<ScheduledBlock> blocksByWork() {
    std::multimap<double, ScheduledBlock, std::greater<>> list;
    kernel.walk([&](ScheduledBlock block) {
      auto hasInner = block.walk([&](ScheduledBlock inner) { return WalkResult(failure(inner != block)); });
      if (!hasInner.wasInterrupted())
        list.emplace(instancesOf(block) * static_cast<double>(tile::operationsOf(block)), block);
    });
    return SmallVector<ScheduledBlock>(llvm::make_second_range(list));
  }

  void addBlock(ScheduledBlock block) {
    SmallVector<ForOp> loops = loopsAround(block);
    double instances = instancesOf(block), points = 1;
    for (const graph::SymbolicInt &extent : block.getDomain().values())
      points *= static_cast<double>(tile::estimate(extent));
    add(instances);
    add(instances / points);
    addOperations(block);
    addRegisters(block, loops);
    bool isIntrinsic = false;
    for (auto around = block; around; around = around->getParentOfType<ScheduledBlock>())
      isIntrinsic |= !tile::intrinsicOf(around).empty();
    add(isIntrinsic);
    addConditions(block, loops);
    addAccesses(block, loops);
  }

  /// Counts operations, without the init.
  void addOperations(ScheduledBlock block) {
    double work = 0, products = 0, costly = 0, loads = 0, stores = 0;
    block.walk([&](Operation *op) {
      if (op == block || op->getParentOfType<tile::InitOp>() || isa<tile::InitOp, tile::IndexOp>(op) ||
          op->hasTrait<OpTrait::IsTerminator>())
        return;
      bool isLoad = isa<tile::LoadOp>(op), isStore = isa<tile::StoreOp>(op);
      loads += isLoad;
      stores += isStore;
      if (isLoad || isStore)
        return;
      double of = graph::workOf(*op);
      work += of;
      products += isa<arith::MulFOp, arith::MulIOp>(op);
      costly += of > 1;
    });
    for (double value : {work, products, costly, loads, stores})
      add(value);
  }

  void addRegisters(ScheduledBlock block, ArrayRef<ForOp> loops) {
    double lanes = 1, copies = 1, results = 1;
    SmallVector<Access> accesses = accessesOf(block);
    for (ForOp loop : loops) {
      double trips = footprints.trips(loop);
      lanes *= loop.getKind() == LoopKind::Vectorized ? trips : 1;
      if (loop.getKind() != LoopKind::Unrolled)
        continue;
      copies *= trips;
      bool isOneResult = llvm::all_of(
          accesses, [&](const Access &access) { return !access.isStore() || along(access, loop).isUniform(); });
      results *= isOneResult ? 1 : trips;
    }
    double perRegister = target.vectorLanes(static_cast<unsigned>(std::max<int64_t>(1, tile::elementBytesOf(block))));
    double registers = std::ceil(lanes / perRegister);
    add(lanes);
    auto rest = static_cast<unsigned>(std::fmod(lanes, perRegister));
    add(std::floor(lanes / perRegister) + llvm::popcount(rest)); // vectors whose lengths are powers of two
    add(lanes / (registers * perRegister));
    add(copies);
    add(results * registers);
  }

  void addConditions(ScheduledBlock block, ArrayRef<ForOp> loops) {
    graph::Shape sides = footprints.indices.resolve(block.getConditions(), block.getVariables());
    add(static_cast<double>(sides.size()) / 2);
    double part = 0;
    for (ForOp loop : loops)
      for (size_t i = 0; loop.getKind() == LoopKind::Vectorized && i < sides.size(); i += 2)
        if (graph::SymbolicInt excess = sides[i] - sides[i + 1];
            footprints.indices.along(excess, loop, block).isContiguous())
          part = std::max(part, partWithoutVectors(excess, block, static_cast<int64_t>(footprints.trips(loop))));
    add(part);
  }

  /// The fraction of iterations without vectors; an iteration runs while `excess` is negative. Behind the last whole
  /// vector, only a power of two becomes a vector.
  double partWithoutVectors(const graph::SymbolicInt &excess, ScheduledBlock block, int64_t lanes) {
    llvm::StringMap<graph::SymbolicInt> first;
    for (ForOp loop : loopsAround(block))
      first[footprints.indices.names.nameOf(loop.variable())] = graph::SymbolicInt(0);
    int64_t all = -excess.substitute(first).constant().value_or(0), rest = all > 0 ? all % lanes : 0;
    return rest == 0 || llvm::isPowerOf2_64(static_cast<uint64_t>(rest)) ? 0 : double(rest) / static_cast<double>(all);
  }

  SmallVector<Access> accessesOf(ScheduledBlock block) {
    SmallVector<Access> accesses = tile::accessesIn(block);
    llvm::erase_if(accesses, [](const Access &access) { return bool(access.op->getParentOfType<tile::InitOp>()); });
    return accesses;
  }

  tile::IndexAlong along(const Access &access, ForOp loop) {
    return footprints.indices.along(footprints.indices.positionOf(access), loop, access.op);
  }

  /// Classifies accesses by the distance to the next lane's element; without lanes, to the next iteration's.
  void addAccesses(ScheduledBlock block, ArrayRef<ForOp> loops) {
    double uniform = 0, contiguous = 0, strided = 0, far = 0;
    const auto *vectorised = llvm::find_if(loops, [](ForOp loop) { return loop.getKind() == LoopKind::Vectorized; });
    ForOp lanes = loops.empty() ? ForOp() : vectorised == loops.end() ? loops.front() : *vectorised;
    for (const Access &access : lanes ? accessesOf(block) : SmallVector<Access>()) {
      tile::IndexAlong index = along(access, lanes);
      auto width = tile::elementBytes(cast<tile::BufferType>(access.buffer().getType()).getElementType());
      bool isFar = !index.stride || tile::estimate(*index.stride) * width >= int64_t{target.lineBytes()};
      (index.isUniform() ? uniform : index.isContiguous() ? contiguous : isFar ? far : strided) += 1;
    }
    for (double value : {uniform, contiguous, strided, far})
      add(value);
  }

  void addLoops(ScheduledBlock block) {
    size_t level = 0;
    graph::Shape bindings = footprints.indices.bindingsOf(block);
    for (ForOp loop : loopsAround(block)) {
      if (loop.getKind() == LoopKind::Vectorized || loop.getKind() == LoopKind::Unrolled || level == levels)
        continue;
      ++level;
      bool isReduced = false;
      for (auto [number, binding] : llvm::enumerate(bindings))
        isReduced |= block.kind(static_cast<unsigned>(number)) == tile::IteratorKind::Reduced &&
                     !footprints.indices.along(binding, loop, block).isUniform();
      add(footprints.trips(loop));
      add(footprints.of(loop).bytes(target.lineBytes()));
      add(isReduced);
    }
    features.resize(features.size() + (levels - level) * std::size(ofLoop));
  }

  func::FuncOp kernel;
  const target::Machine &target;
  tile::FootprintFinder footprints;
  Features features;
};
} // namespace

Features featuresOf(func::FuncOp kernel, const target::Machine &target) { return FeatureFinder(kernel, target).run(); }
} // namespace perpend::tune
