//===- RandomSteps.cpp - primitives with random operands ------------------===//
//
// For each primitive a function that draws its operands, so that it applies often
// enough, and is refused often enough.
//
//===----------------------------------------------------------------------===//

#include "RandomSteps.h"

#include "tile/schedule/Nests.h"

#include <functional>
#include <map>

using namespace perpend;
using namespace perpend::tile;
using interp::Random;
using mlir::failed;
using mlir::LogicalResult;

namespace {
class Driver {
public:
  Driver(KernelSchedule &schedule, mlir::func::FuncOp kernel, Random &random)
      : kernel(kernel), random(random), schedule(schedule) {}

  LogicalResult apply(llvm::StringRef primitive);

  mlir::func::FuncOp kernel;
  Random &random;
  KernelSchedule &schedule;

private:
  using Block = KernelSchedule::Block;
  using Loop = KernelSchedule::Loop;
  using Table = std::map<llvm::StringRef, std::function<LogicalResult(Driver &, Loop)>>;

  /// Random operands for each primitive.
  static Table loopSteps();
  static Table blockSteps();

  template <typename List> auto pick(const List &list) { return list[random.integer(0, list.size() - 1)]; }

  /// Without those that blockize has put into others.
  std::vector<BlockOp> outermostBlocks() {
    std::vector<BlockOp> blocks;
    kernel.walk<mlir::WalkOrder::PreOrder>([&](BlockOp op) {
      blocks.push_back(op);
      return mlir::WalkResult::skip();
    });
    return blocks;
  }
  Block block() { return *schedule.getBlock(pick(outermostBlocks()).getName()); }
  std::optional<Loop> loop() {
    auto loops = *schedule.getLoops(block());
    return loops.empty() ? std::nullopt : std::optional(pick(loops));
  }
  std::string scope() { return random.integer(0, 3) ? "local" : "global"; }

  const char *access() { return random.integer(0, 1) ? "read" : "write"; }

  /// Takes some inputs apart, joins others, and reorders.
  std::string map(llvm::ArrayRef<SymbolicInt> extents) {
    std::vector<std::string> outputs;
    std::string inputs;
    for (size_t i = 0; i < extents.size(); ++i) {
      std::string name = "d" + std::to_string(i), factor = std::to_string(random.integer(2, 4));
      inputs += (i ? ", " : "") + name;
      if (random.integer(0, 1)) {
        outputs.push_back(name);
      } else if (i + 1 < extents.size() && extents[i + 1].isConstant() && random.integer(0, 1)) {
        inputs += ", d" + std::to_string(i + 1);
        outputs.push_back(name + " * " + extents[i + 1].str() + " + d" + std::to_string(i + 1));
        ++i;
      } else {
        outputs.push_back(name + " floordiv " + factor);
        outputs.push_back(name + " mod " + factor);
      }
    }
    std::shuffle(outputs.begin(), outputs.end(), random.engine);
    return "(" + inputs + ") -> (" + llvm::join(outputs, ", ") + ")";
  }

  std::string blockMap(Block block) {
    BlockOp op = schedule.operation(block);
    return map(op.getDomain().values());
  }

  LogicalResult transformLayout() {
    Block handle = block();
    std::string kind = access();
    auto buffers = buffersOf(schedule.operation(handle), kind == "write");
    if (buffers.empty())
      return mlir::failure();
    size_t number = random.integer(0, buffers.size() - 1);
    return schedule.transformLayout(handle, kind, number,
                                    map(mlir::cast<BufferType>(buffers[number].getType()).extents()));
  }

  /// A map of the iterators alone on which the element depends, most of the time.
  LogicalResult reindexCache(bool isWritten) {
    Block handle = block();
    BlockOp op = schedule.operation(handle);
    std::string inputs, outputs;
    for (unsigned i = 0; i < op.getKinds().size(); ++i) {
      std::string name = "d" + std::to_string(i);
      inputs += (i ? ", " : "") + name;
      if ((isWritten && op.kind(i) == IteratorKind::Spatial) || (!isWritten && random.integer(0, 2)))
        outputs = random.integer(0, 1)
                      ? outputs + (outputs.empty() ? "" : ", ") + name
                      : name + " floordiv 2, " + name + " mod 2" + (outputs.empty() ? "" : ", ") + outputs;
    }
    std::string text = "(" + inputs + ") -> (" + outputs + ")";
    return isWritten ? schedule.reindexCacheWrite(handle, 0, "local", text)
                     : schedule.reindexCacheRead(handle, random.integer(0, 1), "local", text);
  }

  /// Of two loops side by side, if the blocks that were drawn have any.
  LogicalResult merge() {
    auto first = *schedule.getLoops(block()), second = *schedule.getLoops(block());
    if (first.empty() || second.empty())
      return mlir::failure();
    for (Loop a : first)
      for (Loop b : second)
        if (ForOp x = schedule.operation(a), y = schedule.operation(b); x != y && x->getBlock() == y->getBlock())
          return schedule.merge({a, b});
    return schedule.merge({pick(first), pick(second)});
  }

  LogicalResult partition(Loop loop) {
    llvm::SmallVector<KernelSchedule::Factor> counts;
    for (int64_t i = 0, count = random.integer(1, 3); i < count; ++i)
      counts.push_back(random.integer(1, 3));
    counts[random.integer(0, counts.size() - 1)] = std::nullopt;
    return schedule.loopPartition(loop, counts);
  }

  LogicalResult reorderIterators() {
    Block handle = block();
    BlockOp op = schedule.operation(handle);
    llvm::SmallVector<int64_t> order;
    for (unsigned i = 0; i < op.getKinds().size(); ++i)
      order.push_back(i);
    std::shuffle(order.begin(), order.end(), random.engine);
    if (random.integer(0, 1)) // mostly they would not be sorted
      llvm::sort(order, [&](int64_t a, int64_t b) { return std::pair(op.kind(a), b) < std::pair(op.kind(b), a); });
    return schedule.reorderBlockIterVar(handle, order);
  }

  LogicalResult align() {
    Block handle = block();
    int64_t factor = random.integer(1, 8);
    return schedule.storageAlign(handle, 0, -2, factor, random.integer(0, factor - 1));
  }

  /// Mostly of a reduction whose init is a nest of its own.
  LogicalResult cacheInplace() {
    Block handle = block();
    auto loops = *schedule.getLoops(handle);
    if (loops.empty() || failed(schedule.decomposeReduction(handle, loops.front())))
      return schedule.cacheInplace(handle, 0, scope());
    (void)schedule.cacheInplace(handle, 0, "local");
    return mlir::success();
  }

  /// Of any reduction and a block that reads what it writes, if there is one that allows it.
  LogicalResult fuseEpilogue() {
    for (BlockOp op : outermostBlocks()) {
      Block reduction = *schedule.getBlock(op.getName());
      auto consumers = *schedule.getConsumers(reduction);
      for (Block consumer : consumers)
        if (mlir::succeeded(schedule.fuseReductionEpilogue(reduction, consumer)))
          return mlir::success();
    }
    return mlir::failure();
  }

  /// Of a block that is computed at a loop for that.
  LogicalResult roll() {
    Block handle = block();
    auto loop = schedule.sampleComputeLocation(handle, std::nullopt);
    if (failed(loop) || failed(schedule.computeAt(handle, *loop)))
      return schedule.rollingBuffer(handle, 0);
    (void)schedule.rollingBuffer(handle, 0);
    return mlir::success();
  }

  LogicalResult padEinsum() {
    Block handle = block();
    llvm::SmallVector<int64_t> padding;
    for (unsigned i = 0; i < schedule.operation(handle).getKinds().size(); ++i)
      padding.push_back(random.integer(1, 4));
    return schedule.padEinsum(handle, padding);
  }

  LogicalResult decomposePadding() {
    Block handle = block();
    auto loops = *schedule.getLoops(handle);
    return schedule.decomposePadding(handle, loops.empty() ? *this->loop() : pick(loops));
  }

  /// Of any block.
  LogicalResult canDecomposePadding() {
    std::vector<BlockOp> blocks;
    kernel.walk([&](BlockOp op) { blocks.push_back(op); });
    for (BlockOp op : blocks) {
      Block handle = *schedule.getBlock(op.getName());
      auto loops = schedule.getLoops(handle); // refused inside of a block
      if (mlir::succeeded(loops) && !loops->empty() &&
          mlir::succeeded(schedule.canDecomposePadding(handle, loops->front())))
        return mlir::success();
    }
    return mlir::failure();
  }

  /// A type that holds all of the values.
  LogicalResult setType() {
    Block handle = block();
    for (mlir::Value buffer : buffersOf(schedule.operation(handle), true))
      return schedule.unsafeSetDtype(
          handle, 0, mlir::isa<mlir::FloatType>(mlir::cast<BufferType>(buffer.getType()).scalarType()) ? "f64" : "i64");
    return mlir::failure();
  }

  /// Draws factors, and splits by them.
  LogicalResult samplePerfectTile(Loop loop) {
    auto factors = schedule.samplePerfectTile(loop, random.integer(1, 4), random.integer(1, 8), std::nullopt);
    if (failed(factors))
      return mlir::failure();
    EXPECT_TRUE(mlir::succeeded(schedule.split(loop, llvm::to_vector_of<KernelSchedule::Factor>(*factors))) ||
                schedule.operation(loop).getKind() != LoopKind::Serial);
    return mlir::success();
  }

  LogicalResult samplePartitionedTile(Loop loop) {
    int64_t count = random.integer(2, 4);
    auto factors =
        schedule.samplePartitionedTile(loop, count, random.integer(1, count - 1), random.integer(1, 3), std::nullopt);
    if (failed(factors))
      return mlir::failure();
    (void)schedule.split(loop, llvm::to_vector_of<KernelSchedule::Factor>(*factors));
    return mlir::success();
  }

  LogicalResult sampleCategorical(Loop loop) {
    auto factor = schedule.sampleCategorical({1, 2, 3, 4}, {1, 0, 2, random.integer(-1, 3)}, std::nullopt);
    if (failed(factor))
      return mlir::failure();
    (void)schedule.split(loop, {std::nullopt, *factor});
    return mlir::success();
  }

  LogicalResult sampleComputeLocation() {
    Block handle = block();
    auto loop = schedule.sampleComputeLocation(handle, std::nullopt);
    if (failed(loop))
      return mlir::failure();
    EXPECT_TRUE(mlir::succeeded(schedule.computeAt(handle, *loop))) << schedule.refusal().str();
    return mlir::success();
  }

  LogicalResult split(Loop loop) {
    llvm::SmallVector<KernelSchedule::Factor> factors;
    for (int64_t i = 0, count = random.integer(1, 3); i < count; ++i)
      factors.push_back(random.integer(1, 4));
    if (random.integer(0, 5))
      factors[random.integer(0, factors.size() - 1)] = std::nullopt;
    return schedule.split(loop, factors);
  }

  LogicalResult reorder() {
    llvm::SmallVector<Loop> loops = *schedule.getLoops(block());
    std::shuffle(loops.begin(), loops.end(), random.engine);
    if (loops.size() > 2)
      loops.truncate(random.integer(2, loops.size()));
    return schedule.reorder(loops);
  }

  LogicalResult fuse() {
    llvm::SmallVector<Loop> loops = *schedule.getLoops(block());
    size_t first = loops.empty() ? 0 : random.integer(0, loops.size() - 1);
    llvm::ArrayRef<Loop> rest = llvm::ArrayRef(loops).drop_front(first);
    return schedule.fuse(rest.take_front(random.integer(1, 3)));
  }
};
} // namespace

Driver::Table Driver::loopSteps() {
  return {
      {"get_block", [](Driver &d, Loop) { return d.schedule.getBlock("nothing"); }},
      {"get_loops", [](Driver &d, Loop) { return d.schedule.getLoops(d.block()); }},
      {"get_child_blocks", [](Driver &d, Loop l) { return d.schedule.getChildBlocks(l); }},
      {"get_producers", [](Driver &d, Loop) { return d.schedule.getProducers(d.block()); }},
      {"get_consumers", [](Driver &d, Loop) { return d.schedule.getConsumers(d.block()); }},
      {"get_output_blocks", [](Driver &d, Loop) { return d.schedule.getOutputBlocks(); }},
      {"sample_perfect_tile", [](Driver &d, Loop l) { return d.samplePerfectTile(l); }},
      {"sample_partitioned_tile", [](Driver &d, Loop l) { return d.samplePartitionedTile(l); }},
      {"sample_categorical", [](Driver &d, Loop l) { return d.sampleCategorical(l); }},
      {"sample_compute_location", [](Driver &d, Loop) { return d.sampleComputeLocation(); }},
      {"split", [](Driver &d, Loop l) { return d.split(l); }},
      {"fuse", [](Driver &d, Loop) { return d.fuse(); }},
      {"reorder", [](Driver &d, Loop) { return d.reorder(); }},
      {"add_unit_loop",
       [](Driver &d, Loop l) {
         return d.random.integer(0, 1) ? d.schedule.addUnitLoop(l) : d.schedule.addUnitLoop(d.block());
       }},
      {"parallel", [](Driver &d, Loop l) { return d.schedule.parallel(l); }},
      {"vectorize", [](Driver &d, Loop l) { return d.schedule.vectorize(l); }},
      {"unroll", [](Driver &d, Loop l) { return d.schedule.unroll(l); }},
  };
}

Driver::Table Driver::blockSteps() {
  auto key = [](Driver &d) { return std::string(d.random.integer(0, 1) ? "a" : "b"); };
  return {
      {"compute_at", [](Driver &d, Loop l) { return d.schedule.computeAt(d.block(), l); }},
      {"reverse_compute_at", [](Driver &d, Loop l) { return d.schedule.reverseComputeAt(d.block(), l); }},
      {"compute_inline", [](Driver &d, Loop) { return d.schedule.computeInline(d.block()); }},
      {"reverse_compute_inline", [](Driver &d, Loop) { return d.schedule.reverseComputeInline(d.block()); }},
      {"cache_read",
       [](Driver &d, Loop) { return d.schedule.cacheRead(d.block(), d.random.integer(0, 2), d.scope()); }},
      {"cache_write", [](Driver &d, Loop) { return d.schedule.cacheWrite(d.block(), d.scope()); }},
      {"reindex", [](Driver &d, Loop) { return d.schedule.reindex(d.block(), d.access(), d.random.integer(0, 1)); }},
      {"reindex_cache_read", [](Driver &d, Loop) { return d.reindexCache(false); }},
      {"reindex_cache_write", [](Driver &d, Loop) { return d.reindexCache(true); }},
      {"read_at", [](Driver &d, Loop l) { return d.schedule.readAt(l, d.block(), d.random.integer(0, 1), d.scope()); }},
      {"write_at", [](Driver &d, Loop l) { return d.schedule.writeAt(l, d.block(), d.scope()); }},
      {"bind", [](Driver &d, Loop l) { return d.schedule.bind(l, "thread"); }},
      {"merge", [](Driver &d, Loop) { return d.merge(); }},
      {"loop_partition", [](Driver &d, Loop l) { return d.partition(l); }},
      {"reorder_block_iter_var", [](Driver &d, Loop) { return d.reorderIterators(); }},
      {"fuse_reduction_epilogue", [](Driver &d, Loop) { return d.fuseEpilogue(); }},
      {"rolling_buffer", [](Driver &d, Loop) { return d.roll(); }},
      {"pad_einsum", [](Driver &d, Loop) { return d.padEinsum(); }},
      {"decompose_padding", [](Driver &d, Loop) { return d.decomposePadding(); }},
      {"can_decompose_padding", [](Driver &d, Loop) { return d.canDecomposePadding(); }},
      {"enter_postproc", [](Driver &d, Loop) { return d.schedule.enterPostproc(); }},
      {"cache_inplace", [](Driver &d, Loop) { return d.cacheInplace(); }},
      {"storage_align", [](Driver &d, Loop) { return d.align(); }},
      {"unsafe_set_dtype", [](Driver &d, Loop) { return d.setType(); }},
      {"transform_layout", [](Driver &d, Loop) { return d.transformLayout(); }},
      {"transform_block_layout",
       [](Driver &d, Loop) {
         Block block = d.block();
         return d.schedule.transformBlockLayout(block, d.blockMap(block));
       }},
      {"set_scope", [](Driver &d, Loop) { return d.schedule.setScope(d.block(), d.scope()); }},
      {"decompose_reduction",
       [](Driver &d, Loop) {
         Block block = d.block();
         auto loops = *d.schedule.getLoops(block);
         return loops.empty() ? mlir::FailureOr<Block>(mlir::failure())
                              : d.schedule.decomposeReduction(block, d.pick(loops));
       }},
      {"rfactor", [](Driver &d, Loop l) { return d.schedule.rfactor(l, d.random.integer(0, 2)); }},
      {"blockize", [](Driver &d, Loop l) { return d.schedule.blockize(l); }},
      {"tensorize",
       [](Driver &d, Loop l) {
         return d.random.integer(0, 1) ? d.schedule.tensorize(l, "f32.block")
                                       : d.schedule.tensorize(d.block(), "f32.block");
       }},
      {"annotate",
       [key](Driver &d, Loop l) { return d.schedule.annotate(l, key(d), mlir::UnitAttr::get(d.kernel.getContext())); }},
      {"unannotate",
       [key](Driver &d, Loop l) {
         if (d.random.integer(0, 1)) { // mostly there is nothing to take away
           (void)d.schedule.annotate(l, "a", mlir::UnitAttr::get(d.kernel.getContext()));
           return d.schedule.unannotate(l, "a");
         }
         return d.schedule.unannotate(l, key(d));
       }},
  };
}

LogicalResult Driver::apply(llvm::StringRef name) {
  static const Table table = [] {
    Table steps = loopSteps();
    steps.merge(blockSteps());
    return steps;
  }();
  auto known = table.find(name);
  if (known == table.end()) {
    ADD_FAILURE() << "no random operands for " << name.str();
    return mlir::failure();
  }
  std::optional<Loop> loop = this->loop();
  return loop ? known->second(*this, *loop) : mlir::failure();
}

LogicalResult perpend::tile::applyRandomly(KernelSchedule &schedule, mlir::func::FuncOp kernel,
                                           llvm::StringRef primitive, Random &random) {
  return Driver(schedule, kernel, random).apply(primitive);
}

const PrimitiveInfo &perpend::tile::randomPrimitive(Random &random) {
  while (true) {
    const PrimitiveInfo &primitive = primitives()[random.integer(0, primitives().size() - 1)];
    llvm::StringRef name = primitive.name;
    bool changesLittle = name.starts_with("get_") || name.contains("annotate") || name == "set_scope" ||
                         name == "add_unit_loop" || name == "enter_postproc" || name == "reorder_block_iter_var" ||
                         name == "bind";
    if (!changesLittle || random.integer(0, 3) == 0)
      return primitive;
  }
}
