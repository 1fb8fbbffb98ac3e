//===- ChildProcessTest.cpp - how a child ends, in words ------------------===//

#include "support/ChildProcess.h"

#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

namespace perpend::support {
namespace {

ChildResult run(llvm::function_ref<void()> body) {
  return runInChild(1, [&] { return body(), "back"; });
}

TEST(ChildProcess, WhatItReturns) {
  ChildResult result = run([] { (void)!write(STDOUT_FILENO, "printed", 7); });
  EXPECT_TRUE(result.isDone);
  EXPECT_EQ(result.text, "back");
}

TEST(ChildProcess, HowItEnds) {
  EXPECT_EQ(run([] { _exit(0); }).text, "it ends the process");
  EXPECT_EQ(run([] { raise(SIGSEGV); }).text, "it ends with signal 11 (Segmentation fault)");
  EXPECT_EQ(run([] { raise(SIGKILL); }).text, "the system kills it, as it does with what takes too much memory");
}

TEST(ChildProcess, HowLongItTakes) {
  auto compute = [] {
    for (volatile bool goesOn = true; goesOn;) {
    }
  };
  EXPECT_EQ(run(compute).text, "it takes longer than 1 s");
  EXPECT_EQ(run([&] { (void)std::signal(SIGXCPU, SIG_IGN), compute(); }).text, "it takes longer than 1 s");
  EXPECT_EQ(run([] { sleep(100); }).text, "it takes longer than 1 s");
}
} // namespace
} // namespace perpend::support
