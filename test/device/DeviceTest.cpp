//===- DeviceTest.cpp - a processor with a made-up device -----------------===//
//
// The machine model of both stands here, and is all that the compiler knows of
// the device: two memories, an engine that copies between them beside all else,
// and launches of grids of groups of lanes. The interpreter runs plans with
// kernels on both, and so does a driver whose engines are threads.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Pipeline.h"
#include "StubDriver.h"

#include "frontend/onnx/Import.h"
#include "graph/Attributes.h"
#include "host/VerifyProgram.h"
#include "target/TargetInfo.h"
#include "tile/Attributes.h"

#include "mlir/IR/Diagnostics.h"

using namespace perpend;
using interp::Module;
using interp::Tensor;
using mlir::succeeded;

namespace {
target::Machine machineWithDevice(uint64_t bytes = 0) {
  target::Machine device;
  device.name = "device";
  device.levels = {{"group"}, {"lane", 8}};
  device.global.bytesPerSecond = 1e11;
  device.reads = device.writes = {"far"};
  device.fmaPerCycle = 1;
  device.cyclesPerSecond = 1e9;
  device.launch = target::Launch::Grid;
  device.hasQueue = true;
  target::Machine machine = llvm::cantFail(target::resolveTarget("x86-64-v3"));
  machine.links = {{"host", "far", /*isAsynchronous=*/true}, {"far", "host", true}};
  machine.devices = {device};
  machine.mainMemories = {{.name = "far", .bytes = bytes}};
  return machine;
}

/// In which the device also keeps values in two scratchpads, near its large memory.
target::Machine machineWithScratchpads() {
  target::Machine machine = machineWithDevice();
  machine.mainMemories = {{.name = "tiny", .bytes = 1 << 10}, {.name = "near", .bytes = 5 << 10}, {.name = "far"}};
  machine.devices[0].reads = machine.devices[0].writes = {"tiny", "near", "far"};
  for (const char *memory : {"tiny", "near"}) {
    machine.links.push_back({"far", memory, /*isAsynchronous=*/true});
    machine.links.push_back({memory, "far", true});
    machine.links.push_back({memory, "host", true});
  }
  return machine;
}

mlir::LogicalResult lower(mlir::ModuleOp module, const target::Machine &machine, const char *first, const char *last) {
  auto go = [](const Phase &, double) { return mlir::success(); };
  return runPhases(module, PhaseContext{machine}, first, last, go);
}

std::vector<mlir::func::FuncOp> kernelsOf(mlir::ModuleOp module) {
  std::vector<mlir::func::FuncOp> kernels;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr(graph::kernelAttribute))
      kernels.push_back(function);
  return kernels;
}

interp::InterpreterOptions optionsOf(interp::Driver *driver) {
  interp::InterpreterOptions options;
  options.driver = driver;
  return options;
}

std::string textOf(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// y = a + b
const std::string sum = R"(
#s = #graph.shape<["n", 6]>
func.func @main(%a: tensor<?x6xf32, #s> {graph.name = "a"}, %b: tensor<?x6xf32, #s> {graph.name = "b"}) -> (tensor<?x6xf32, #s> {graph.name = "y"}) {
  %y = graph.map (%a, %b) : (tensor<?x6xf32, #s>, tensor<?x6xf32, #s>) -> tensor<?x6xf32, #s> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    graph.yield %r : f32
  }
  return %y : tensor<?x6xf32, #s>
})";

/// The phases up to `plan`, with this trace of the only kernel.
bool planWithTrace(Module &module, const target::Machine &machine, llvm::StringRef trace) {
  if (mlir::failed(lower(*module.module, machine, "", "fuse")))
    return false;
  llvm::SmallVector<llvm::StringRef> lines;
  trace.split(lines, '\n');
  for (auto kernel : kernelsOf(*module.module))
    kernel->setAttr(tile::traceAttribute, mlir::Builder(&module.context).getStrArrayAttr(lines));
  return succeeded(lower(*module.module, machine, "schedule", "plan"));
}
} // namespace

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

TEST(Grid, loopsBecomeIds) {
  struct Bound {
    const char *trace, *extents;
  };
  for (const Bound &bound :
       {Bound{"bind %i, \"group\"\nbind %j, \"lane\"", "over [n, 6]"},
        {"bind %i, \"group\"", "over [n, 1]"},
        {"%f = fuse %i, %j\n%o, %p = split %f, [_, 8]\nbind %o, \"group\"\nbind %p, \"lane\"", ", 8]"},
        {"%f = fuse %i, %j\nbind %f, \"group\"", "over [6*n, 1]"}}) {
    SCOPED_TRACE(bound.trace);
    const target::Machine machine = machineWithDevice();
    Module module(sum);
    ASSERT_TRUE(
        planWithTrace(module, machine, std::string("%b = get_block \"map\"\n%i, %j = get_loops %b\n") + bound.trace))
        << module.messages;
    std::string text = textOf(*module.module);
    EXPECT_NE(text.find("on \"device\" over ["), std::string::npos) << text;
    EXPECT_NE(text.find(bound.extents), std::string::npos) << text;
    StubDriver stub(*module.module, machine);
    for (int64_t n : {0, 1, 5}) {
      interp::Random random;
      Tensor a = random.floats(module.type("f32"), {n, 6}), b = random.floats(module.type("f32"), {n, 6});
      for (interp::Driver *driver : {static_cast<interp::Driver *>(nullptr), static_cast<interp::Driver *>(&stub)}) {
        std::vector<Tensor> y = module.run({a, b}, optionsOf(driver));
        ASSERT_EQ(y.size(), 1u) << module.messages;
        for (int64_t i = 0; i < 6 * n; ++i)
          EXPECT_EQ(y[0].elements<float>()[i], a.elements<float>()[i] + b.elements<float>()[i]);
      }
    }
    EXPECT_EQ(stub.launches, 3u);
    EXPECT_EQ(stub.copies, 9u);
  }
}

/// A loop that is bound to a level is run by it, or is an error.
TEST(Grid, loopsThatAreNoNestAroundTheKernel) {
  struct Bound {
    const char *trace, *message;
  };
  for (const Bound &bound :
       {Bound{"%o, %p = split %j, [3, 2]\nbind %i, \"group\"\nbind %p, \"lane\"",
              "is not in a nest of bound loops, the outer ones of outer levels, around all of the kernel\nhint: "},
        {"bind %j, \"group\"", "is not in a nest of bound loops"},
        {"%o, %p = split %i, [_, 9]\nbind %o, \"group\"\nbind %p, \"lane\"",
         "expected an extent of at most 8, as many as 'lane' has, got 9"},
        {"bind %i, \"group\"\nbind %j, \"thread\"", "expected one of the target's levels"}}) {
    Module module(sum);
    EXPECT_FALSE(planWithTrace(module, machineWithDevice(),
                               std::string("%b = get_block \"map\"\n%i, %j = get_loops %b\n") + bound.trace));
    EXPECT_NE(module.messages.find(bound.message), std::string::npos) << bound.trace << "\n" << module.messages;
  }
}

TEST(Devices, oneThatTheMachineLacks) {
  Module module(sum);
  const target::Machine machine = machineWithDevice();
  ASSERT_TRUE(succeeded(lower(*module.module, machine, "", "fuse")));
  for (auto kernel : kernelsOf(*module.module))
    kernel->setAttr(tile::deviceAttribute, mlir::StringAttr::get(&module.context, "other"));
  EXPECT_FALSE(succeeded(lower(*module.module, machine, "schedule", "schedule")));
  EXPECT_NE(module.messages.find("(device), got \"other\"\nhint: "), std::string::npos) << module.messages;
}

TEST(Devices, tooLittleMemory) {
  std::string text = sum;
  for (size_t at; (at = text.find("[\"n\", 6]")) != std::string::npos;)
    text.replace(at, 8, "[100, 6]");
  for (size_t at; (at = text.find("?x6")) != std::string::npos;)
    text.replace(at, 3, "100x6");
  for (size_t at; (at = text.find(", #s>")) != std::string::npos;)
    text.replace(at, 5, ">");
  const std::string trace = "%b = get_block \"map\"\n%i, %j = get_loops %b\nbind %i, \"group\"";
  Module enough(text), tooLittle(text);
  EXPECT_TRUE(planWithTrace(enough, machineWithDevice(3 * 2432), trace)) << enough.messages;
  EXPECT_FALSE(planWithTrace(tooLittle, machineWithDevice(4864), trace));
  EXPECT_NE(tooLittle.messages.find("M5: values need 7296 bytes in 'far', which has 4864 bytes"), std::string::npos)
      << tooLittle.messages;
}

//===----------------------------------------------------------------------===//
// A model
//===----------------------------------------------------------------------===//

namespace {
/// A classifier of digits: convolutions, pools, a product and a softmax.
struct Digits {
  explicit Digits(std::vector<onnx::DimensionOption> dimensions = {}) : context(registry()) {
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
    module = onnx::importOnnx(context, PERPEND_SOURCE_DIR "/examples/digits/digits.onnx", {std::move(dimensions)});
    EXPECT_TRUE(module) << messages;
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    perpend::registerDialects(registry);
    return registry;
  }

  /// The device runs those kernels for which `isOnDevice` says so, by the rules' schedules.
  bool plan(const target::Machine &machine, llvm::function_ref<bool()> isOnDevice) {
    if (mlir::failed(lower(*module, machine, "", "fuse")))
      return false;
    for (auto kernel : kernelsOf(*module))
      if (isOnDevice())
        kernel->setAttr(tile::deviceAttribute, mlir::StringAttr::get(&context, "device"));
    return succeeded(lower(*module, machine, "schedule", "plan"));
  }

  std::vector<Tensor> run(int64_t n, interp::Driver *driver = nullptr) {
    interp::Random random;
    Tensor images = random.floats(mlir::Float32Type::get(&context), {n, 1, 8, 8});
    if (auto entry = module->lookupSymbol<host::EntryOp>("main"))
      return listOf(interp::interpret(entry, images, optionsOf(driver)));
    return listOf(interp::interpret(module->lookupSymbol<mlir::func::FuncOp>("main"), images));
  }
  using Results = llvm::FailureOr<llvm::SmallVector<Tensor>>;
  static std::vector<Tensor> listOf(const Results &results) {
    return succeeded(results) ? std::vector<Tensor>(results->begin(), results->end()) : std::vector<Tensor>();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages;
};

void expectClose(const std::vector<Tensor> &got, const std::vector<Tensor> &expected, const std::string &messages) {
  ASSERT_EQ(got.size(), 1u) << messages;
  ASSERT_EQ(got[0].shape, expected[0].shape);
  for (auto [a, b] : llvm::zip_equal(got[0].elements<float>(), expected[0].elements<float>()))
    ASSERT_NEAR(a, b, 1e-5);
}
} // namespace

TEST(Model, runsOnHostAndDevice) {
  const target::Machine machine = machineWithDevice();
  std::mt19937 random(3);
  unsigned launches = 0;
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    Digits graph, program;
    ASSERT_TRUE(program.plan(machine, [&] { return round == 0 || (round > 1 && random() % 2); })) << program.messages;
    StubDriver stub(*program.module, machine);
    for (int64_t n : {1, 3}) {
      std::vector<Tensor> expected = graph.run(n);
      expectClose(program.run(n), expected, program.messages);
      expectClose(program.run(n, &stub), expected, program.messages);
    }
    EXPECT_EQ(stub.launches > 0, round != 1);
    launches += stub.launches;
  }
  EXPECT_GT(launches, 40u);
}

/// The rules schedule for the machine that runs a kernel: with the intrinsics of its units, not with the processor's.
TEST(Model, aDeviceHasIntrinsicsOfItsOwn) {
  for (bool hasVectors : {false, true}) {
    target::Machine machine = machineWithDevice();
    if (hasVectors)
      machine.devices[0].units = {"vectors"};
    Digits program;
    ASSERT_TRUE(program.plan(machine, [] { return true; })) << program.messages;
    EXPECT_EQ(textOf(*program.module).find("tensorize %") != std::string::npos, hasVectors);
  }
}

namespace {
/// Removes one of the places where a program waits for an event.
void removeWait(mlir::ModuleOp module, std::mt19937 &random) {
  std::vector<mlir::OpOperand *> waits;
  module.walk([&](mlir::Operation *op) {
    for (mlir::OpOperand &operand : op->getOpOperands())
      if (mlir::isa<host::EventType>(operand.get().getType()))
        waits.push_back(&operand);
  });
  ASSERT_FALSE(waits.empty());
  mlir::OpOperand &removed = *waits[random() % waits.size()];
  auto erase = [&](mlir::MutableOperandRange events) {
    for (unsigned i = 0; i < events.size(); ++i)
      if (&events[i] == &removed)
        return events.erase(i);
  };
  if (auto launch = mlir::dyn_cast<host::LaunchOp>(removed.getOwner()))
    erase(launch.getAfterMutable());
  else if (auto copy = mlir::dyn_cast<host::CopyOp>(removed.getOwner()))
    erase(copy.getAfterMutable());
  else
    removed.getOwner()->erase(); // host.wait of one event
}
} // namespace

namespace {
/// Bytes of the values in each memory.
std::map<std::string, int64_t> bytesOfValues(mlir::ModuleOp module) {
  std::map<std::string, int64_t> bytes;
  module.walk([&](host::BufferOp buffer) {
    bytes[buffer.getMemory().getType().getMemory().str()] += *buffer.getBytes().values()[0].constant();
  });
  return bytes;
}
} // namespace

/// Values lie in both scratchpads, as far as they fit there beside each other, and else in the large memory.
TEST(Model, runsInTwoScratchpads) {
  const target::Machine machine = machineWithScratchpads();
  std::mt19937 random(9);
  std::map<std::string, int64_t> all;
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    Digits graph, program({{"n", "3"}});
    ASSERT_TRUE(program.plan(machine, [&] { return round == 0 || random() % 3; })) << program.messages;
    for (const auto &[memory, bytes] : bytesOfValues(*program.module))
      all[memory] += bytes;
    StubDriver stub(*program.module, machine);
    std::vector<Tensor> expected = graph.run(3);
    expectClose(program.run(3), expected, program.messages);
    expectClose(program.run(3, &stub), expected, program.messages);
  }
  for (const char *memory : {"tiny", "near", "far"})
    EXPECT_GT(all[memory], 0) << memory;
}

static void findMissingWaits(const target::Machine &machine, unsigned rounds) {
  std::mt19937 random(5);
  unsigned byVerifier = 0, byRun = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    Digits program({{"n", "2"}});
    ASSERT_TRUE(program.plan(machine, [&] { return round == 0 || random() % 2; })) << program.messages;
    const mlir::OwningOpRef<mlir::ModuleOp> planned = program.module->clone();
    EXPECT_TRUE(succeeded(host::verifyPrograms(*program.module)) && !program.run(2).empty()) << program.messages;
    for (int trial = 0; trial < 10; ++trial) {
      program.module = planned.get().clone();
      removeWait(*program.module, random);
      byVerifier += mlir::failed(host::verifyPrograms(*program.module));
      byRun += program.run(2).empty();
    }
  }
  EXPECT_EQ(byVerifier, 10 * rounds);
  EXPECT_EQ(byRun, 10 * rounds);
}

/// Wherever it was: the verifier finds it in the text, the interpreter in a run.
TEST(Model, aMissingWaitIsFound) {
  findMissingWaits(machineWithDevice(), 10);
  findMissingWaits(machineWithScratchpads(), 3);
}
