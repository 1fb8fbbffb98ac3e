//===- TestModules.h - What the tests of src/target share -------*- C++ -*-===//
#ifndef PERPEND_TEST_TARGET_TESTMODULES_H
#define PERPEND_TEST_TARGET_TESTMODULES_H

#include "target/Link.h"
#include "target/ScratchDirectory.h"
#include "target/cpu/EmitObject.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace perpend::target {

/// y[i] += a * x[i], as a kernel and its entry; what runs both entries can be called by two names. @table and @helper
/// are local; the kernel is too.
inline constexpr const char *saxpyIr = R"(
@table = internal constant [2 x float] [float 2.0, float 3.0]
@counter = internal global i64 0
define internal float @helper(i64 %i) noinline {
  %p = getelementptr [2 x float], ptr @table, i64 0, i64 %i
  %v = load float, ptr %p
  ret float %v
}
define internal void @saxpy(ptr %x, ptr %y, i64 %n) "perpend-kernel" {
entry:
  %a = call float @helper(i64 0)
  %c = load i64, ptr @counter
  %c1 = add i64 %c, 1
  store i64 %c1, ptr @counter
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %px = getelementptr float, ptr %x, i64 %i
  %py = getelementptr float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %m = fmul float %vx, %a
  %s = fadd float %m, %vy
  store float %s, ptr %py
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @saxpy_entry(ptr %x, ptr %y, i64 %n) "perpend-kernel-entry" {
  call void @saxpy(ptr %x, ptr %y, i64 %n)
  ret void
}
define void @scale(ptr %y, i64 %n) "perpend-kernel-entry" {
  %a = call float @helper(i64 1)
  %v = load float, ptr %y
  %m = fmul float %v, %a
  store float %m, ptr %y
  ret void
}
define internal i64 @run(ptr %x, ptr %y, i64 %n) {
  call void @saxpy_entry(ptr %x, ptr %y, i64 %n)
  call void @scale(ptr %y, i64 %n)
  %c = load i64, ptr @counter
  ret i64 %c
}
define i64 @perpend_module_run(ptr %x, ptr %y, i64 %n) {
  %c = call i64 @run(ptr %x, ptr %y, i64 %n)
  ret i64 %c
}
define i64 @perpend_module_main(ptr %x, ptr %y, i64 %n) {
  %c = call i64 @run(ptr %x, ptr %y, i64 %n)
  ret i64 %c
}
)";

/// The value, or a failed test and the end of the process with the error's text.
template <typename T> T expectValue(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    std::abort();
  }
  return std::move(*value);
}

inline std::string textOf(llvm::Error error) { return llvm::toString(std::move(error)); }

inline std::unique_ptr<llvm::Module> parseIr(llvm::LLVMContext &context, const char *text) {
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

/// Runs a pass on a function by itself.
template <typename Pass> void runOn(llvm::Function &function, Pass pass) {
  llvm::PassBuilder builder;
  llvm::FunctionAnalysisManager analyses;
  builder.registerFunctionAnalyses(analyses);
  pass.run(function, analyses);
}

/// The object made of `text` for x86-64-v2, which every machine that runs the tests has.
inline std::string objectOf(const char *text, const char *targetName = "x86-64-v2", unsigned optLevel = 2) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parseIr(context, text);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  const TargetInfo target = expectValue(resolveTarget(targetName));
  EXPECT_EQ(textOf(emitObject(*module, target, optLevel, stream)), "");
  return std::string(object.data(), object.size());
}

inline std::string readFile(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  EXPECT_TRUE(bool(file)) << path.str();
  return file ? (*file)->getBuffer().str() : std::string();
}

/// A folder for one test's files.
inline ScratchDirectory testFolder() {
  return expectValue(ScratchDirectory::createBeside(::testing::TempDir() + "artifact"));
}

} // namespace perpend::target

#endif
