//===- CostTest.cpp - the cost of schedules against the simulator ---------===//
//
// Each nest in all ways from which the compiler chooses: the estimate of a way ranks it as its cycles do.
// bench/quoin.py puts the correlations into docs/quoin/performance.md.
//
//===----------------------------------------------------------------------===//

#include "target/quoin/compile/Cost.h"
#include "target/quoin/Simulator.h"
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/Vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace perpend::quoin::test {
namespace {

struct Way {
  double estimated = 0, simulated = 0;
};
using Ways = std::vector<Way>;
using Strides = llvm::SmallVector<int64_t, 6>;

/// A sum of products, or of the left operand alone; or without reduced loops, a map of it.
struct Case {
  const char *name;
  std::vector<NestLoop> loops;
  Strides left, right, store;
  bool isVector = false;
  DType type = DType::F16;
};

constexpr uint64_t bufferBytes = 64 << 20;

Nest nestOf(const Case &each) {
  Nest nest;
  nest.name = each.name;
  nest.loops = each.loops;
  const bool isReduced = llvm::any_of(each.loops, [](const NestLoop &loop) { return loop.isReduced; });
  auto add = [&](Node node) {
    nest.nodes.push_back(std::move(node));
    return static_cast<unsigned>(nest.nodes.size() - 1);
  };
  auto load = [&](unsigned buffer, const Strides &strides) {
    return add({Node::Load, each.type, {buffer, 0, strides}, 0, Opcode::mov, {}});
  };
  auto apply = [&](Opcode opcode, llvm::SmallVector<unsigned, 3> operands) {
    return add({Node::Apply, isReduced ? DType::F32 : each.type, {}, 0, opcode, std::move(operands)});
  };
  nest.value = load(0, each.left);
  if (isReduced)
    nest.value = apply(Opcode::cvt, {nest.value});
  if (!each.right.empty()) {
    unsigned right = load(1, each.right);
    if (isReduced)
      right = apply(Opcode::cvt, {right});
    nest.value = apply(Opcode::mul, {nest.value, right});
  }
  nest.store = {2, 0, each.store};
  nest.type = isReduced ? DType::F32 : each.type;
  if (isReduced)
    nest.combine = Opcode::add;
  return nest;
}

uint64_t cyclesOf(Program program, std::vector<Instruction> instructions) {
  Instruction halt;
  halt.opcode = Opcode::halt;
  instructions.push_back(halt);
  program.cores = {std::move(instructions)};
  SimulatorOptions options;
  options.mode = SimulatorMode::Time;
  auto simulator = llvm::cantFail(Simulator::create(std::move(program), options));
  const std::optional<Trap> trap = simulator->run();
  EXPECT_FALSE(trap) << trap->toString();
  return simulator->counters().cycles;
}

Ways waysOf(const Case &each) {
  Program program;
  program.config = *configNamed("qn-c1");
  for (unsigned buffer = 0; buffer < 3; ++buffer)
    program.symbols.push_back(
        {"b" + std::to_string(buffer), Symbol::Kind::Scratch, Space::DDR, 0, buffer * bufferBytes, bufferBytes});
  const Spot places[] = {{Space::DDR, 0}, {Space::DDR, bufferBytes}, {Space::DDR, 2 * bufferBytes}};
  std::vector<Instruction> instructions;
  Stream stream(program, instructions);
  Ways ways;
  double least = std::numeric_limits<double>::infinity();
  constexpr double slow = 4; // those that take as much longer are not simulated, which would take minutes
  auto visit = [&] {
    const uint64_t estimated = estimatedCycles(stream.current(), program.config, 1);
    least = std::min(least, double(estimated));
    if (double(estimated) > slow * least)
      return;
    const Stream::State before = stream.state();
    stream.end();
    ways.push_back({double(estimated), double(cyclesOf(program, instructions))});
    stream.restore(before);
  };
  const Nest nest = simplified(nestOf(each));
  (each.isVector ? forEachVectorWay : forEachMatrixWay)(nest, places, program.config, stream, 1, visit);
  return ways;
}

/// The mean of the places that equal values have.
std::vector<double> ranksOf(const Ways &ways, double Way::*value) {
  std::vector<double> ranks;
  for (const Way &way : ways) {
    double rank = 0;
    for (const Way &other : ways)
      rank += other.*value < way.*value ? 1 : other.*value == way.*value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

/// Spearman's; 1 if all ways take the same time.
double correlationOf(const Ways &ways) {
  const std::vector<double> a = ranksOf(ways, &Way::estimated), b = ranksOf(ways, &Way::simulated);
  const double mean = double(ways.size()) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    ab += (x - mean) * (y - mean);
    aa += (x - mean) * (x - mean);
    bb += (y - mean) * (y - mean);
  }
  return aa == 0 || bb == 0 ? 1 : ab / std::sqrt(aa * bb);
}

const Case cases[] = {
    {"product", {{512}, {512}, {512, true}}, {512, 0, 1}, {0, 1, 512}, {512, 1, 0}},
    {"product_transposed", {{256}, {384}, {320, true}}, {320, 0, 1}, {0, 320, 1}, {384, 1, 0}},
    {"product_thin", {{64}, {1000}, {2048, true}}, {2048, 0, 1}, {0, 1, 1000}, {1000, 1, 0}},
    {"products", {{12}, {128}, {128}, {64, true}}, {8192, 64, 0, 1}, {8192, 0, 1, 128}, {16384, 128, 1, 0}},
    {"pointwise", {{3136}, {128}, {64, true}}, {64, 0, 1}, {0, 1, 128}, {128, 1, 0}},
    {"convolution",
     {{56}, {56}, {64}, {3, true}, {3, true}, {32, true}},
     {1856, 32, 0, 1856, 32, 1},
     {0, 0, 1, 6144, 2048, 64},
     {3584, 64, 1, 0, 0, 0}},
    {"convolution_strided",
     {{28}, {28}, {64}, {3, true}, {3, true}, {64, true}},
     {7424, 128, 0, 3712, 64, 1},
     {0, 0, 1, 12288, 4096, 64},
     {1792, 64, 1, 0, 0, 0}},
    {"map", {{1000}, {1000}}, {1000, 1}, {0, 1}, {1000, 1}, true},
    {"transpose", {{512}, {1024}}, {1, 512}, {}, {1024, 1}, true},
    {"depthwise",
     {{56}, {56}, {64}, {3, true}, {3, true}},
     {3712, 64, 1, 3712, 64},
     {0, 0, 1, 192, 64},
     {3584, 64, 1, 0, 0},
     true},
    {"sums_of_rows", {{999}, {777, true}}, {777, 1}, {}, {1, 0}, true},
    {"sums_of_columns", {{1024}, {500, true}}, {1, 1024}, {}, {1, 0}, true},
};

TEST(Cost, RanksSchedulesAsTheSimulatorDoes) {
  double sum = 0;
  size_t schedules = 0;
  for (const Case &each : cases) {
    const Ways ways = waysOf(each);
    ASSERT_GE(ways.size(), 4u) << each.name;
    const double correlation = correlationOf(ways);
    double error = 0;
    for (const Way &way : ways)
      error += std::abs(way.estimated / way.simulated - 1) / double(ways.size());
    RecordProperty(each.name,
                   std::to_string(ways.size()) + " " + std::to_string(correlation) + " " + std::to_string(error));
    sum += correlation;
    schedules += ways.size();
  }
  EXPECT_GE(sum / std::size(cases), 0.95);
  EXPECT_GE(schedules, 100u);
}

} // namespace
} // namespace perpend::quoin::test
