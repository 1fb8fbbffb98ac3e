//===- DevicesTest.cpp - asynchronous host programs with one flaw -----------===//

#include "../interp/Module.h"
#include "Machines.h"

#include "host/VerifyProgram.h"

#include "mlir/Parser/Parser.h"

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
