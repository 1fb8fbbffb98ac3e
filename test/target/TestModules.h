//===- TestModules.h - What the tests of src/target share --------*- C++ -*-===//
#ifndef PERPEND_TEST_TARGET_TESTMODULES_H
#define PERPEND_TEST_TARGET_TESTMODULES_H

#include "target/Link.h"
#include "target/ScratchDirectory.h"
#include "target/cpu/EmitObject.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace perpend::target {

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
