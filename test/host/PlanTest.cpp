//===- PlanTest.cpp - plans by properties -----------------------------------===//
//
// Random graphs of kernels, some of which a device runs, are planned; the program
// computes what the graph does, and a plan with one flaw is found.
//
//===----------------------------------------------------------------------===//

#include "../interp/Module.h"
#include "Machines.h"

#include "host/Arena.h"
#include "host/Devices.h"
#include "host/Strategy.h"
#include "host/VerifyProgram.h"
#include "host/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace perpend;

namespace {
/// A main of `count` calls of kernels, each of which adds two earlier values of [n, 4] or negates one; some in a branch
/// or a loop, and half of them on the device if there is one. `isFromData`: n is read from an input.
std::string randomProgram(unsigned seed, bool hasDevice = false, bool isFromData = false) {
  std::mt19937 random(seed);
  auto below = [&](unsigned limit) { return random() % limit; };
  bool isStatic = below(2) && !isFromData;
  std::string type = isStatic ? "tensor<16x4xf32>" : "tensor<?x4xf32, #s>",
              symbols = isStatic ? "" : " {graph.symbols = #n}";
  std::string text =
      "#s = #graph.shape<[\"n\", 4]>\n#n = #graph.shape<[\"n\"]>\nfunc.func @main(" +
      (isFromData ? "%row: tensor<4xf32>, %c: tensor<i1>, %count: tensor<i64>" : "%v0: " + type + ", %c: tensor<i1>") +
      ") -> (" + type + ", " + type + ") {\n";
  if (isFromData)
    text += "  graph.measure %count as \"n\" : tensor<i64>\n  %v0 = graph.call_kernel @spread(%row)" + symbols +
            " : (tensor<4xf32>) -> " + type + "\n";
  unsigned next = 1;
  auto earlier = [&](unsigned count) { return "%v" + std::to_string(count - 1 - below(std::min(count, 4u))); };
  auto kernelName = [&](const std::string &name) { return "@" + name + (hasDevice && below(2) ? "_far" : ""); };
  auto call = [&](const std::string &indent, unsigned known) {
    bool adds = below(2);
    std::string operands = earlier(known), types = type;
    if (adds) {
      operands += ", " + earlier(known);
      types += ", " + type;
    }
    text += indent + "%v" + std::to_string(next++) + " = graph.call_kernel " + kernelName(adds ? "add" : "negate") +
            "(" + operands + ")" + symbols + " : (" + types + ") -> " + type + "\n";
  };
  unsigned count = 3 + below(8);
  for (unsigned i = 0; i < count; ++i) {
    unsigned kind = below(8), known = next;
    if (kind == 0) {
      std::string inner = earlier(known), number = std::to_string(next++);
      text += "  %v" + number + " = graph.if %c symbols [] : tensor<i1> -> (" + type + ") {\n    %t" + number +
              " = graph.call_kernel " + kernelName("negate") + "(" + inner + ")" + symbols + " : (" + type + ") -> " +
              type + "\n    graph.yield %t" + number + " : " + type + "\n  } else {\n    graph.yield " +
              earlier(known) + " : " + type + "\n  }\n";
    } else if (kind == 1) {
      std::string number = std::to_string(next++);
      text += "  %v" + number + " = graph.loop count <[" + std::to_string(below(4)) + "]> carried (" + earlier(known) +
              " : " + type + ") symbols [] -> (" + type + ") {\n  ^bb0(%i" + number + ": tensor<i64>, %a" + number +
              ": " + type + "):\n    %l" + number + " = graph.call_kernel " + kernelName("add") + "(%a" + number +
              ", " + earlier(known) + ")" + symbols + " : (" + type + ", " + type + ") -> " + type +
              "\n    graph.yield %l" + number + " : " + type + "\n  }\n";
    } else {
      call("  ", known);
    }
  }
  text += "  return %v" + std::to_string(next - 1) + ", " + earlier(next) + " : " + type + ", " + type + "\n}\n";
  std::string attributes = isStatic ? "tile.kernel, graph.symbols = [], tile.extent = #graph.shape<[16]>"
                                    : "tile.kernel, graph.symbols = [\"n\"], tile.extent = #graph.shape<[\"n\"]>";
  auto kernel = [&](const std::string &name, bool adds) {
    text += "func.func private @" + name + "(%a: memref<?xf32>, " + (adds ? "%b: memref<?xf32>, " : "") +
            "%r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: index) attributes {" + attributes +
            "} {\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : index\n  scf.for %i = %begin to %end "
            "step %c1 {\n"
            "    %base = arith.muli %i, %c4 : index\n    %last = arith.addi %base, %c4 : index\n"
            "    scf.for %j = %base to %last step %c1 {\n      %x = memref.load %a[%j] : memref<?xf32>\n" +
            (adds ? "      %y = memref.load %b[%j] : memref<?xf32>\n      %z = arith.addf %x, %y : f32\n"
                  : "      %z = arith.negf %x : f32\n") +
            "      memref.store %z, %r[%j] : memref<?xf32>\n    }\n  }\n  return\n}\n";
  };
  kernel("add", true);
  kernel("negate", false);
  if (isFromData)
    text += "func.func private @spread(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: "
            "index) attributes {" +
            attributes +
            "} {\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : "
            "index\n  scf.for %i = %begin to %end step %c1 {\n    %base = arith.muli %i, %c4 : index\n"
            "    scf.for %j = %c0 to %c4 step %c1 {\n      %x = memref.load %a[%j] : memref<?xf32>\n"
            "      %p = arith.addi %base, %j : index\n      memref.store %x, %r[%p] : memref<?xf32>\n    }\n  }\n"
            "  return\n}\n";
  auto farKernel = [&](const std::string &name, bool adds) {
    text += "func.func private @" + name + "(%a: memref<?xf32>, " + (adds ? "%b: memref<?xf32>, " : "") +
            "%r: memref<?xf32>, %s: memref<?xi64>, %group: index, %lane: index) attributes {tile.kernel, "
            "graph.symbols = " +
            (isStatic ? "[]" : "[\"n\"]") +
            ", tile.device = \"device\", tile.grid = [\"group\", \"lane\"], tile.extent = " +
            (isStatic ? "#graph.shape<[16, 4]>" : "#graph.shape<[\"n\", 4]>") +
            "} {\n  %c4 = arith.constant 4 : index\n  %base = arith.muli %group, %c4 : index\n"
            "  %i = arith.addi %base, %lane : index\n  %x = memref.load %a[%i] : memref<?xf32>\n" +
            (adds ? "  %y = memref.load %b[%i] : memref<?xf32>\n  %z = arith.addf %x, %y : f32\n"
                  : "  %z = arith.negf %x : f32\n") +
            "  memref.store %z, %r[%i] : memref<?xf32>\n  return\n}\n";
  };
  if (hasDevice) {
    farKernel("add_far", true);
    farKernel("negate_far", false);
  }
  return text;
}

struct PlannedModule : interp::Module {
  explicit PlannedModule(unsigned seed, bool hasDevice = false, bool isFromData = false)
      : Module(randomProgram(seed, hasDevice, isFromData)) {}
  bool plan(StringRef strategy = "best", const target::Machine &machine = {}) {
    PassManager passes(&context);
    passes.addPass(host::createHostPlaceCopies({machine}));
    passes.addPass(host::createHostPlanMemory({strategy.str(), machine}));
    passes.addPass(host::createHostPlaceValues({machine}));
    passes.addPass(host::createHostPlaceWaits({machine}));
    return succeeded(passes.run(*module));
  }
  host::EntryOp entry() { return module->lookupSymbol<host::EntryOp>("main"); }
  bool isRight() {
    messages.clear();
    return succeeded(host::verifyPrograms(*module));
  }
};

/// More for --long.
unsigned numberOfPrograms(unsigned usual) { return std::getenv("PERPEND_LONG") ? 20 * usual : usual; }

std::vector<interp::Tensor> inputsOf(interp::Module &module, bool condition) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  int8_t flag = condition;
  return {interp::Tensor::of<float>(module.type("f32"), {16, 4}, values),
          interp::Tensor::of<int8_t>(module.type("i1"), {}, flag)};
}
} // namespace

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

namespace {
void report(unsigned found, unsigned tried) {
  std::printf("found %u of %u\n", found, tried);
  EXPECT_EQ(found, tried);
}
} // namespace

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

namespace {
/// A place where a program waits for an event: the operand of an operation.
std::vector<OpOperand *> waitsIn(host::EntryOp entry) {
  std::vector<OpOperand *> waits;
  entry.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<host::EventType>(operand.get().getType()))
        waits.push_back(&operand);
  });
  return waits;
}

void removeWait(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto erase = [&](MutableOperandRange events) {
    for (unsigned i = 0; i < events.size(); ++i)
      if (&events[i] == &operand)
        return events.erase(i);
  };
  if (auto launch = dyn_cast<host::LaunchOp>(op))
    erase(launch.getAfterMutable());
  else if (auto copy = dyn_cast<host::CopyOp>(op))
    erase(copy.getAfterMutable());
  else
    op->erase(); // host.wait of one event
}
} // namespace

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

//===----------------------------------------------------------------------===//
// Scratchpads
//===----------------------------------------------------------------------===//

namespace {
StringRef memoryOf(host::BufferOp buffer) { return buffer.getMemory().getType().getMemory().getValue(); }

/// The type of a buffer and of its places.
void setMemory(Value value, StringRef memory) {
  if (auto place = dyn_cast<host::PlaceType>(value.getType()))
    value.setType(host::PlaceType::get(place.getTensor(), memory));
  else
    value.setType(host::MemoryType::get(value.getContext(), StringAttr::get(value.getContext(), memory)));
  for (Operation *user : value.getUsers())
    if (auto place = dyn_cast<host::PlaceOp>(user))
      setMemory(place.getPlace(), memory);
}

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
    setMemory(buffer.getMemory(), "other");
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
