// The cost model tells good schedules of a kernel from bad ones.
#include "Module.h"

#include "target/TargetInfo.h"
#include "tile/cost/BlockCost.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace perpend;
using namespace perpend::tile;
using Loops = llvm::SmallVector<KernelSchedule::Loop>;

namespace {
target::Machine usualMachine() { return llvm::cantFail(target::resolveTarget("znver5")); }

/// The cost of a kernel, on a Zen 5 unless another machine is given, after some steps.
BlockCost costAfter(const std::string &arguments, const std::string &result, const std::string &body,
                    llvm::function_ref<void(KernelSchedule &)> steps, const target::Machine &machine = usualMachine()) {
  interp::Module module("func.func private @k(" + arguments + ") -> " + result +
                        " attributes {graph.symbols = [], tile.kernel} {\n" + body + "\n  return %r : " + result +
                        "\n}\n");
  mlir::PassManager passes(&module.context);
  passes.addPass(createTileBuildBlocks());
  EXPECT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
  auto kernel = module.module->lookupSymbol<mlir::func::FuncOp>("k");
  KernelSchedule schedule(kernel);
  steps(schedule);
  return costOf(kernel, machine);
}

BlockCost productAfter(llvm::function_ref<void(KernelSchedule &, const Loops &)> steps) {
  const std::string t = "tensor<512x512xf32>";
  return costAfter("%a: " + t + ", %b: " + t, t,
                   "%r = graph.contract %a, %b batch [] x [] over [1] x [0] : (" + t + ", " + t + ") -> " + t,
                   [&](KernelSchedule &s) { steps(s, *s.getLoops(*s.getBlock("contract"))); });
}

BlockCost transposeAfter(llvm::function_ref<void(KernelSchedule &, const Loops &)> steps,
                         const target::Machine &machine = usualMachine()) {
  const std::string t = "tensor<2048x2048xf32>";
  return costAfter(
      "%a: " + t, t, "%r = graph.transpose %a [1, 0] : " + t + " -> " + t,
      [&](KernelSchedule &s) { steps(s, *s.getLoops(*s.getBlock("transpose"))); }, machine);
}

void ok(mlir::LogicalResult result) { EXPECT_TRUE(mlir::succeeded(result)); }
} // namespace

/// 512 * 512 * 512 multiply-adds take 1 ms at the peak of 272 GFLOP/s.
TEST(BlockCost, countsTheArithmetic) {
  BlockCost scalars = productAfter([](KernelSchedule &, const Loops &) {});
  BlockCost vectors = productAfter([](KernelSchedule &s, const Loops &l) {
    ok(s.reorder({l[0], l[2], l[1]}));
    ok(s.vectorize(s.split(l[1], 16)->second));
  });
  EXPECT_GT(scalars.arithmetic, 4 * vectors.arithmetic); // each sum waits for the one before
  EXPECT_NEAR(vectors.arithmetic, 0.987e-3, 0.01e-3);
  EXPECT_GT(vectors.seconds(), 1.4 * vectors.arithmetic); // two loads and a store for each multiply-add
}

TEST(BlockCost, prefersBlocksInRegisters) {
  BlockCost rows = productAfter([](KernelSchedule &s, const Loops &l) {
    ok(s.reorder({l[0], l[2], l[1]}));
    ok(s.vectorize(s.split(l[1], 16)->second));
  });
  BlockCost blocks = productAfter([](KernelSchedule &s, const Loops &l) {
    auto i = *s.split(l[0], 8), j = *s.split(l[1], 16);
    ok(s.reorder({i.first, j.first, l[2], i.second, j.second}));
    ok(s.unroll(i.second));
    ok(s.vectorize(j.second));
  });
  EXPECT_LT(blocks.seconds(), rows.seconds());
  EXPECT_EQ(blocks.units, 1);
}

/// What a column reads of each line, the next column reads again: of 2048 lines the first cache has forgotten them.
TEST(BlockCost, seesWhatACacheHolds) {
  BlockCost columns = transposeAfter([](KernelSchedule &, const Loops &) {});
  BlockCost tiles = transposeAfter([](KernelSchedule &s, const Loops &l) {
    auto i = *s.split(l[0], 32), j = *s.split(l[1], 32);
    ok(s.reorder({i.first, j.first, i.second, j.second}));
  });
  EXPECT_NEAR(tiles.fromOwnCaches / columns.fromOwnCaches, 2.0 / 17, 0.02);
  EXPECT_LT(tiles.seconds(), columns.seconds());
}

/// Of 32 MiB that are read and written; the machine's caches are all, none, or some of the usual ones.
TEST(BlockCost, countsTheTrafficOfAnyCaches) {
  auto costWith = [](llvm::ArrayRef<unsigned> kept) {
    target::Machine machine = usualMachine();
    std::vector<target::Memory> caches(machine.memories.begin(), machine.memories.begin() + 3);
    caches[2].bytes /= 4; // holds neither operand
    machine.memories = {{"local"}};
    for (unsigned number : kept)
      machine.memories.push_back(caches[number]);
    return transposeAfter([](KernelSchedule &, const Loops &) {}, machine);
  };
  BlockCost all = costWith({0, 1, 2}), none = costWith({}), shared = costWith({2}), own = costWith({0, 1});
  EXPECT_TRUE(all.fromOwnCaches > 0 && all.fromSharedCaches > 0 && all.fromMemory > 0);
  EXPECT_TRUE(none.fromOwnCaches == 0 && none.fromSharedCaches == 0);
  EXPECT_GE(none.fromMemory, own.fromMemory);
  EXPECT_TRUE(shared.fromOwnCaches == 0 && shared.fromSharedCaches == 0); // loads and stores find it there
  EXPECT_EQ(shared.fromMemory, all.fromMemory);
  EXPECT_TRUE(own.fromOwnCaches == all.fromOwnCaches && own.fromSharedCaches == 0);
  EXPECT_GE(own.fromMemory, all.fromMemory);
}

TEST(BlockCost, hasTheUnitsOfTheParallelLoop) {
  BlockCost cost = transposeAfter([](KernelSchedule &s, const Loops &l) { ok(s.parallel(s.split(l[0], 64)->first)); });
  EXPECT_EQ(cost.units, 32);
}

/// A line of 128 bytes is 32 numbers.
TEST(Prefetches, areOfTheTargetsLines) {
  interp::Module module(R"(
func.func private @k(%x: !tile.buffer<[20, 320] x f32>, %y: !tile.buffer<[20, 320] x f32>) attributes {tile.kernel} {
  tile.for %f in 20 parallel attributes {prefetch = 1 : i64} {
    tile.for %i in 320 {
      tile.block "copy" spatial(%vi in 20 = %f, %vj in 320 = %i) {
        %v = tile.load %x[%vi, %vj] : !tile.buffer<[20, 320] x f32>
        tile.store %v, %y[%vi, %vj] : !tile.buffer<[20, 320] x f32>
      }
    }
  }
  return
})");
  target::TargetInfo machine = llvm::cantFail(target::resolveTarget("znver5"));
  machine.memories.front().lineBytes = 128;
  mlir::PassManager passes(&module.context);
  passes.addPass(createTileFlattenBlocks({machine}));
  ASSERT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
  unsigned loops = 0;
  module.module->walk([&](mlir::memref::PrefetchOp op) {
    loops += mlir::getConstantIntValue(op->getParentOfType<mlir::scf::ForOp>().getStep()) == 32;
  });
  EXPECT_EQ(loops, 2u);
}
