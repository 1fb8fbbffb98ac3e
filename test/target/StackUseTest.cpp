//===- StackUseTest.cpp - the stack of the longest chain of calls ---------===//
#include "TestModules.h"

#include "target/cpu/StackUse.h"

using namespace llvm;
using namespace perpend::target;

namespace {

/// Functions that hold `bytes` of memory each, and call what @perpend_module_run calls; without inlining, so that each
/// keeps its frame.
std::optional<uint64_t> stackOf(const std::string &functions, const std::string &body) {
  const std::string ir = "declare void @use(ptr)\n" + functions +
                         "\ndefine void @perpend_module_run(ptr %p) noinline {\n" + body + "\n  ret void\n}\n";
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir.c_str());
  const TargetInfo target = expectValue(resolveTarget("cortex-m4"));
  StackUse stack(*module);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  EXPECT_EQ(textOf(emitObject(*module, target, 1, stream, {})), "");
  return stack.bytesOf("perpend_module_run");
}

std::string functionOf(const std::string &name, int bytes, const std::string &rest = "") {
  return "define void @" + name + "(ptr %p) noinline {\n  %m = alloca [" + std::to_string(bytes) +
         " x i8], align 8\n  call void @use(ptr %m)\n" + rest + "  call void @use(ptr %m)\n  ret void\n}\n";
}

constexpr const char *callShallow = "  call void @shallow(ptr %p)\n", *callDeep = "  call void @deep(ptr %p)\n";
const std::string two = functionOf("shallow", 64) + functionOf("deep", 4096);

void expectAbout(std::optional<uint64_t> found, uint64_t bytes) {
  ASSERT_TRUE(found);
  EXPECT_GE(*found, bytes);
  EXPECT_LE(*found, bytes + 128) << "saved registers";
}

} // namespace

TEST(StackUse, CallsAfterEachOtherTakeTheMost) { expectAbout(stackOf(two, std::string(callShallow) + callDeep), 4096); }

TEST(StackUse, CallsInsideEachOtherAddUp) {
  expectAbout(stackOf(two + functionOf("outer", 1024, callDeep), "  call void @outer(ptr %p)\n"), 4096 + 1024);
}

TEST(StackUse, FunctionsOfOthersAreNotCounted) { expectAbout(stackOf("", "  call void @use(ptr %p)\n"), 0); }

TEST(StackUse, PointersReachWhatHasTheirType) {
  const std::string table = "@table = global ptr @deep\n"
                            "define i32 @other(i32 %x) noinline {\n  %m = alloca [8192 x i8]\n"
                            "  call void @use(ptr %m)\n  ret i32 %x\n}\n@others = global ptr @other\n";
  expectAbout(stackOf(two + table, "  %f = load ptr, ptr %p\n  call void %f(ptr %p)\n"), 4096);
}

TEST(StackUse, CirclesAndGrowingFramesAreUnknown) {
  const std::string circle =
      functionOf("one", 8, "  call void @another(ptr %p)\n") + functionOf("another", 8, "  call void @one(ptr %p)\n");
  EXPECT_FALSE(stackOf(circle, "  call void @one(ptr %p)\n"));
  EXPECT_FALSE(stackOf("", "  %n = load i32, ptr %p\n  %m = alloca i8, i32 %n\n  call void @use(ptr %m)\n"));
}

/// Other diagnostics still reach the handler that was there.
TEST(StackUse, OthersHearTheirDiagnostics) {
  struct Listener : DiagnosticHandler {
    explicit Listener(int &heard) : heard(heard) {}
    bool handleDiagnostics(const DiagnosticInfo &) override { return ++heard, true; }
    int &heard;
  };
  int heard = 0;
  LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Listener>(heard));
  std::unique_ptr<Module> module = parseIr(context, "define void @perpend_module_run() {\n  ret void\n}\n");
  StackUse stack(*module);
  context.emitError("an error");
  EXPECT_EQ(heard, 1);
}
