//===- RandomProgram.cpp - random graphs of kernels to plan -----------------===//

#include "RandomProgram.h"

#include "host/VerifyProgram.h"
#include "host/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace perpend {
/// Rows of a matrix that are all the row given.
static std::string spreadKernel(const std::string &attributes) {
  return "func.func private @spread(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: "
         "index) attributes {" +
         attributes +
         "} {\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : "
         "index\n  scf.for %i = %begin to %end step %c1 {\n    %base = arith.muli %i, %c4 : index\n"
         "    scf.for %j = %c0 to %c4 step %c1 {\n      %x = memref.load %a[%j] : memref<?xf32>\n"
         "      %p = arith.addi %base, %j : index\n      memref.store %x, %r[%p] : memref<?xf32>\n    }\n  }\n"
         "  return\n}\n";
}

static std::string farKernel(const std::string &name, bool isStatic, bool adds) {
  return "func.func private @" + name + "(%a: memref<?xf32>, " + (adds ? "%b: memref<?xf32>, " : "") +
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
}

std::string randomProgram(unsigned seed, bool hasDevice, bool isFromData) {
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
    text += spreadKernel(attributes);
  if (hasDevice) {
    text += farKernel("add_far", isStatic, true);
    text += farKernel("negate_far", isStatic, false);
  }
  return text;
}

bool PlannedModule::plan(StringRef strategy, const target::Machine &machine) {
  PassManager passes(&context);
  passes.addPass(host::createHostPlaceCopies({machine}));
  passes.addPass(host::createHostPlanMemory({strategy.str(), machine}));
  passes.addPass(host::createHostPlaceValues({machine}));
  passes.addPass(host::createHostPlaceWaits({machine}));
  return succeeded(passes.run(*module));
}

bool PlannedModule::isRight() {
  messages.clear();
  return succeeded(host::verifyPrograms(*module));
}

unsigned numberOfPrograms(unsigned usual) { return std::getenv("PERPEND_LONG") ? 20 * usual : usual; }

std::vector<interp::Tensor> inputsOf(interp::Module &module, bool condition) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  int8_t flag = condition;
  return {interp::Tensor::of<float>(module.type("f32"), {16, 4}, values),
          interp::Tensor::of<int8_t>(module.type("i1"), {}, flag)};
}

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

void report(unsigned found, unsigned tried) {
  std::printf("found %u of %u\n", found, tried);
  EXPECT_EQ(found, tried);
}
} // namespace perpend
