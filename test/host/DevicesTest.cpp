//===- DevicesTest.cpp - asynchronous host programs with one flaw -----------===//

#include "../interp/Module.h"
#include "Machines.h"

#include "host/VerifyProgram.h"
#include "host/passes/Passes.h"
#include "interp/Driver.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;
using namespace perpend;

namespace {
/// y = -x and z = -x. The second copy to the device puts x where the first one did, so it begins when that has been
/// read.
constexpr const char *program = R"(
host.entry @main(%x: !host.place<[16, 4] x f32>, %y: !host.place<[16, 4] x f32>, %z: !host.place<[16, 4] x f32>)
    attributes {inputs = 1 : i64, output_types = [tensor<16x4xf32>, tensor<16x4xf32>], symbols = [], data_symbols = []} {
  host.expect %x dim 0 is [16] : !host.place<[16, 4] x f32>
  host.expect %x dim 1 is [4] : !host.place<[16, 4] x f32>
  %a = host.buffer bytes [256] parts [1] live [0, 1] at 0 : <far>
  %b = host.buffer bytes [256] parts [1] live [1, 5] at 256 : <far>
  %c = host.buffer bytes [256] parts [1] live [2, 3] at 0 : <far>
  %d = host.buffer bytes [256] parts [1] live [3, 6] at 512 : <far>
  %p = host.place %a [0] : !host.memory<far> to <[16, 4] x f32, far>
  %q = host.place %b [0] : !host.memory<far> to <[16, 4] x f32, far>
  %r = host.place %c [0] : !host.memory<far> to <[16, 4] x f32, far>
  %s = host.place %d [0] : !host.memory<far> to <[16, 4] x f32, far>
  %e = host.copy async %x to %p : <[16, 4] x f32> to <[16, 4] x f32, far>
  %f = host.launch async @negate(%p) -> (%q) on "device" over [16, 4] after (%e) symbols [] : (!host.place<[16, 4] x f32, far>) -> (!host.place<[16, 4] x f32, far>)
  %g = host.copy async %x to %r after (%f) : <[16, 4] x f32> to <[16, 4] x f32, far>
  %h = host.launch async @negate(%r) -> (%s) on "device" over [16, 4] after (%g) symbols [] : (!host.place<[16, 4] x f32, far>) -> (!host.place<[16, 4] x f32, far>)
  %i = host.copy async %q to %y after (%f) : <[16, 4] x f32, far> to <[16, 4] x f32>
  %j = host.copy async %s to %z after (%h) : <[16, 4] x f32, far> to <[16, 4] x f32>
  host.wait %i, %j
  host.return
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %group: index, %lane: index)
    attributes {tile.kernel, graph.symbols = [], tile.device = "device", tile.grid = ["group", "lane"], tile.extent = #graph.shape<[16, 4]>} {
  %c4 = arith.constant 4 : index
  %base = arith.muli %group, %c4 : index
  %i = arith.addi %base, %lane : index
  %x = memref.load %a[%i] : memref<?xf32>
  %y = arith.negf %x : f32
  memref.store %y, %r[%i] : memref<?xf32>
  return
}
)";

struct Flaw {
  const char *before, *after, *message;
  /// A run comes to it and finds it, too.
  bool isInRun = false;
};

constexpr Flaw flaws[] = {
    // Order
    {"over [16, 4] after (%e)", "over [16, 4]", "A1: begins while a copy may still run", true},
    {"to %r after (%f)", "to %r", "A1: begins while the launch of 'negate' may still run", true},
    {"to %y after (%f)", "to %y after (%e)", "A1: begins while the launch of 'negate' may still run", true},
    {"to %y after (%f)", "to %y after (%g)", ""}, // which begins behind it
    {"host.wait %i, %j", "host.wait %j", "A2: ends while a copy may still run", true},
    {"host.wait %i, %j", "host.wait %i, %h", "A2: ends while a copy may still run", true},
    {"live [2, 3] at 0", "live [2, 3] at 768", ""},
    {"host.wait %i, %j", "host.wait %i, %j\n  host.copy %x to %y after (%f) : <[16, 4] x f32> to <[16, 4] x f32>",
     "A3: expected `async` in front of an operation that begins after events"},
    {"%i = host.copy async %q to %y after (%f)",
     "%i = host.copy async %q to %y after (%f) : <[16, 4] x f32, far> to "
     "<[16, 4] x f32>\n  host.copy %q to %y",
     "A1: begins while a copy may still run", true},
    // Operations
    {"on \"device\" over [16, 4] after (%e)", "after (%e)", "C4: expected a device that runs an asynchronous launch"},
    {"%p = host.place %a [0] : !host.memory<far> to <[16, 4] x f32, far>",
     "%n = host.place %a [0] : !host.memory<far> to <[16, 4] x f32>\n  %p = host.place %a [0] : !host.memory<far> to "
     "<[16, 4] x f32, far>",
     "C2: expected a place in the memory of its source, got one in 'host'"},
    // Machine
    {"on \"device\"", "on \"other\"",
     "M3: expected to run on 'device', for which kernel 'negate' is made, got 'other'"},
    {"tile.device = \"device\"", "tile.device = \"other\"", "M3: expected to run on 'other'"},
    {"over [16, 4] after (%e)", "over [16, 3] after (%e)", "M3: expected the grid [16, 4]"},
    {"%s to %z after (%h) : <[16, 4] x f32, far> to <[16, 4] x f32>",
     "%s to %q after (%h, %i) : <[16, 4] x f32, far> to <[16, 4] x f32, far>",
     "M4: the machine has no link from 'far' to 'far'"},
    {"host.wait %i, %j",
     "host.wait %i, %j\n  %k = host.copy async %y to %z : <[16, 4] x f32> to <[16, 4] x f32>\n  host.wait %k",
     "M4: from 'host' to 'host' the host copies itself"},
    {"host.wait %i, %j",
     "host.wait %i, %j\n  host.call \"string.x\"(%s) -> (%y) {} types [tensor<16x4xf32>] defines [] : "
     "(!host.place<[16, 4] x f32, far>) -> !host.place<[16, 4] x f32>",
     "M2: expected a place in host, where the host reads, got one in 'far'"},
    {"  %d = host.buffer", "  %o = host.buffer bytes [64] parts [1] : <nowhere>\n  %d = host.buffer",
     "M1: expected one of the machine's memories far, host, got 'nowhere'"},
};

bool isRight(interp::Module &module) {
  return module.module && succeeded(host::verifyPrograms(*module.module)) &&
         succeeded(host::verifyDevices(*module.module, machineWithDevice()));
}

std::string replaced(const Flaw &flaw) {
  std::string text = program;
  size_t at = text.find(flaw.before);
  EXPECT_NE(at, std::string::npos) << flaw.before;
  return text.replace(at, std::string(flaw.before).size(), flaw.after);
}

std::vector<interp::Tensor> run(interp::Module &module) {
  interp::Random random;
  return module.run(random.floats(module.type("f32"), {16, 4}));
}
} // namespace

TEST(AsynchronousPrograms, runAndPrint) {
  interp::Module module(program);
  ASSERT_TRUE(isRight(module)) << module.messages;
  std::string text;
  llvm::raw_string_ostream(text) << *module.module;
  interp::Module again(text);
  std::string textAgain;
  llvm::raw_string_ostream(textAgain) << *again.module;
  EXPECT_EQ(text, textAgain);
  EXPECT_NE(text.find("host.launch async @negate("), std::string::npos) << text;
  interp::Random random;
  interp::Tensor x = random.floats(module.type("f32"), {16, 4});
  std::vector<interp::Tensor> results = run(again);
  ASSERT_EQ(results.size(), 2u) << again.messages;
  for (const interp::Tensor &result : results)
    for (auto [got, given] : llvm::zip_equal(result.elements<float>(), x.elements<float>()))
      EXPECT_EQ(got, -given);
}

TEST(AsynchronousPrograms, verifierFindsEachFlaw) {
  for (const Flaw &flaw : flaws) {
    SCOPED_TRACE(flaw.after);
    std::string messages;
    DialectRegistry registry;
    interp::registerDialects(registry);
    MLIRContext context(registry);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(replaced(flaw), &context);
    bool fits = module && succeeded(host::verifyPrograms(*module)) &&
                succeeded(host::verifyDevices(*module, machineWithDevice()));
    EXPECT_EQ(fits, !*flaw.message);
    EXPECT_NE(messages.find(flaw.message), std::string::npos) << messages;
  }
}

TEST(AsynchronousPrograms, aRunFindsWhatItMeets) {
  for (const Flaw &flaw : flaws) {
    if (!flaw.isInRun)
      continue;
    SCOPED_TRACE(flaw.after);
    interp::Module module(replaced(flaw));
    EXPECT_TRUE(run(module).empty());
    EXPECT_NE(module.messages.find("may still run"), std::string::npos) << module.messages;
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
/// The device reads the old value of the first four rows; the host writes x to two rows of the new one, from the byte
/// `offset` on.
std::string programWithRing(int64_t offset) {
  return R"(
host.state @s0 "ring" : !host.place<[8, 4] x f32>
host.entry @main(%x: !host.place<[2, 4] x f32>, %ring: !host.place<[8, 4] x f32> {host.state = @s0},
    %y: !host.place<[4, 4] x f32>, %ring1: !host.place<[8, 4] x f32> {host.state = @s0, host.in_place})
    attributes {inputs = 2 : i64, output_types = [tensor<4x4xf32>, tensor<8x4xf32>], symbols = [], data_symbols = []} {
  host.expect %x dim 0 is [2] : !host.place<[2, 4] x f32>
  host.expect %x dim 1 is [4] : !host.place<[2, 4] x f32>
  host.expect %ring dim 0 is [8] : !host.place<[8, 4] x f32>
  host.expect %ring dim 1 is [4] : !host.place<[8, 4] x f32>
  %a = host.buffer bytes [64] parts [1] live [0, 1] at 0 : <far>
  %b = host.buffer bytes [64] parts [1] live [1, 2] at 64 : <far>
  %p = host.place %a [0] : !host.memory<far> to <[4, 4] x f32, far>
  %q = host.place %b [0] : !host.memory<far> to <[4, 4] x f32, far>
  %old = host.place %ring [0] : !host.place<[8, 4] x f32> to <[4, 4] x f32>
  %new = host.place %ring1 [)" +
         std::to_string(offset) + R"(] : !host.place<[8, 4] x f32> to <[2, 4] x f32>
  host.copy %old to %p : <[4, 4] x f32> to <[4, 4] x f32, far>
  host.launch @negate(%p) -> (%q) on "device" over [16] symbols [] : (!host.place<[4, 4] x f32, far>) -> (!host.place<[4, 4] x f32, far>)
  host.copy %q to %y : <[4, 4] x f32, far> to <[4, 4] x f32>
  host.copy %x to %new : <[2, 4] x f32> to <[2, 4] x f32>
  host.return
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %i: index)
    attributes {tile.kernel, graph.symbols = [], tile.device = "device", tile.grid = ["group"], tile.extent = #graph.shape<[16]>} {
  %x = memref.load %a[%i] : memref<?xf32>
  %y = arith.negf %x : f32
  memref.store %y, %r[%i] : memref<?xf32>
  return
}
)";
}

std::vector<interp::Tensor> runWithRing(interp::Module &module) {
  interp::Random random;
  mlir::Type type = module.type("f32");
  interp::Tensor x = random.floats(type, {2, 4}), ring = random.floats(type, {8, 4});
  return module.run({x, ring});
}
} // namespace

/// What the device reads of an old value and the host writes of the new one are the same bytes if the state is updated
/// in place.
TEST(AsynchronousPrograms, updatesOfStatesWaitForReaders) {
  for (int64_t offset : {0, 48, 64}) {
    SCOPED_TRACE(offset);
    interp::Module before(programWithRing(offset)), module(programWithRing(offset));
    std::vector<interp::Tensor> expected = runWithRing(before);
    ASSERT_EQ(expected.size(), 2u) << before.messages;
    PassManager passes(&module.context);
    passes.addPass(host::createHostPlaceWaits({machineWithDevice()}));
    ASSERT_TRUE(succeeded(passes.run(*module.module)) && isRight(module)) << module.messages;
    SmallVector<host::WaitOp> waits;
    module.module->walk([&](host::WaitOp wait) { waits.push_back(wait); });
    const bool meets = offset < 64; // else they are apart
    EXPECT_EQ(waits.size(), meets ? 2u : 1u);
    std::vector<interp::Tensor> got = runWithRing(module);
    ASSERT_EQ(got.size(), 2u) << module.messages;
    for (unsigned i : {0u, 1u})
      EXPECT_TRUE(llvm::equal(expected[i].elements<float>(), got[i].elements<float>()));
    if (!meets || waits.empty())
      continue;
    waits.front().erase();
    EXPECT_FALSE(isRight(module));
    EXPECT_NE(module.messages.find("A1: begins while a copy may still run"), std::string::npos) << module.messages;
  }
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
/// Gives memory of the device out, and finds kernels that touch other memory.
class MemoriesDriver : public interp::LateDriver {
public:
  std::shared_ptr<std::byte> allocate(StringRef memory, int64_t bytes) override {
    allocations.push_back({LateDriver::allocate(memory, bytes), bytes});
    return allocations.back().first;
  }
  void start(Event event, interp::Command command, ArrayRef<Event> after) override {
    for (const interp::Tensor &tensor : command.tensors)
      EXPECT_TRUE(!command.kernel || isOfDevice(tensor)) << "a kernel of the device touches other memory";
    LateDriver::start(event, std::move(command), after);
  }

private:
  bool isOfDevice(const interp::Tensor &tensor) const {
    return llvm::any_of(allocations, [&](const auto &allocation) {
      const std::byte *begin = allocation.first.get();
      return tensor.data() >= begin && tensor.data() + tensor.sizeBytes() <= begin + allocation.second;
    });
  }
  std::vector<std::pair<std::shared_ptr<std::byte>, int64_t>> allocations;
};

/// y = -w, for a segment w of the device's memory.
std::string programWithConstant(const std::string &segment) {
  return "host.segment @w " + segment + R"(
host.entry @main(%y: !host.place<[4] x f32>)
    attributes {inputs = 0 : i64, output_types = [tensor<4xf32>], symbols = [], data_symbols = []} {
  %b = host.buffer bytes [16] parts [1] live [0, 1] at 0 : <far>
  %w = host.constant @w : <[4] x f32, far>
  %q = host.place %b [0] : !host.memory<far> to <[4] x f32, far>
  %e = host.launch async @negate(%w) -> (%q) on "device" over [4] symbols [] : (!host.place<[4] x f32, far>) -> (!host.place<[4] x f32, far>)
  %f = host.copy async %q to %y after (%e) : <[4] x f32, far> to <[4] x f32>
  host.wait %f
  host.return
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %i: index)
    attributes {tile.kernel, graph.symbols = [], tile.device = "device", tile.grid = ["group"], tile.extent = #graph.shape<[4]>} {
  %x = memref.load %a[%i] : memref<?xf32>
  %y = arith.negf %x : f32
  memref.store %y, %r[%i] : memref<?xf32>
  return
}
)";
}
} // namespace

TEST(AsynchronousPrograms, constantsLieInTheMemoryOfTheDevice) {
  const std::string path = testing::TempDir() + "constants" + std::to_string(getpid());
  const float values[] = {1, -2, 3, 4};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(values), sizeof(values));
  for (const std::string &segment : {std::string("at 0 = dense<[1.0, -2.0, 3.0, 4.0]> : tensor<4xf32>"),
                                     "at 0 file \"" + path + "\" at 0 bytes 16 : tensor<4xf32>"}) {
    SCOPED_TRACE(segment);
    interp::Module module(programWithConstant(segment));
    ASSERT_TRUE(isRight(module)) << module.messages;
    MemoriesDriver driver;
    interp::InterpreterOptions options;
    options.driver = &driver;
    std::vector<interp::Tensor> y = module.run({}, options);
    ASSERT_EQ(y.size(), 1u) << module.messages;
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(y[0].elements<float>()[i], -values[i]);
  }
  std::filesystem::remove(path);
}
