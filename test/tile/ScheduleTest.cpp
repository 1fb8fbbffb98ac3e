//===- ScheduleTest.cpp - no schedule changes a result --------------------===//
//
// Random traces of primitives, with random operands, on small kernels: whatever
// a primitive does not refuse must leave every bit of the result as it was. A
// refusal leaves the kernel as it was. PERPEND_LONG runs 10,000 traces.
//
//===----------------------------------------------------------------------===//

#include "ScheduleCase.h"

#include "tile/schedule/Primitives.h"

#include "llvm/ADT/StringSet.h"

#include <cstdlib>

using namespace perpend::tile;
using perpend::interp::Random;

namespace {
using Steps = void (*)(KernelSchedule &);

std::string apply(const std::string &workload, Steps steps) {
  std::vector<Workload> list = workloads();
  auto found = llvm::find_if(list, [&](const Workload &each) { return each.name == workload; });
  return ScheduleCase(*found).apply(steps);
}

#define APPLIES(step) ASSERT_TRUE(mlir::succeeded(step)) << s.refusal().str()

void expectIn(const std::string &part, const std::string &text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}
} // namespace

/// Into a loop inside of the one to which it has moved before.
TEST(Schedule, movesABlockAgain) {
  std::string text = apply("layerNorm", [](KernelSchedule &s) {
    auto block = *s.getBlock("reduce_1");
    auto loops = *s.getLoops(s.getOutputBlocks()->front());
    APPLIES(s.computeAt(block, loops[1]));
    APPLIES(s.computeAt(block, loops[2]));
  });
  expectIn("\"reduce_1\" spatial(%vi0 in 2 = %i0, %vi1 in 3 = %i1)", text);
}

/// The operand of a product in panels of four columns.
TEST(Schedule, givesACopyALayout) {
  std::string text = apply("matmul", [](KernelSchedule &s) {
    auto block = *s.getBlock("contract");
    APPLIES(s.cacheRead(block, 1, "local"));
    APPLIES(s.transformLayout(block, "read", 1, "(k, j) -> (j floordiv 4, k, j mod 4)"));
  });
  expectIn("tile.load %0[floordiv(%vi1, 4), %vk0, mod(%vi1, 4)] : !tile.buffer<[2, 5, 4] x f32, local>", text);
}

/// Iterators in the order of the layout make its indices plain.
TEST(Schedule, runsInTheOrderOfALayout) {
  std::string text = apply("matmul", [](KernelSchedule &s) {
    auto block = *s.getBlock("contract");
    auto copy = s.cacheRead(block, 1, "local");
    APPLIES(copy);
    APPLIES(s.transformLayout(block, "read", 1, "(k, j) -> (j floordiv 2, k, j mod 2)"));
    APPLIES(s.transformBlockLayout(*copy, "(k, j) -> (j floordiv 2, k, j mod 2)"));
  });
  expectIn("%0[%vt0, %vt1, %vt2] : !tile.buffer<[3, 5, 2] x f32, local>", text);
  expectIn("%arg1[%vt1, 2*%vt0 + %vt2]", text);
  expectIn("tile.load %0[floordiv(%vi1, 2), %vk0, mod(%vi1, 2)]", text);
}

TEST(Schedule, startsASumWithItsEpilogue) {
  std::string text = apply("biased", [](KernelSchedule &s) {
    auto sum = *s.getBlock("contract");
    APPLIES(s.fuseReductionEpilogue(sum, s.getConsumers(sum)->front()));
  });
  EXPECT_EQ(text.find("tile.alloc"), std::string::npos) << text;
}

/// Of an empty sum the init would not run, where what it reads is computed inside of the loops.
TEST(Schedule, startsNoEmptySumWithItsEpilogue) {
  apply("biasedSymbolicDepth", [](KernelSchedule &s) {
    auto sum = *s.getBlock("contract");
    EXPECT_TRUE(mlir::failed(s.fuseReductionEpilogue(sum, s.getConsumers(sum)->front())));
    EXPECT_TRUE(s.refusal().contains("the sum 'contract' may be empty, and would then not run its init"))
        << s.refusal().str();
  });
}

/// A copy of an aligned buffer has all of its elements, of which the product computes only its own.
TEST(Schedule, computesNothingBehindAnAlignedRow) {
  apply("batched", [](KernelSchedule &s) {
    auto block = *s.getBlock("contract");
    APPLIES(s.cacheWrite(block, "local"));
    APPLIES(s.storageAlign(block, 0, -2, 7, 2));
    auto copy = s.cacheWrite(block, "local");
    APPLIES(copy);
    APPLIES(s.computeAt(block, (*s.getLoops(*copy))[2]));
  });
}

TEST(Schedule, padsAProduct) {
  std::string text =
      apply("matmul", [](KernelSchedule &s) { APPLIES(s.padEinsum(*s.getBlock("contract"), {8, 4, 1})); });
  expectIn("tile.block \"contract\" spatial(%vi0 in 8 = %i0, %vi1 in 8 = %i1) reduced(%vk0 in 5 = %k0)", text);
}

TEST(Schedule, splitsOffAnEdge) {
  std::string text = apply("padded", [](KernelSchedule &s) {
    auto block = s.getOutputBlocks()->front();
    auto loop = (*s.getLoops(block))[0];
    APPLIES(s.canDecomposePadding(block, loop));
    APPLIES(s.decomposePadding(block, loop));
  });
  EXPECT_EQ(text.find("scf.if"), std::string::npos) << text;
  expectIn("tile.block \"pad\" spatial(%vi0 in 5 = %i0, %vi1 in 4 = %i1)", text);
}

/// What has moved is padded under the condition that says where its place ends.
TEST(Schedule, splitsOffAnEdgeOfAPart) {
  std::string text = apply("matmul", [](KernelSchedule &s) {
    auto block = *s.getBlock("contract");
    APPLIES(s.padEinsum(block, {8, 1, 4}));
    auto pad = *s.getBlock("contract_pad");
    auto loops = *s.getLoops(block);
    auto parts = *s.split(loops[0], 4);
    APPLIES(s.computeAt(pad, parts.first));
    APPLIES(s.decomposePadding(pad, (*s.getLoops(pad))[1]));
    EXPECT_NE(s.operation(pad).getConditions().getDims().size(), 0u);
  });
  expectIn("tile.block \"contract_pad_pad\" spatial(", text);
}

/// Each sum of a row is computed once, and three of them are kept.
TEST(Schedule, rollsABuffer) {
  std::string text = apply("neighbours", [](KernelSchedule &s) {
    auto block = *s.getBlock("reduce");
    APPLIES(s.computeAt(block, (*s.getLoops(s.getOutputBlocks()->front()))[0]));
    APPLIES(s.rollingBuffer(block, 0));
    EXPECT_TRUE(mlir::failed(s.decomposeReduction(block, (*s.getLoops(block))[0])));
    EXPECT_TRUE(s.refusal().contains("the rolled buffer 'reduce' is written again in the loop")) << s.refusal().str();
  });
  expectIn("tile.alloc \"reduce\" {tile.rolled} : !tile.buffer<[3] x f32, local>", text);
}

TEST(Schedule, merges) {
  std::string text = apply("softmaxSymbolicRows", [](KernelSchedule &s) {
    APPLIES(s.merge({(*s.getLoops(*s.getBlock("reduce")))[0], (*s.getLoops(*s.getBlock("map")))[0]}));
  });
  expectIn("tile.for %i0_m in n", text);
}

/// The first part of a reduction has the init, the second one goes on.
TEST(Schedule, cutsAReduction) {
  std::string text = apply("matmul", [](KernelSchedule &s) {
    APPLIES(s.loopPartition((*s.getLoops(*s.getBlock("contract")))[2], {2, std::nullopt}));
  });
  expectIn("\"contract_p1\" spatial(%vi0 in 7 = %i0, %vi1 in 6 = %i1) reduced(%vk0 in 3 = %k0_p1)", text);
}

/// A loop over the first columns stays one over them, though more are inside.
TEST(Schedule, padsThePartThatIsRead) {
  std::string text = apply("paddedPrefix", [](KernelSchedule &s) {
    auto pad = *s.getBlock("map");
    APPLIES(s.computeAt(pad, (*s.getLoops(*s.getBlock("reduce")))[0]));
    APPLIES(s.decomposePadding(pad, (*s.getLoops(pad))[1]));
  });
  expectIn("tile.for %i1 in 4 {\n      tile.block \"map\"", text);
}

/// A copy for what follows is not made behind it.
TEST(Schedule, movesNoBlockBehindItsReaders) {
  (void)apply("matmul", [](KernelSchedule &s) {
    auto sum = *s.getBlock("contract");
    APPLIES(s.decomposeReduction(sum, (*s.getLoops(sum))[0]));
    auto copies = s.cacheInplace(sum, 0, "local");
    APPLIES(copies);
    EXPECT_TRUE(mlir::failed(s.reverseComputeAt(copies->front(), (*s.getLoops(copies->back()))[1])));
    expectIn("the loop is not before the block 'contract_in'", s.refusal().str());
  });
}

/// A part of it might do nothing, and yet begin the sum anew.
TEST(Schedule, partsNoLoopThatABlockIsNotOf) {
  (void)apply("gather", [](KernelSchedule &s) {
    auto unit = s.addUnitLoop((*s.getLoops(*s.getBlock("reduce")))[1]);
    APPLIES(unit);
    auto parts = s.split(*unit, {2, std::nullopt});
    APPLIES(parts);
    for (auto loop : *parts)
      EXPECT_TRUE(mlir::failed(s.loopPartition(loop, {1, std::nullopt})));
    expectIn("the block 'reduce' does not go along the loop, so each part would write all of it", s.refusal().str());
  });
}

/// Units of three panels: the second one of them has none, and their operand ends with the second panel.
TEST(Schedule, callsNoIntrinsicForPanelsThatAreNotThere) {
  std::string text = apply("packed", [](KernelSchedule &s) {
    auto loops = *s.getLoops(*s.getBlock("map"));
    auto panels = s.split(loops[1], {std::nullopt, 3, 4});
    APPLIES(panels);
    APPLIES(s.reorder({(*panels)[0], (*panels)[1], loops[0], (*panels)[2]}));
    APPLIES(s.computeAt(*s.getBlock("matmul"), (*panels)[1]));
    APPLIES(s.tensorize((*s.getLoops(*s.getBlock("matmul")))[2], "f32.block"));
  });
  expectIn("\"f32.block\"", text);
}

/// What reads a rolled buffer is not computed again behind its loop.
TEST(Schedule, inlinesNoReaderOfARolledBuffer) {
  (void)apply("neighbours", [](KernelSchedule &s) {
    auto sum = *s.getBlock("reduce"), read = *s.getBlock("map");
    APPLIES(s.cacheWrite(read, "local"));
    APPLIES(s.computeAt(sum, (*s.getLoops(read))[0]));
    APPLIES(s.rollingBuffer(sum, 0));
    EXPECT_TRUE(mlir::failed(s.computeInline(read)));
    expectIn("do this before rolling_buffer", s.refusal().str());
  });
}

TEST(Schedule, keepsEveryBit) {
  std::vector<Workload> list = workloads();
  int64_t total = std::getenv("PERPEND_LONG") ? 10000 : 400;
  if (const char *count = std::getenv("PERPEND_TRACES"))
    total = std::atoll(count);
  Random random;
  if (const char *seed = std::getenv("PERPEND_SEED"))
    random.engine.seed(std::atoi(seed));
  std::map<std::string, std::pair<int, int>> counts;
  std::vector<std::unique_ptr<ScheduleCase>> cases;
  for (const Workload &workload : list)
    cases.push_back(std::make_unique<ScheduleCase>(workload));
  for (int64_t i = 0; i < total && !HasFailure(); ++i)
    cases[i % cases.size()]->applyRandom(random, random.integer(2, 24), counts);
  int64_t vectorKernels = 0;
  for (const auto &one : cases)
    vectorKernels += one->vectorKernels();
  EXPECT_GT(vectorKernels, total / 20);
  std::cout << vectorKernels << " runs with vectors\n";
  for (const auto &[name, count] : counts)
    std::cout << name << ": " << count.first << " applied, " << count.second << " refused\n";
  // Few workloads allow these; each has a case of its own above.
  llvm::StringSet<> rare = {"fuse_reduction_epilogue", "rolling_buffer", "can_decompose_padding"};
  for (const PrimitiveInfo &primitive : primitives())
    if (primitive.name != "get_block" && (total >= 2000 || !rare.contains(primitive.name)))
      EXPECT_GT(counts[primitive.name.str()].first, 0) << primitive.name.str() << " was never applied";
}
