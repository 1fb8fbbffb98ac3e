//===- SchedulePrimitivesTest.cpp - what primitives do and refuse ---------===//
//
// For each primitive a case that it refuses, by its message; and their page in
// docs, which must be what Primitives.def says.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Workloads.h"

#include "tile/passes/Passes.h"
#include "tile/schedule/Primitives.h"

#include "mlir/Pass/PassManager.h"

#include <fstream>
#include <sstream>

using namespace perpend::tile;
using perpend::interp::Module;

namespace {
struct Refusal {
  const char *primitive, *workload;
  void (*apply)(KernelSchedule &);
  const char *message;
};

using Loops = llvm::SmallVector<KernelSchedule::Loop>;

Loops loopsOf(KernelSchedule &s, const char *block) { return *s.getLoops(*s.getBlock(block)); }

// The blocks of `softmax`: reduce (of 5 x 7, over 7), map, reduce_1, map_1; of `matmul`: contract (7 x 6, over 5).
const Refusal refusals[] = {
    {"get_block", "matmul", [](KernelSchedule &s) { (void)s.getBlock("product"); },
     "get_block: expected one of the blocks contract, got 'product'"},
    {"get_loops", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       ASSERT_TRUE(mlir::succeeded(s.computeInline(block))) << s.refusal().str();
       EXPECT_TRUE(mlir::failed(s.getLoops(block)));
     },
     "%map: an earlier step has consumed this block"},
    {"get_child_blocks", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract"), again = loopsOf(s, "contract");
       ASSERT_TRUE(mlir::succeeded(s.split(loops[0], 2)));
       (void)s.getChildBlocks(again[0]);
     },
     "%i0_1: an earlier step has consumed this loop"},
    {"get_producers", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.getProducers(block);
     },
     "%map: an earlier step has consumed this block"},
    {"get_consumers", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.getConsumers(block);
     },
     "%map: an earlier step has consumed this block"},
    {"sample_perfect_tile", "matmul",
     [](KernelSchedule &s) { (void)s.samplePerfectTile(loopsOf(s, "contract")[1], 2, 16, {{2, 2}}); },
     "sample_perfect_tile %i1: expected a decision of 2 factors whose product is 6, got [2, 2]"},
    {"sample_partitioned_tile", "matmul",
     [](KernelSchedule &s) { (void)s.samplePartitionedTile(loopsOf(s, "contract")[1], 3, 1, 3, {{3, 1, 2}}); },
     "the product of the factors from number 1 on is 2, expected a multiple of 3"},
    {"sample_categorical", "matmul", [](KernelSchedule &s) { (void)s.sampleCategorical({1, 2}, {1, 1}, 2); },
     "sample_categorical: expected a decision from 0 to 1, got 2"},
    {"sample_compute_location", "softmax",
     [](KernelSchedule &s) { (void)s.sampleComputeLocation(*s.getBlock("reduce"), 5); },
     "expected as decision the number of a loop around 'map' in which it can be computed, got 5"},
    {"split", "matmul", [](KernelSchedule &s) { (void)s.split(loopsOf(s, "contract")[0], {2, 3}); },
     "split %i0: the factors [2, 3] do not cover the extent 7; leave one of them free (_)"},
    {"fuse", "matmulSymbolicDepth",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       (void)s.fuse({loops[1], loops[2]});
     },
     "fuse: the reduction 'contract' over %k0 may be empty, and would then not run its init; decompose_reduction "
     "before"},
    {"reorder", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       auto fused = *s.fuse({loops[1], loops[2]});
       auto parts = *s.split(fused, 4);
       (void)s.reorder({parts.second, parts.first});
     },
     "is no sum of 'fused_i1_k0_0' and 'fused_i1_k0_1', so it might not begin with its init; decompose_reduction "
     "before"},
    {"add_unit_loop", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.addUnitLoop(block);
     },
     "%map: an earlier step has consumed this block"},
    {"parallel", "matmul", [](KernelSchedule &s) { (void)s.parallel(loopsOf(s, "contract")[2]); },
     "parallel %k0: the reduced iterator 2 of the block 'contract' depends on it"},
    {"vectorize", "matmul", [](KernelSchedule &s) { (void)s.vectorize(loopsOf(s, "contract")[2]); },
     "vectorize %k0: the reduced iterator 2 of the block 'contract' depends on it"},
    {"unroll", "matmulSymbolicRows", [](KernelSchedule &s) { (void)s.unroll(loopsOf(s, "contract")[0]); },
     "unroll %i0: expected an extent that is a number, got n"},
    {"compute_at", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       (void)s.computeAt(*s.getBlock("contract"), loops[0]);
     },
     "the block 'contract' cannot move: it writes a buffer of the kernel's caller"},
    {"reverse_compute_at", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       auto copy = *s.cacheWrite(block, "local");
       (void)s.reverseComputeAt(copy, (*s.getLoops(block))[2]);
     },
     "the loop 'k0' is one of the reduction 'contract', which it does not complete"},
    {"compute_inline", "softmax", [](KernelSchedule &s) { (void)s.computeInline(*s.getBlock("reduce")); },
     "compute_inline %reduce: the block 'reduce' cannot be computed where it is read: it is a reduction"},
    {"reverse_compute_inline", "matmul",
     [](KernelSchedule &s) { (void)s.reverseComputeInline(*s.cacheWrite(*s.getBlock("contract"), "local")); },
     "the block 'contract_out' has no producer that it could be computed in: it is a reduction"},
    {"cache_read", "matmul", [](KernelSchedule &s) { (void)s.cacheRead(*s.getBlock("contract"), 2, "local"); },
     "cache_read %contract: the block 'contract' reads 2 buffers that it does not write, got number 2"},
    {"cache_write", "matmul", [](KernelSchedule &s) { (void)s.cacheWrite(*s.getBlock("contract"), "global"); },
     "cache_write %contract: expected one of the target's scopes local, got 'global'"},
    {"set_scope", "matmul", [](KernelSchedule &s) { (void)s.setScope(*s.getBlock("contract"), "local"); },
     "set_scope %contract: the block writes a buffer of the kernel's caller; cache_write it before"},
    {"reindex", "gather", [](KernelSchedule &s) { (void)s.reindex(*s.getBlock("reduce"), "read", 1); },
     "the block 'reduce': it accesses %arg0 at an index that is no expression of its iterators"},
    {"reindex_cache_read", "matmul",
     [](KernelSchedule &s) { (void)s.reindexCacheRead(*s.getBlock("contract"), 0, "local", "(i, j, k) -> (j, i, k)"); },
     "the block 'contract': the map uses the iterator 1, on which the element does not depend"},
    {"reindex_cache_write", "matmul",
     [](KernelSchedule &s) { (void)s.reindexCacheWrite(*s.getBlock("contract"), 0, "local", "(i, j, k) -> (i)"); },
     "the map (i, j, k) -> (i) is not known to be one to one: its results do not say all of input 1"},
    {"read_at", "matmul",
     [](KernelSchedule &s) { (void)s.readAt(loopsOf(s, "contract")[0], *s.getBlock("contract"), 2, "local"); },
     "cache_read %contract_1: the block 'contract' reads 2 buffers that it does not write, got number 2"},
    {"write_at", "matmul",
     [](KernelSchedule &s) { (void)s.writeAt(loopsOf(s, "contract")[2], *s.getBlock("contract"), "local"); },
     "the loop 'k0' is one of the reduction 'contract', which it does not complete"},
    {"transform_layout", "matmul",
     [](KernelSchedule &s) { (void)s.transformLayout(*s.getBlock("contract"), "read", 0, "(i, j) -> (j, i)"); },
     "transform_layout %contract: %arg0 belongs to the kernel's caller, whose layout a schedule cannot change\n"
     "hint: cache_read it, and give the copy this layout"},
    {"transform_block_layout", "matmul",
     [](KernelSchedule &s) { (void)s.transformBlockLayout(*s.getBlock("contract"), "(i, j, k) -> (i + j, k)"); },
     "the map (i, j, k) -> (i + j, k) is not known to be one to one: two points may have the same result 0"},
    {"bind", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       ASSERT_TRUE(mlir::succeeded(s.bind(loops[0], "thread"))) << s.refusal().str();
       (void)s.bind(loops[1], "thread");
     },
     "bind %i1: the loop 'i0', which is bound to thread, is around it"},
    {"merge", "softmax",
     [](KernelSchedule &s) {
       Loops reduce = loopsOf(s, "reduce"), map = loopsOf(s, "map");
       auto rows = s.merge({map[0], reduce[0]});
       ASSERT_TRUE(mlir::succeeded(rows)) << s.refusal().str();
       (void)s.merge({map[1], reduce[1]});
     },
     "merge: an iteration of the loop 'i1' may need what a later one of 'k0' does to the buffer 'reduce'"},
    {"loop_partition", "matmul", [](KernelSchedule &s) { (void)s.loopPartition(loopsOf(s, "contract")[0], {2, 4}); },
     "loop_partition %i0: expected counts whose sum is the extent 7, one of them free (_) at most"},
    {"reorder_block_iter_var", "matmul",
     [](KernelSchedule &s) { (void)s.reorderBlockIterVar(*s.getBlock("contract"), {0, 2, 1}); },
     "spatial iterators come first, then reduced and opaque ones; got [0, 2, 1]"},
    {"cache_inplace", "matmul", [](KernelSchedule &s) { (void)s.cacheInplace(*s.getBlock("contract"), 0, "local"); },
     "the block 'contract' does not change what another nest has written to %arg2\n"
     "hint: cache_write it, or decompose_reduction before"},
    {"rolling_buffer", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("reduce");
       ASSERT_TRUE(mlir::succeeded(s.computeAt(block, loopsOf(s, "map")[0]))) << s.refusal().str();
       (void)s.rollingBuffer(block, 0);
     },
     "rolling_buffer %reduce: the block 'reduce': the indices of its store are not exactly its spatial iterators"},
    {"storage_align", "softmax", [](KernelSchedule &s) { (void)s.storageAlign(*s.getBlock("map"), 0, 1, 8, 0); },
     "storage_align %map: expected an axis other than the innermost one, 0 to 0, got 1"},
    {"unsafe_set_dtype", "softmax", [](KernelSchedule &s) { (void)s.unsafeSetDtype(*s.getBlock("map"), 0, "i32"); },
     "unsafe_set_dtype %map: expected a type of the same class as f32 and of another width, got 'i32'"},
    {"fuse_reduction_epilogue", "softmax",
     [](KernelSchedule &s) { (void)s.fuseReductionEpilogue(*s.getBlock("reduce_1"), *s.getBlock("map_1")); },
     "the block 'map_1': it does not store the sum of one element of 'reduce_1', at its iterators, and of other "
     "values"},
    {"pad_einsum", "softmax", [](KernelSchedule &s) { (void)s.padEinsum(*s.getBlock("reduce"), {4, 4}); },
     "pad_einsum %reduce: the block 'reduce': it is no sum of products of elements at its iterators"},
    {"can_decompose_padding", "softmax",
     [](KernelSchedule &s) { (void)s.canDecomposePadding(*s.getBlock("map"), loopsOf(s, "map")[0]); },
     "can_decompose_padding %map, %i0: the block 'map' pads nothing: it does not choose between two values"},
    {"enter_postproc", "matmul",
     [](KernelSchedule &s) {
       ASSERT_TRUE(mlir::succeeded(s.enterPostproc()));
       (void)s.enterPostproc();
     },
     "enter_postproc: an earlier step has done this"},
    {"decompose_reduction", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       Loops loops = *s.getLoops(block);
       ASSERT_TRUE(mlir::succeeded(s.reorder({loops[2], loops[1]})));
       (void)s.decomposeReduction(block, loops[1]);
     },
     "the loop 'k0' outside of it is one of the reduction"},
    {"decompose_padding", "matmul",
     [](KernelSchedule &s) { (void)s.decomposePadding(*s.getBlock("contract"), loopsOf(s, "contract")[0]); },
     "decompose_padding %contract, %i0: the block 'contract' pads nothing: the indices of its store are not "
     "exactly its spatial iterators"},
    {"rfactor", "matmul", [](KernelSchedule &s) { (void)s.rfactor(loopsOf(s, "contract")[0], 0); },
     "rfactor %i0: the block 'contract' does not reduce over the loop"},
    {"blockize", "matmul",
     [](KernelSchedule &s) {
       auto parts = *s.split(loopsOf(s, "contract")[2], 2);
       (void)s.blockize(parts.second);
     },
     "blockize %k0_1: the iterator vk0 of the block 'contract' goes on outside of the loop, where its init would be "
     "repeated; decompose_reduction before"},
    {"tensorize", "matmul", [](KernelSchedule &s) { (void)s.tensorize(loopsOf(s, "contract")[0], "i8.block"); },
     "tensorize %i0, \"i8.block\": expected one store of the same type"},
    {"annotate", "matmul",
     [](KernelSchedule &s) {
       auto loop = loopsOf(s, "contract")[0];
       mlir::Attribute unit = mlir::UnitAttr::get(s.operation(loop).getContext());
       ASSERT_TRUE(mlir::succeeded(s.annotate(loop, "a", unit)));
       (void)s.annotate(loop, "a", unit);
     },
     "annotate %i0: it has the annotation 'a' already; unannotate it before"},
    {"unannotate", "matmul", [](KernelSchedule &s) { (void)s.unannotate(loopsOf(s, "contract")[0], "a"); },
     "unannotate %i0: it has no annotation 'a'"},
};

class SchedulePrimitives : public ::testing::TestWithParam<Refusal> {};

std::string page() {
  std::string text = "# Schedule primitives\n\nThe methods of `tile::KernelSchedule` "
                     "([src/tile/schedule](../src/tile/schedule/Schedule.h)) and of `perpend.Schedule` in Python\n"
                     "([how](howto/schedule-a-kernel.md)), and what a trace says: `%i0, %i1 = split %i, [_, 8]`, "
                     "results, primitive, operands.\nEach keeps the meaning of the kernel, or refuses and changes "
                     "nothing. This page is made from `Primitives.def`;\n"
                     "`PERPEND_WRITE_DOCS=1 build/bin/ScheduleTest` writes it anew.\n\n"
                     "| Primitive | Operands | Results | What it does |\n| --- | --- | --- | --- |\n";
  for (const PrimitiveInfo &info : primitives())
    text += "| `" + info.name.str() + "` | " + info.operandList() + " | " + info.resultList() + " | " +
            info.sentence.str() + " |\n";
  return text;
}

/// The kernel of a workload, as blocks.
void onBlocksOf(const char *name, llvm::function_ref<void(mlir::func::FuncOp)> check) {
  std::vector<Workload> list = workloads();
  auto workload = llvm::find_if(list, [&](const Workload &w) { return w.name == name; });
  ASSERT_NE(workload, list.end());
  Module module(workload->text());
  mlir::PassManager passes(&module.context);
  passes.addPass(createTileBuildBlocks());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module.module)));
  check(module.module->lookupSymbol<mlir::func::FuncOp>("k"));
}
} // namespace

TEST_P(SchedulePrimitives, refuses) {
  onBlocksOf(GetParam().workload, [](mlir::func::FuncOp kernel) {
    KernelSchedule schedule(kernel);
    GetParam().apply(schedule);
    EXPECT_NE(schedule.refusal().find(GetParam().message), llvm::StringRef::npos) << schedule.refusal().str();
  });
}

INSTANTIATE_TEST_SUITE_P(Refusals, SchedulePrimitives, ::testing::ValuesIn(refusals),
                         [](const auto &info) { return std::string(info.param.primitive); });

TEST(SchedulePrimitivesScopes, areThoseOfTheTarget) {
  onBlocksOf("matmul", [](mlir::func::FuncOp kernel) {
    perpend::target::Machine machine;
    machine.memories = {{"local"}, {"l1"}};
    KernelSchedule schedule(kernel, machine);
    KernelSchedule::Block block = *schedule.getBlock("contract");
    KernelSchedule::Loop loop = (*schedule.getLoops(block))[0];
    for (llvm::StringRef scope : {"l2", "global", ""}) {
      EXPECT_TRUE(mlir::failed(schedule.cacheRead(block, 0, scope)) &&
                  mlir::failed(schedule.cacheWrite(block, scope)) && mlir::failed(schedule.setScope(block, scope)) &&
                  mlir::failed(schedule.readAt(loop, block, 0, scope)) &&
                  mlir::failed(schedule.writeAt(loop, block, scope)) &&
                  mlir::failed(schedule.reindexCacheRead(block, 0, scope, "(i, j, k) -> (i, k)")) &&
                  mlir::failed(schedule.reindexCacheWrite(block, 0, scope, "(i, j, k) -> (i, j)")));
      EXPECT_NE(schedule.refusal().find("expected one of the target's scopes local, l1, got '" + scope.str() + "'"),
                llvm::StringRef::npos)
          << schedule.refusal().str();
    }
    EXPECT_TRUE(mlir::succeeded(schedule.cacheRead(block, 0, "l1")));
    EXPECT_TRUE(mlir::succeeded(schedule.cacheWrite(block, "local")));
    EXPECT_TRUE(mlir::succeeded(schedule.setScope(block, "l1")));
  });
}

TEST(Unrolled, isOfSoManyCopiesAtMost) {
  onBlocksOf("matmul", [](mlir::func::FuncOp kernel) {
    KernelSchedule schedule(kernel);
    Loops loops = *schedule.split(loopsOf(schedule, "contract")[0], llvm::ArrayRef<KernelSchedule::Factor>{600, 7});
    ASSERT_TRUE(mlir::succeeded(schedule.unroll(loops[0]))) << schedule.refusal().str();
    EXPECT_TRUE(mlir::failed(schedule.unroll(loops[1])));
    EXPECT_EQ(schedule.refusal(), "unroll %i0_1: the block 'contract' would be written more than 1024 times");
  });
}

/// Elements of a rolled buffer are others by the time that another loop would read them.
TEST(RolledBuffers, areReadInTheirLoop) {
  onBlocksOf("neighbours", [](mlir::func::FuncOp kernel) {
    KernelSchedule schedule(kernel);
    auto block = [&](const char *name) { return *schedule.getBlock(name); };
    ASSERT_TRUE(mlir::succeeded(schedule.computeAt(block("reduce"), loopsOf(schedule, "map")[0])) &&
                mlir::succeeded(schedule.rollingBuffer(block("reduce"), 0)))
        << schedule.refusal().str();
    EXPECT_TRUE(mlir::failed(schedule.cacheWrite(block("reduce"), "local")));
    EXPECT_TRUE(mlir::failed(schedule.cacheInplace(block("reduce"), 0, "local")));
    EXPECT_NE(schedule.refusal().find("the buffer 'reduce' is rolled; cache it before"), llvm::StringRef::npos)
        << schedule.refusal().str();
    ASSERT_TRUE(mlir::succeeded(schedule.cacheWrite(block("map"), "local"))) << schedule.refusal().str();
    EXPECT_TRUE(mlir::failed(schedule.computeAt(block("map"), loopsOf(schedule, "map_out")[0])));
    EXPECT_NE(schedule.refusal().find("the buffer 'reduce' that the block reads is not complete"),
              llvm::StringRef::npos)
        << schedule.refusal().str();
  });
}

TEST(Refusals, sayWhatMakesItPossible) {
  using Steps = llvm::function_ref<void(KernelSchedule &)>;
  auto refuses = [](const char *workload, Steps steps, llvm::StringRef message) {
    onBlocksOf(workload, [&](mlir::func::FuncOp kernel) {
      KernelSchedule s(kernel);
      steps(s);
      EXPECT_TRUE(s.refusal().ends_with(message)) << s.refusal().str();
    });
  };
  auto inMap = [](KernelSchedule &s) { return s.computeAt(*s.getBlock("reduce"), loopsOf(s, "map")[0]); };
  refuses(
      "softmax",
      [&](KernelSchedule &s) {
        ASSERT_TRUE(mlir::succeeded(inMap(s)));
        (void)s.rfactor(loopsOf(s, "reduce").back(), 0);
      },
      "rfactor %k0: the block 'reduce' cannot be taken apart: the indices of its store are not exactly its spatial "
      "iterators\n"
      "hint: rfactor before compute_at");
  refuses(
      "softmax",
      [&](KernelSchedule &s) {
        ASSERT_TRUE(mlir::succeeded(s.decomposeReduction(*s.getBlock("reduce"), loopsOf(s, "reduce")[1])));
        (void)inMap(s);
      },
      "the block 'reduce_init' writes the buffer 'reduce', too\n"
      "hint: compute_at before what makes several of one block, such as decompose_reduction");
  refuses(
      "softmax", [&](KernelSchedule &s) { (void)s.computeAt(*s.getBlock("map"), loopsOf(s, "reduce_1")[0]); },
      "the buffer 'map' is read outside of the loop, by the block 'map_1'\n"
      "hint: a loop that is around all blocks that read it");
  refuses(
      "softmax", [](KernelSchedule &s) { (void)s.storageAlign(*s.getBlock("reduce"), 0, 0, 8, 0); },
      "storage_align %reduce: 'reduce' has 1 dimension, expected at least 2: the stride of the last one is 1");
  refuses(
      "softmax",
      [](KernelSchedule &s) { (void)s.transformLayout(*s.getBlock("reduce"), "write", 0, "(i, j) -> (j, i)"); },
      "transform_layout %reduce: expected a map of 1 input, got (i, j) -> (j, i)");
  refuses(
      "softmax",
      [](KernelSchedule &s) {
        (void)s.transformLayout(*s.getBlock("map"), "write", 0, "(i, j) -> (j floordiv 4, i, z mod 4)");
      },
      "transform_layout %map: the map (i, j) -> (floordiv(j, 4), i, mod(z, 4)) uses 'z', expected expressions of its "
      "inputs i, j and of symbols of the extents");
}

/// get_output_blocks has nothing to refuse.
TEST(SchedulePrimitivesTable, eachHasARefusal) {
  for (const PrimitiveInfo &info : primitives())
    EXPECT_TRUE(info.name == "get_output_blocks" ||
                llvm::any_of(refusals, [&](const Refusal &refusal) { return info.name == refusal.primitive; }))
        << info.name.str();
}

TEST(SchedulePrimitivesTable, isThePageInDocs) {
  std::string path = PERPEND_SOURCE_DIR "/docs/schedule-primitives.md";
  if (std::getenv("PERPEND_WRITE_DOCS"))
    std::ofstream(path) << page();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), page()) << "hint: PERPEND_WRITE_DOCS=1 writes the page";
}

TEST(PrimitivesVersion, changesWithSignatures) {
  std::vector<PrimitiveInfo> table = primitives().vec();
  const std::string now = versionOf(table);
  EXPECT_EQ(now.size(), 16U);
  table.back().sentence = "Something else.";
  EXPECT_EQ(versionOf(table), now);
  auto isAnother = [&](void (*change)(PrimitiveInfo &split)) {
    std::vector<PrimitiveInfo> changed = primitives().vec();
    change(*llvm::find_if(changed, [](const PrimitiveInfo &info) { return info.name == "split"; }));
    EXPECT_NE(versionOf(changed), now);
  };
  isAnother([](PrimitiveInfo &split) { split.name = "divide"; });
  isAnother([](PrimitiveInfo &split) { split.results = "Loop"; });
  isAnother([](PrimitiveInfo &split) { split.operands.pop_back(); });
  isAnother([](PrimitiveInfo &split) { split.operands[1].kind = "Integers"; });
  isAnother([](PrimitiveInfo &split) { split.operands[1].isOptional = true; });
  isAnother([](PrimitiveInfo &split) { split.operands[0].name = "loops"; }); // optional ones are written with names
}
