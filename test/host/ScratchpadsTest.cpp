//===- ScratchpadsTest.cpp - in which memory values lie ---------------------===//
//
// Random graphs of kernels, half of which run on a device with two scratchpads
// beside its large memory.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "host/Arena.h"
#include "host/Devices.h"
#include "host/Strategy.h"
#include "host/VerifyProgram.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace perpend;

namespace {
StringRef memoryOf(host::BufferOp buffer) { return buffer.getMemory().getType().getMemory().getValue(); }

/// Values have 256 bytes: one fits the first scratchpad, two the second.
target::Machine machineWithScratchpads() { return perpend::machineWithScratchpads(256, 512); }

bool canRun(PlannedModule &module, const target::Machine &machine) {
  return module.isRight() && succeeded(host::verifyDevices(*module.module, machine));
}
} // namespace

TEST(Scratchpads, programsComputeWhatTheGraphDoes) {
  const target::Machine machine = machineWithScratchpads();
  std::map<std::string, unsigned> buffers;
  for (unsigned seed = 0; seed < numberOfPrograms(150); ++seed) {
    SCOPED_TRACE(seed);
    PlannedModule graph(seed, true), program(seed, true);
    std::vector<interp::Tensor> expected = graph.run(inputsOf(graph, seed % 3));
    ASSERT_EQ(expected.size(), 2u) << graph.messages;
    ArrayRef<llvm::StringLiteral> strategies = host::strategyNames();
    ASSERT_TRUE(program.plan(strategies[seed % strategies.size()], machine)) << program.messages;
    ASSERT_TRUE(canRun(program, machine)) << program.messages;
    for (auto buffer : program.entry().getBody().getOps<host::BufferOp>())
      ++buffers[memoryOf(buffer).str()];
    std::vector<interp::Tensor> got = program.run(inputsOf(program, seed % 3));
    ASSERT_EQ(got.size(), 2u) << program.messages;
    for (unsigned i : {0u, 1u})
      ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
  }
  for (const char *memory : {"tiny", "near", "far"})
    EXPECT_GT(buffers[memory], 10u) << memory;
}

/// A scratchpad that is a byte too small, a value in a memory that its kernel does not reach, two in one place, and a
/// missing wait: each is found in each program.
TEST(Scratchpads, eachFlawIsFound) {
  std::mt19937 random(11);
  unsigned tried = 0, sizes = 0, memories = 0, places = 0, triedPlaces = 0, waits = 0;
  for (unsigned seed = 0; tried < 100 || triedPlaces < 100; ++seed) {
    target::Machine machine = machineWithScratchpads();
    auto planned = [&](PlannedModule &module) {
      EXPECT_TRUE(module.plan("best", machine) && canRun(module, machine)) << module.messages;
    };
    PlannedModule module(seed, true);
    planned(module);
    std::vector<host::BufferOp> near;
    for (auto buffer : module.entry().getBody().getOps<host::BufferOp>())
      if (memoryOf(buffer) == "tiny" || memoryOf(buffer) == "near")
        near.push_back(buffer);
    if (near.empty())
      continue;
    ++tried;
    host::LiveRanges ranges = host::liveRangesOf(module.entry());
    host::BufferOp buffer = near[random() % near.size()];
    const std::string memory = memoryOf(buffer).str();
    for (target::Memory &each : machine.mainMemories)
      if (each.name == memory)
        each.bytes = host::planArena(module.entry(), memory, ranges, host::constantSizeOf)->bytes - 1;
    EXPECT_FALSE(canRun(module, machine));
    sizes += StringRef(module.messages).contains("M5: ");
    machine = machineWithScratchpads();

    for (host::BufferOp a : near)
      for (host::BufferOp b : near)
        if (a != b && memoryOf(a) == memoryOf(b) && ranges.buffers.lookup(a).meets(ranges.buffers.lookup(b))) {
          uint64_t before = *b.getOffset();
          b.setOffset(*a.getOffset());
          EXPECT_FALSE(canRun(module, machine));
          places += StringRef(module.messages).contains("P3: ");
          b.setOffset(before);
          ++triedPlaces;
        }

    machine.mainMemories.push_back({"other"});
    host::setMemory(buffer.getMemory(), "other");
    EXPECT_FALSE(canRun(module, machine));
    memories += StringRef(module.messages).contains("M2: ") || StringRef(module.messages).contains("M4: ");
    machine.mainMemories.pop_back();
    PlannedModule other(seed, true);
    planned(other);
    std::vector<OpOperand *> events = waitsIn(other.entry());
    removeWait(*events[random() % events.size()]);
    waits += !canRun(other, machine);
  }
  report(sizes, tried);
  report(memories, tried);
  report(places, triedPlaces);
  report(waits, tried);
}

/// What main says is done, over two links where that is needed.
TEST(Scratchpads, aValueLiesWhereMainSays) {
  const target::Machine machine = machineWithScratchpads();
  unsigned tried = 0, onTheWay = 0;
  for (unsigned seed = 0; tried < 50; ++seed) {
    PlannedModule graph(seed, true), module(seed, true);
    std::vector<graph::CallKernelOp> calls;
    module.module->walk([&](graph::CallKernelOp call) {
      if (call.getKernel().ends_with("_far"))
        calls.push_back(call);
    });
    if (calls.empty() || StringRef(randomProgram(seed, true)).contains("tensor<?x"))
      continue;
    SCOPED_TRACE(seed);
    ++tried;
    Builder builder(&module.context);
    calls.back()->setAttr(host::memoriesAttribute, builder.getStrArrayAttr({"tiny"}));
    ASSERT_TRUE(module.plan("best", machine)) << module.messages;
    ASSERT_TRUE(canRun(module, machine)) << module.messages;
    unsigned pinned = 0;
    for (auto buffer : module.entry().getBody().getOps<host::BufferOp>())
      if (buffer->hasAttr(host::pinnedAttribute)) {
        ++pinned;
        EXPECT_EQ(memoryOf(buffer), "tiny");
      }
    EXPECT_EQ(pinned, 1u);
    module.entry().walk([&](host::CopyOp copy) {
      onTheWay += copy.getSource().getType().getMemory() == "tiny" && copy.getTarget().getType().getMemory() == "far";
    });
    std::vector<interp::Tensor> expected = graph.run(inputsOf(graph, true)), got = module.run(inputsOf(module, true));
    ASSERT_EQ(got.size(), 2u) << module.messages;
    for (unsigned i : {0u, 1u})
      ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
  }
  EXPECT_GT(onTheWay, 10u);
}

/// A size that a symbol decides does not fit a memory that has an end, unless a bound says so.
TEST(Scratchpads, sizesOfSymbols) {
  target::Machine machine = machineWithScratchpads();
  machine.mainMemories = {{.name = "tiny", .bytes = 256}};
  machine.devices[0].reads = machine.devices[0].writes = {"tiny"};
  machine.links = {{"host", "tiny", true}, {"tiny", "host", true}};
  unsigned tried = 0;
  for (unsigned seed = 0; tried < 20; ++seed) {
    if (!StringRef(randomProgram(seed, true)).contains("tensor<?x"))
      continue;
    PlannedModule module(seed, true);
    ASSERT_TRUE(module.plan("best", machine)) << module.messages;
    if (llvm::none_of(module.entry().getBody().getOps<host::BufferOp>(),
                      [](host::BufferOp buffer) { return memoryOf(buffer) == "tiny"; }))
      continue;
    ++tried;
    EXPECT_FALSE(canRun(module, machine));
    EXPECT_TRUE(StringRef(module.messages).contains("M5: the values' sizes depend on symbols in 'tiny'"))
        << module.messages;
  }
}

TEST(Scratchpads, namesOfMachines) {
  struct Wrong {
    std::function<void(target::Machine &)> change;
    const char *message;
  };
  const Wrong all[] = {
      {[](target::Machine &machine) { machine.mainMemories.push_back({"near"}); },
       "two memories of main are called 'near'"},
      {[](target::Machine &machine) { machine.mainMemories[0].name = "host"; },
       "two memories of main are called 'host'"},
      {[](target::Machine &machine) { machine.devices.push_back(machine.devices[0]); },
       "two devices are called 'device'"},
      {[](target::Machine &machine) { machine.devices[0].reads.push_back("nowhere"); },
       "device 'device' names 'nowhere', which is no memory of main"},
      {[](target::Machine &machine) { machine.devices[0].writes.clear(); }, "device 'device' names no memory of main"},
      {[](target::Machine &machine) { machine.links[0].to = "nowhere"; },
       "a link names 'nowhere', which is no memory of main"}};
  for (const Wrong &wrong : all) {
    target::Machine machine = machineWithScratchpads();
    EXPECT_EQ(machine.flaw(), "");
    wrong.change(machine);
    EXPECT_EQ(machine.flaw(), wrong.message);
    PlannedModule module(0, true);
    EXPECT_FALSE(module.plan("best", machine));
    EXPECT_NE(module.messages.find(wrong.message), std::string::npos) << module.messages;
  }
}

namespace {
/// `change` for each call of a kernel with such a name; returns their number.
template <typename F> unsigned changeCalls(PlannedModule &module, StringRef ending, F change) {
  unsigned calls = 0;
  module.module->walk([&](graph::CallKernelOp call) {
    if (call.getKernel().ends_with(ending))
      change(call), ++calls;
  });
  return calls;
}
} // namespace

/// Results lie where main says, and the program computes what it did.
TEST(Scratchpads, mainSaysWhereValuesLie) {
  target::Machine machine = perpend::machineWithScratchpads(256, 1 << 20);
  unsigned tried = 0;
  for (unsigned seed = 0; tried < 20; ++seed) {
    SCOPED_TRACE(seed);
    PlannedModule graph(seed, true), program(seed, true);
    Builder b(&program.context);
    if (!changeCalls(program, "_far", [&](graph::CallKernelOp call) {
          call->setAttr(host::memoriesAttribute, b.getStrArrayAttr({"near"}));
        }))
      continue;
    ASSERT_TRUE(program.plan("best", machine)) << program.messages;
    bool isStatic = canRun(program, machine);
    if (!isStatic)
      continue; // a size that depends on n fits no memory with an end
    ++tried;
    program.entry().walk([&](host::LaunchOp launch) {
      if (launch.getDevice())
        EXPECT_EQ(cast<host::PlaceType>(launch.getOutputs()[0].getType()).getMemory(), "near");
    });
    std::vector<interp::Tensor> expected = graph.run(inputsOf(graph, true)), got = program.run(inputsOf(program, true));
    ASSERT_EQ(got.size(), 2u) << program.messages;
    for (unsigned i : {0u, 1u})
      ASSERT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
  }
}

/// Also on machines without devices, where nothing else reads the attribute.
TEST(Scratchpads, whatMainMayNotSay) {
  const target::Machine machine = machineWithScratchpads(), alone;
  for (const char *text : {"[]", "\"near\"", "[1]", "[\"near\", \"near\"]", "[\"nowhere\"]", "[\"host\"]"})
    for (const target::Machine *each : {&machine, &alone}) {
      const bool hasDevice = each == &machine;
      PlannedModule module(1, hasDevice);
      Attribute wrong = parseAttribute(text, &module.context);
      if (!hasDevice && StringRef(text) == "[\"host\"]")
        continue; // where its kernels write
      ASSERT_GT(changeCalls(module, hasDevice ? "_far" : "",
                            [&](graph::CallKernelOp call) { call->setAttr(host::memoriesAttribute, wrong); }),
                0u);
      EXPECT_FALSE(module.plan("best", *each)) << text;
      EXPECT_NE(module.messages.find("host.memories: expected a name for each of 1 results, of a memory in which"),
                std::string::npos)
          << module.messages;
    }
}

/// Constants that main brings somewhere itself, as they are and reshaped, for readers in other memories.
TEST(Scratchpads, constantsThatMainMoves) {
  const char *text = R"(
func.func @main() -> (tensor<4x16xf32>, tensor<16x4xf32>) {
  %w = graph.constant dense<3.0> : tensor<16x4xf32> : tensor<16x4xf32>
  %f = host.transfer %w to "far" {host.pinned} : tensor<16x4xf32>
  %y = graph.call_kernel @negate(%f) : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %r = graph.reshape %w : tensor<16x4xf32> -> tensor<4x16xf32>
  %g = host.transfer %r to "near" : tensor<4x16xf32>
  return %g, %y : tensor<4x16xf32>, tensor<16x4xf32>
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: index)
    attributes {tile.kernel, graph.symbols = [], tile.extent = #graph.shape<[64]>} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %z = arith.negf %x : f32
    memref.store %z, %r[%i] : memref<?xf32>
  }
  return
})";
  const target::Machine machine = machineWithScratchpads();
  PlannedModule module(text);
  ASSERT_TRUE(module.module && module.plan("best", machine)) << module.messages;
  ASSERT_TRUE(canRun(module, machine)) << module.messages;
  std::vector<interp::Tensor> got = module.run({});
  ASSERT_EQ(got.size(), 2u) << module.messages;
  for (unsigned i : {0u, 1u})
    EXPECT_TRUE(llvm::all_of(got[i].elements<float>(), [&](float x) { return x == (i ? -3 : 3); }));
}

/// Also if nobody asks for copies: a device that the machine has not.
TEST(Scratchpads, aDeviceThatIsNotThere) {
  PlannedModule module(1, true);
  EXPECT_FALSE(module.plan("best", target::Machine()));
  EXPECT_NE(module.messages.find("expected one of the devices of"), std::string::npos) << module.messages;
}
