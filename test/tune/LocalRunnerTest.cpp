//===- LocalRunnerTest.cpp - candidates that crash, hang or compute something else --===//
//
// The program that measures is a script, which does what the candidate's file
// says.
//
//===----------------------------------------------------------------------===//

#include "tune/LocalRunner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace perpend::tune;
namespace fs = std::filesystem;

namespace {
std::string textOf(const fs::path &path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A candidate is compiled to the name of its instruction.
class FakeCandidates : public Candidates {
public:
  std::string compile(const Trace &candidate, llvm::StringRef library) override {
    std::string name = linesOf(candidate).front();
    if (name.find("abort") != std::string::npos)
      std::abort();
    if (name.find("endless") != std::string::npos)
      std::this_thread::sleep_for(std::chrono::minutes(1));
    if (name.find("refused") != std::string::npos)
      return "a primitive refuses";
    std::ofstream(library.str()) << name;
    return "";
  }
  std::string writeInputs(llvm::StringRef path) override { return std::ofstream(path.str()) << "1", ""; }
  bool readReference(llvm::StringRef path) override { return !(reference = textOf(path.str())).empty(); }
  std::string differenceOf(llvm::StringRef path) override {
    return textOf(path.str()) == reference ? "" : "DIFFERS  output";
  }

private:
  std::string reference;
};

constexpr const char *script = R"sh(#!/bin/sh
echo right > $3
case "$(cat $7)" in
*given*) echo "measured 1.0 0.1 1.0 1.0 0" ;;
*faster*) echo "measured 0.5 0.1 0.5 1.0 1" ;;
*lucky*) [ $5 = 0 ] && echo "measured 0.5 0.1 0.5 1.0 1" || echo "measured 1.0 0.1 1.0 1.0 0" ;;
*unusual*) echo "measured 0.5 0.1 0.1 5.0 1" ;;
*slower*) echo "measured 2.0 0.1 2.0 1.0 0" ;;
*wrong*) echo wrong > $3; echo "measured 0.5 0.1 0.5 1.0 1" ;;
*late*) [ $5 = 0 ] || echo wrong > $3; echo "measured 0.5 0.1 0.5 1.0 1" ;;
*killed*) kill -9 $$ ;;
*fails*) echo "measured 0.5 0.1 0.5 1.0 1"; exit 3 ;;
*hangs*) exec sleep 60 ;;
*silent*) ;;
*noise*) echo "measured well" ;;
*unloaded*) echo "refused it cannot be loaded: no such file" ;;
esac
)sh";

class LocalRunnerTest : public testing::Test {
protected:
  LocalRunnerTest() {
    folder = fs::temp_directory_path() / ("runner" + std::to_string(getpid()));
    fs::create_directories(folder);
    program = folder / "measure";
    std::ofstream(program) << script;
    fs::permissions(program, fs::perms::owner_all);
  }
  ~LocalRunnerTest() override { fs::remove_all(folder); }

  static Outcome measure(LocalRunner &runner, const std::string &name) {
    return runner.measure(*readTrace("%b = get_block \"" + name + "\""));
  }
  /// Behind one whose trace is the given one.
  Outcome second(const std::string &name) {
    LocalRunner runner(std::make_unique<FakeCandidates>(), program, LocalRunner::Setting(), [] { return false; });
    runner.leastLimit = 0.5;
    EXPECT_EQ(measure(runner, "given").kind, Outcome::Measured);
    Outcome outcome = measure(runner, name);
    EXPECT_EQ(measure(runner, "slower").kind, Outcome::Measured) << "it goes on behind " << name;
    return outcome;
  }

  fs::path folder, program;
};
} // namespace

TEST_F(LocalRunnerTest, Gains) {
  Outcome faster = second("faster");
  EXPECT_TRUE(faster.kind == Outcome::Measured && faster.isFaster);
  EXPECT_EQ(faster.ratio, 0.5);
  EXPECT_FALSE(second("slower").isFaster);
}

TEST_F(LocalRunnerTest, AGainHasToBeConfirmedElsewhere) {
  Outcome lucky = second("lucky");
  EXPECT_EQ(lucky.kind, Outcome::Measured);
  EXPECT_FALSE(lucky.isFaster);
  EXPECT_EQ(lucky.ratio, 1);
  EXPECT_EQ(second("late").kind, Outcome::Wrong);
}

TEST_F(LocalRunnerTest, NobodyWinsAgainstABestThatIsUnusuallySlow) { EXPECT_FALSE(second("unusual").isFaster); }

TEST_F(LocalRunnerTest, WhatComputesSomethingElse) {
  Outcome outcome = second("wrong");
  EXPECT_EQ(outcome.kind, Outcome::Wrong);
  EXPECT_FALSE(outcome.isFaster);
  EXPECT_EQ(outcome.message, "DIFFERS  output");
}

TEST_F(LocalRunnerTest, WhatCrashes) {
  Outcome killed = second("killed");
  EXPECT_EQ(killed.kind, Outcome::Crashed);
  EXPECT_EQ(killed.message, "its process ended with signal 9");
  for (const char *name : {"fails", "silent", "abort"})
    EXPECT_EQ(second(name).kind, Outcome::Crashed) << name;
}

TEST_F(LocalRunnerTest, MemoryHasALimitThatIsNamed) {
  EXPECT_EQ(second("abort").message, "its process ended with signal 6; it may have needed more than 16 GiB");
}

TEST_F(LocalRunnerTest, NoFolder) {
  const char *given = std::getenv("TMPDIR");
  std::string before = given ? given : "";
  setenv("TMPDIR", (folder / "none" / "none").c_str(), 1);
  LocalRunner runner(std::make_unique<FakeCandidates>(), program, LocalRunner::Setting(), [] { return false; });
  given ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  Outcome outcome = measure(runner, "given");
  EXPECT_EQ(outcome.kind, Outcome::NotTried);
  EXPECT_EQ(outcome.message, "there is no folder for its files\nhint: TMPDIR=FOLDER");
}

TEST_F(LocalRunnerTest, WhatHangs) {
  auto start = std::chrono::steady_clock::now();
  for (const char *name : {"hangs", "endless"})
    EXPECT_EQ(second(name).kind, Outcome::TimedOut) << name;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(LocalRunnerTest, WhatIsRefused) {
  EXPECT_EQ(second("refused").message, "a primitive refuses");
  EXPECT_EQ(second("unloaded").message, "it cannot be loaded: no such file");
  EXPECT_EQ(second("noise").message, "its process printed something else");
  for (const char *name : {"refused", "unloaded", "noise"})
    EXPECT_EQ(second(name).kind, Outcome::Refused) << name;
}

TEST_F(LocalRunnerTest, AnInterruptionEndsWhatRuns) {
  bool isInterrupted = false;
  LocalRunner runner(std::make_unique<FakeCandidates>(), program, LocalRunner::Setting(),
                     [&] { return isInterrupted; });
  EXPECT_EQ(measure(runner, "given").kind, Outcome::Measured);
  isInterrupted = true;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(measure(runner, "hangs").message, "it was interrupted");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(LocalRunnerTest, NoProgram) {
  LocalRunner runner(std::make_unique<FakeCandidates>(), folder / "none", LocalRunner::Setting(), [] { return false; });
  Outcome outcome = measure(runner, "given");
  EXPECT_NE(outcome.kind, Outcome::Measured);
  EXPECT_FALSE(outcome.message.empty());
}

TEST_F(LocalRunnerTest, TheGivenOneFails) {
  for (const char *name : {"killed", "refused", "abort", "noise"}) {
    LocalRunner runner(std::make_unique<FakeCandidates>(), program, LocalRunner::Setting(), [] { return false; });
    EXPECT_NE(measure(runner, name).kind, Outcome::Measured) << name;
  }
}
