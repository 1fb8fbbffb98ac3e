//===- SamplingTest.cpp - decisions that are drawn, and those that are given //

#include "Module.h"
#include "Workloads.h"

#include "tile/passes/Passes.h"
#include "tile/schedule/Primitives.h"

#include "mlir/Pass/PassManager.h"

using namespace perpend::tile;
using perpend::interp::Module;

namespace {
/// The kernel of a workload, as blocks.
class Scheduled {
public:
  explicit Scheduled(const std::string &name) : module(textOf(name)) {
    mlir::PassManager passes(&module.context);
    passes.addPass(createTileBuildBlocks());
    EXPECT_TRUE(mlir::succeeded(passes.run(*module.module)));
    kernel = module.module->lookupSymbol<mlir::func::FuncOp>("k");
  }

  std::string text() {
    std::string result;
    llvm::raw_string_ostream(result) << kernel;
    return result;
  }

  Module module;
  mlir::func::FuncOp kernel;

private:
  static std::string textOf(const std::string &name) {
    std::vector<Workload> list = workloads();
    return llvm::find_if(list, [&](const Workload &workload) { return workload.name == name; })->text();
  }
};

std::string traceOf(const KernelSchedule &schedule) {
  std::string text;
  for (const TraceInstruction &instruction : schedule.trace())
    text += instruction.str() + "\n";
  return text;
}

void sampleAll(KernelSchedule &s) {
  auto block = *s.getBlock("contract");
  auto loops = *s.getLoops(block);
  (void)s.samplePerfectTile(loops[1], 3, 4, std::nullopt);
  (void)s.samplePartitionedTile(loops[1], 3, 1, 2, std::nullopt);
  (void)s.sampleCategorical({16, 32, 64}, {1, 0, 3}, std::nullopt);
}
} // namespace

/// The text is the same wherever this test runs.
TEST(Sampling, isTheSameForASeed) {
  Scheduled kernel("matmul");
  std::string traces[3];
  for (uint64_t seed : {0, 1, 2}) {
    KernelSchedule schedule(kernel.kernel);
    schedule.setSeed(seed);
    sampleAll(schedule);
    traces[seed] = traceOf(schedule);
  }
  EXPECT_EQ(traces[1], "%contract = get_block \"contract\"\n%i0, %i1, %k0 = get_loops %contract\n"
                       "%f, %f_1, %f_2 = sample_perfect_tile %i1, 3, 4, decision = [1, 2, 3]\n"
                       "%f_3, %f_4, %f_5 = sample_partitioned_tile %i1, 3, 1, 2, decision = [3, 1, 2]\n"
                       "%c = sample_categorical [16, 32, 64], [1, 0, 3], decision = 2\n");
  EXPECT_FALSE(traces[0] == traces[1] && traces[1] == traces[2]);
}

/// A sampled factor is an operand by its name; another decision gives another kernel.
TEST(Sampling, decidesWhatFollows) {
  std::string results[2];
  for (const char *decision : {"[3, 2]", "[1, 6]"}) {
    Scheduled kernel("matmul");
    KernelSchedule schedule(kernel.kernel);
    std::string last = std::string("decision = ") + decision;
    TraceInstruction trace[] = {{"get_block", {"%b"}, {"\"contract\""}},
                                {"get_loops", {"%i", "%j", "%k"}, {"%b"}},
                                {"sample_perfect_tile", {"%x", "%y"}, {"%j", "2", "16", last}},
                                {"split", {"%j0", "%j1"}, {"%j", "[%x, %y]"}}};
    ASSERT_TRUE(mlir::succeeded(schedule.replay(trace))) << schedule.refusal().str();
    EXPECT_NE(
        traceOf(schedule).find("%x, %y = sample_perfect_tile %j, 2, 16, " + last + "\n%j0, %j1 = split %j, [%x, %y]\n"),
        std::string::npos)
        << traceOf(schedule);
    results[decision[1] == '1'] = kernel.text();
  }
  EXPECT_NE(results[0].find("tile.for %i1_0 in 3"), std::string::npos) << results[0];
  EXPECT_NE(results[1].find("tile.for %i1_0 in 1"), std::string::npos) << results[1];
}

TEST(Sampling, numbersAreNoLoops) {
  Scheduled kernel("matmul");
  KernelSchedule schedule(kernel.kernel);
  (void)schedule.sampleCategorical({2}, {1}, std::nullopt);
  EXPECT_TRUE(mlir::failed(schedule.apply({"unroll", {}, {"%c"}})));
  EXPECT_EQ(schedule.refusal(), "unroll: expected a loop or a block, got the number %c");
  EXPECT_TRUE(mlir::failed(schedule.apply({"sample_categorical", {}, {"[2]", "[1]", "decision = 1"}})));
  EXPECT_EQ(schedule.refusal(), "sample_categorical: expected a decision from 0 to 0, got 1");
}
