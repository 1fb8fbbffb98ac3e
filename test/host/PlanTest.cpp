//===- PlanTest.cpp - plans by properties -----------------------------------===//
//
// Random graphs of kernels, some of which a device runs, are planned; the program
// computes what the graph does, and a plan with one flaw is found.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "host/LiveRanges.h"
#include "host/Strategy.h"
#include "host/VerifyProgram.h"

using namespace mlir;
using namespace perpend;

TEST(Plan, programsComputeWhatTheGraphDoes) {
  ArrayRef<llvm::StringLiteral> strategies = host::strategyNames();
  for (unsigned seed = 0; seed < numberOfPrograms(300); ++seed)
    for (bool condition : {false, true}) {
      PlannedModule graph(seed), program(seed);
      std::vector<interp::Tensor> expected = graph.run(inputsOf(graph, condition));
      ASSERT_EQ(expected.size(), 2u) << graph.messages;
      ASSERT_TRUE(program.plan(strategies[seed % strategies.size()])) << program.messages;
      ASSERT_TRUE(program.isRight()) << program.messages;
      std::vector<interp::Tensor> got = program.run(inputsOf(program, condition));
      ASSERT_EQ(got.size(), 2u) << program.messages;
      for (unsigned i : {0u, 1u})
        ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>())) << "seed " << seed;
    }
}

TEST(Plan, aShorterLifetimeIsFound) {
  unsigned tried = 0, found = 0;
  for (unsigned seed = 0; tried < 100; ++seed) {
    PlannedModule module(seed);
    ASSERT_TRUE(module.plan());
    host::LiveRanges ranges = host::liveRangesOf(module.entry());
    for (auto &[buffer, range] : ranges.buffers) {
      host::BufferOp planned(buffer);
      for (auto [first, last] : {std::pair(range.first + 1, range.last), {range.first, range.last - 1}}) {
        planned.setLive(ArrayRef<int64_t>{first, last});
        EXPECT_FALSE(module.isRight()) << "seed " << seed;
        found += StringRef(module.messages).contains("P1: ");
        ++tried;
      }
      planned.setLive(ArrayRef<int64_t>{range.first, range.last});
    }
    EXPECT_TRUE(module.isRight()) << module.messages;
  }
  report(found, tried);
}

/// Two buffers of one size that live at one time, at each other's offset, are the same plan; at one offset they are
/// not.
TEST(Plan, buffersThatOverlapAreFound) {
  unsigned tried = 0, found = 0;
  for (unsigned seed = 0; tried < 100; ++seed) {
    PlannedModule module(seed);
    ASSERT_TRUE(module.plan());
    host::LiveRanges ranges = host::liveRangesOf(module.entry());
    for (auto &[first, firstRange] : ranges.buffers)
      for (auto &[second, secondRange] : ranges.buffers) {
        host::BufferOp a(first), b(second);
        bool meet = firstRange.first <= secondRange.last && secondRange.first <= firstRange.last;
        if (a == b || !meet || !a.getOffset())
          continue;
        uint64_t before = *b.getOffset();
        b.setOffset(*a.getOffset());
        EXPECT_FALSE(module.isRight());
        found += StringRef(module.messages).contains("P3: ");
        b.setOffset(before);
        ++tried;
      }
  }
  report(found, tried);
}

TEST(Plan, placesThatAreExchangedAreFound) {
  unsigned tried = 0, found = 0;
  for (unsigned seed = 0; tried < 100; ++seed) {
    PlannedModule module(seed);
    ASSERT_TRUE(module.plan());
    std::vector<host::LaunchOp> launches;
    module.entry().walk([&](host::LaunchOp launch) { launches.push_back(launch); });
    for (host::LaunchOp launch : launches) {
      auto isOwn = [](Value place) {
        auto op = place.getDefiningOp<host::PlaceOp>();
        return op && op.getSource().getDefiningOp<host::BufferOp>();
      };
      Value input = launch.getInputs()[0], output = launch.getOutputs()[0];
      if (!isOwn(input) || !isOwn(output) || launch->getParentOp() != module.entry())
        continue;
      launch.getInputsMutable()[0].set(output);
      launch.getOutputsMutable()[0].set(input);
      found += !module.isRight();
      launch.getInputsMutable()[0].set(input);
      launch.getOutputsMutable()[0].set(output);
      ++tried;
    }
  }
  report(found, tried);
}

//===----------------------------------------------------------------------===//
// Rooms
//===----------------------------------------------------------------------===//

namespace {
std::vector<interp::Tensor> inputsFromData(interp::Module &module, bool condition) {
  int8_t flag = condition;
  return {interp::Tensor::of<float>(module.type("f32"), {4}, std::vector<float>{1, -2, 3, 4}),
          interp::Tensor::of<int8_t>(module.type("i1"), {}, flag),
          interp::Tensor::of<int64_t>(module.type("i64"), {}, int64_t{3})};
}

/// The numbers of rooms, and how many have another one's.
std::pair<unsigned, unsigned> countRooms(host::EntryOp entry) {
  return {entry.roomCount(), llvm::range_size(entry.getBody().getOps<host::RoomOp>()) - entry.roomCount()};
}
} // namespace

TEST(Rooms, shareMemoryUnlessApart) {
  unsigned shared = 0;
  for (unsigned seed = 0; seed < numberOfPrograms(100); ++seed)
    for (StringRef strategy : {"best", "apart"}) {
      SCOPED_TRACE(seed);
      PlannedModule graph(seed, false, true), program(seed, false, true);
      std::vector<interp::Tensor> expected = graph.run(inputsFromData(graph, seed % 2));
      ASSERT_EQ(expected.size(), 2u) << graph.messages;
      ASSERT_TRUE(program.plan(strategy)) << program.messages;
      ASSERT_TRUE(program.isRight()) << program.messages;
      auto [rooms, others] = countRooms(program.entry());
      shared += others;
      if (strategy == "apart")
        EXPECT_EQ(others, 0u);
      std::vector<interp::Tensor> got = program.run(inputsFromData(program, seed % 2));
      ASSERT_EQ(got.size(), 2u) << program.messages;
      for (unsigned i : {0u, 1u})
        ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
    }
  EXPECT_GT(shared, 50u);
}

/// Two rooms in one number whose values are alive at one time. The last number may then be left out, which is found,
/// too, so it is given to the other room.
TEST(Rooms, twoLiveOnesInOneNumberAreFound) {
  unsigned tried = 0, found = 0;
  for (unsigned seed = 0; tried < 100; ++seed) {
    PlannedModule module(seed, false, true);
    ASSERT_TRUE(module.plan());
    host::LiveRanges ranges = host::liveRangesOf(module.entry());
    for (auto &[first, firstRange] : ranges.rooms)
      for (auto &[second, secondRange] : ranges.rooms) {
        host::RoomOp a(first), b(second);
        if (a == b || !firstRange.meets(secondRange))
          continue;
        uint64_t before = b.getNumber();
        b.setNumber(a.getNumber());
        OpBuilder builder(b);
        auto spare = builder.create<host::RoomOp>(b.getLoc(), b.getRoom().getType(), before);
        EXPECT_FALSE(module.isRight());
        found += StringRef(module.messages).contains("P7: ");
        spare.erase();
        b.setNumber(before);
        ++tried;
      }
    EXPECT_TRUE(module.isRight()) << module.messages;
  }
  report(found, tried);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST(Devices, programsComputeWhatTheGraphDoes) {
  const target::Machine machine = machineWithDevice();
  unsigned launches = 0, copies = 0;
  for (unsigned seed = 0; seed < numberOfPrograms(150); ++seed)
    for (bool condition : {false, true}) {
      SCOPED_TRACE(seed);
      PlannedModule graph(seed, true), program(seed, true);
      std::vector<interp::Tensor> expected = graph.run(inputsOf(graph, condition));
      ASSERT_EQ(expected.size(), 2u) << graph.messages;
      ASSERT_TRUE(program.plan(seed % 2 ? "best" : "greedy-by-use", machine)) << program.messages;
      ASSERT_TRUE(program.isRight()) << program.messages;
      ASSERT_TRUE(succeeded(host::verifyDevices(*program.module, machine))) << program.messages;
      program.entry().walk([&](host::LaunchOp launch) { launches += launch.getEvent() != nullptr; });
      program.entry().walk([&](host::CopyOp copy) { copies += copy.getEvent() != nullptr; });
      std::vector<interp::Tensor> got = program.run(inputsOf(program, condition));
      ASSERT_EQ(got.size(), 2u) << program.messages;
      for (unsigned i : {0u, 1u})
        ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
    }
  EXPECT_GT(launches, 150u);
  EXPECT_GT(copies, 150u);
}

/// By the verifier in every program, and by a run if that comes to where the wait was and has not waited in a region
/// before. Offsets that binding chooses may keep two buffers apart that the verifier has to take for one.
TEST(Devices, aMissingWaitIsFound) {
  const target::Machine machine = machineWithDevice();
  std::mt19937 random(7);
  unsigned found = 0, foundByRun = 0, run = 0;
  for (unsigned seed = 0; found < 100 || run <= 10; ++seed) {
    SCOPED_TRACE(seed);
    PlannedModule module(seed, true);
    ASSERT_TRUE(module.plan("best", machine)) << module.messages;
    std::vector<OpOperand *> waits = waitsIn(module.entry());
    if (waits.empty())
      continue;
    OpOperand &wait = *waits[random() % waits.size()];
    auto isControl = [](Operation &op) { return isa<host::IfOp, host::LoopOp>(op); };
    bool isStraight = llvm::none_of(module.entry().getBody().front(), isControl);
    bool hasOffsets = llvm::all_of(module.entry().getBody().getOps<host::BufferOp>(),
                                   [](host::BufferOp buffer) { return buffer.getOffset().has_value(); });
    removeWait(wait);
    EXPECT_FALSE(module.isRight());
    EXPECT_TRUE(StringRef(module.messages).contains("A1: ") || StringRef(module.messages).contains("A2: "));
    ++found;
    if (!isStraight || !hasOffsets)
      continue;
    ++run;
    module.messages.clear();
    foundByRun += module.run(inputsOf(module, true)).empty();
    EXPECT_NE(module.messages.find("may still run"), std::string::npos) << module.messages;
  }
  EXPECT_EQ(foundByRun, run);
}
