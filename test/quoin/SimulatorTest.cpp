//===- SimulatorTest.cpp - what a device does with good and bad programs ---===//

#include "target/quoin/Simulator.h"
#include "target/quoin/Verifier.h"

#include <gtest/gtest.h>

namespace perpend::quoin::test {
namespace {
Program assembled(llvm::StringRef text, llvm::StringRef config = "qn-t1") {
  std::string whole = (".config " + config + "\n" + text).str();
  llvm::Expected<Program> program = assemble({whole, "x.s"});
  if (program)
    return std::move(*program);
  ADD_FAILURE() << llvm::toString(program.takeError());
  return {};
}

std::optional<Trap> runWith(const Program &program, SimulatorOptions options) {
  auto simulator = Simulator::create(program, options);
  if (!simulator) {
    ADD_FAILURE() << llvm::toString(simulator.takeError());
    return std::nullopt;
  }
  return (*simulator)->run();
}

/// The program traps with the code, in each of some orders, and its message has the text.
void expectTrap(llvm::StringRef text, TrapCode code, llvm::StringRef part, llvm::StringRef config = "qn-t1") {
  Program program = assembled(text, config);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    std::optional<Trap> trap = runWith(program, options);
    ASSERT_TRUE(trap.has_value()) << text.str();
    EXPECT_EQ(nameOf(trap->code), nameOf(code)) << trap->toString();
    EXPECT_NE(trap->toString().find(part.str()), std::string::npos) << trap->toString();
  }
}

TEST(Traps, RaceIsFoundInEachOrder) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(16)\n mov f32 L1[64], L1[0], e=(16) wait LD>VX:0\n ld.fill f32 L1[64], e=(16) set LD>VX:0\n halt",
             TrapCode::RACE, "no flag orders the two");
}

TEST(Traps, UninitialisedReadNamesTheByte) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(16) set LD>VX:0\n mov f32 L1[128], L1[0], e=(17) wait LD>VX:0\n halt", TrapCode::UNINIT,
             "byte 64 of L1 was never written");
}

TEST(Traps, DeadlockNamesTheCycle) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(16) wait VX>LD:1 set LD>VX:2\n neg f32 L1[64], L1[0], e=(16) wait LD>VX:2 set VX>LD:1\n halt",
             TrapCode::DEADLOCK, "unit LD of core 0 waits at instruction 0 for tokens of VX>LD:1");
}

TEST(Traps, FlagsOverflow) {
  expectTrap(".core 0\n loop l0, 16 {\n ld.fill f32 L1[0], e=(16) set LD>VX:0\n }\n halt", TrapCode::FLAG, "more than 15 tokens");
}

TEST(Traps, FlagsAreLeft) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(16) set LD>VX:3\n halt", TrapCode::FLAG, "flag LD>VX:3 has 1 tokens at the end");
}

TEST(Traps, AddressOfALoopLeavesTheMemory) {
  expectTrap(".core 0\n loop l0, 5 {\n ld.fill f32 L1[l0*16K], e=(16)\n }\n halt", TrapCode::OOB, "of L1, which has 65536");
}

TEST(Traps, AddressOfALoopIsNotAligned) {
  expectTrap(".core 0\n loop l0, 5 {\n ld.fill f32 L1[l0*2], e=(16)\n }\n halt", TrapCode::ALIGN, "not aligned to 4 bytes");
}

TEST(Traps, AddressesOfALoopOverlap) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(64) set LD>VX:0\n waitf LD>VX:0, 1\n loop l0, 2 {\n neg f32 L1[64-l0*32], L1[0], e=(16)\n }\n halt",
             TrapCode::OVERLAP, "dst overlaps src0");
}

TEST(Traps, IndexIsOutsideOfItsTable) {
  expectTrap(".constant i, DDR, 8\n.data i, i32, 1, 4\n.core 0\n ld.fill f32 L1[0], e=(64)\n ld.1d i32 L1[1024], DDR[i], e0=2 set LD>VX:0\n"
             " gather f32,i32->f32 L1[2048], L1[0], L1[1024], e=(8,2), imm=4 wait LD>VX:0\n halt",
             TrapCode::INDEX, "index 4 of row 1 in a table of 4 rows");
}

TEST(Traps, TrapHasACode) { expectTrap(".core 0\n trap 7\n halt", TrapCode::USER, "code 7"); }

TEST(Traps, LocationIsNamed) {
  expectTrap(".core 0\n.loc \"node 'conv1'\"\n ld.fill f32 L1[0], e=(16)\n neg f32 L1[64], L1[0], e=(16)\n halt", TrapCode::RACE, "node 'conv1'");
}

TEST(Traps, LifetimeThatEnded) {
  expectTrap(".core 0\n ld.fill f32 L1[0], e=(16) set LD>VX:0\n fence\n mark L1[0], 64, end\n neg f32 L1[64], L1[0], e=(16) wait LD>VX:0\n halt",
             TrapCode::UNINIT, "byte 0 of L1");
}

TEST(Cores, BarrierOrdersThem) {
  llvm::StringRef good = ".scratch s, LLB, 64\n.core 0\n ld.fill f32 L1[0], e=(16) set LD>ST:0\n st.1d f32 LLB[s], L1[0], e0=16 wait LD>ST:0\n"
                         " fence\n bar 0, 3\n halt\n.core 1\n bar 0, 3\n ld.1d f32 L1[0], LLB[s], e0=16\n halt";
  EXPECT_FALSE(runWith(assembled(good, "qn-c8"), {}).has_value());
  std::string bad = good.str();
  bad.erase(bad.find(" fence\n"), 7); // the core comes to the barrier while its store is in its queue
  bool found = false;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    std::optional<Trap> trap = runWith(assembled(bad, "qn-c8"), options);
    found |= trap && (trap->code == TrapCode::RACE || trap->code == TrapCode::UNINIT);
    EXPECT_TRUE(trap.has_value());
  }
  EXPECT_TRUE(found);
}

TEST(Cores, SemaphoreOrdersThem) {
  Program program = assembled(".scratch s, LLB, 64\n.core 0\n ld.fill f32 L1[0], e=(16) set LD>ST:0\n st.1d f32 LLB[s], L1[0], e0=16 wait LD>ST:0 set ST>SEQ:0\n"
                              " waitf ST>SEQ:0, 1\n semp 5, 1\n halt\n.core 1\n semw 5, 1\n ld.1d f32 L1[0], LLB[s], e0=16\n halt",
                              "qn-c8");
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    EXPECT_FALSE(runWith(program, options).has_value());
  }
}

TEST(Cores, MissingCoreAtABarrierIsADeadlock) {
  expectTrap(".core 0\n bar 0, 3\n halt\n.core 1\n halt", TrapCode::DEADLOCK, "waits at instruction 0 at barrier 0", "qn-c8");
}

TEST(Loops, RunAsOftenAsTheySay) {
  // 3 * 4 additions of 1; a loop of 0 is skipped.
  Program program = assembled(".output y, DDR, 4\n.core 0\n ld.fill i32 L1[0], e=(1) set LD>VX:0\n waitf LD>VX:0, 1\n loop l0, 3 {\n loop l1, 4 {\n"
                              " add.mf i32 L1[0], L1[0], imm=1\n }\n loop l2, 0 {\n trap 1\n }\n }\n setf VX>ST:0, 1\n"
                              " st.1d i32 DDR[y], L1[0], e0=1 wait VX>ST:0\n halt");
  auto simulator = Simulator::create(program, {});
  ASSERT_TRUE(bool(simulator));
  std::optional<Trap> trap = (*simulator)->run();
  ASSERT_FALSE(trap.has_value()) << trap->toString();
  std::vector<uint8_t> bytes(4);
  ASSERT_FALSE(bool((*simulator)->read("y", bytes)));
  EXPECT_EQ(bytes[0], 12);
}

TEST(Verifier, FindsALoopOfZeroIterations) {
  // The loop sets the flag that VX waits for, unless it does not run.
  Program program = assembled(".core 0\n ld.fill i32 L1[0], e=(1) set LD>SC:0\n sc.get i32 S[0], L1[0] wait LD>SC:0 set SC>SEQ:0\n waitf SC>SEQ:0, 1\n"
                              " loop l0, S[0] {\n ld.fill f32 L1[64], e=(16) set LD>VX:0@last\n }\n neg f32 L1[128], L1[64], e=(16) wait LD>VX:0\n halt");
  Verification result = verify(program);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(nameOf(result.findings[0].trap.code), "E_DEADLOCK");
  EXPECT_NE(result.findings[0].choices.find(": 0 times"), std::string::npos) << result.findings[0].choices;
}

TEST(Verifier, SaysWhatItCannotKnow) {
  Program program = assembled(".code \"67800000\"\n.core 0\n sc.call 0\n halt");
  Verification result = verify(program);
  EXPECT_TRUE(result.findings.empty());
  ASSERT_EQ(result.limits.size(), 1u);
  EXPECT_NE(result.limits[0].find("scalar code"), std::string::npos);
}

TEST(Time, SharesBandwidthOfDdr) {
  std::string one = ".input x, DDR, 1M\n.core 0\n ld.1d f32 L1[0], DDR[x], e0=65535\n halt\n";
  std::string two = one + ".core 1\n ld.1d f32 L1[0], DDR[x+512K], e0=65535\n halt\n";
  auto cyclesOf = [](const std::string &text) {
    Program program = assembled(text, "qn-c8");
    SimulatorOptions options;
    options.mode = SimulatorMode::Time;
    auto simulator = Simulator::create(program, options);
    EXPECT_TRUE(bool(simulator));
    EXPECT_FALSE((*simulator)->run().has_value());
    return (*simulator)->counters().cycles;
  };
  uint64_t alone = cyclesOf(one), both = cyclesOf(two);
  EXPECT_NEAR(double(alone), 16 + 200 + 65535 * 4 / 32, 4);
  EXPECT_NEAR(double(both), 16 + 200 + 2 * 65535 * 4 / 32, 4);
}

TEST(Time, CountsAsTheFormulasDo) {
  Program program = assembled(".core 0\n mm f16->f32 L0C[0], L0A[0], L0B[0], 64x64x32\n halt", "qn-t1");
  EXPECT_EQ(cycles(program.cores[0][0], program.config), 8u + 4 * 4 * 4);
  Program vector = assembled(".core 0\n exp f16 L1[0], L1[0], e=(64,10)\n halt");
  EXPECT_EQ(cycles(vector.cores[0][0], vector.config), 6u + 10 * 1 * 4);
}
} // namespace
} // namespace perpend::quoin::test
