//===- EncodingTest.cpp - bits, object files and text, there and back ------===//

#include "RandomInstruction.h"
#include "target/quoin/Program.h"

#include <gtest/gtest.h>

namespace perpend::quoin::test {
namespace {
const Config config = *configNamed("qn-c8");

/// Some legal instructions of each opcode that has types.
std::vector<Instruction> someInstructions(uint64_t seed) {
  std::vector<Instruction> all;
  std::mt19937_64 random(seed);
  for (const InstructionInfo &info : allInstructions())
    for (const TypeRule &rule : info.types)
      for (unsigned mode = 0; mode < 4; ++mode)
        if (info.family < 'L' && (info.modes ? info.modes >> mode & 1 : mode == 0))
          if (auto instruction = randomInstruction(info.opcode, &rule, Operands(mode), config, random)) {
            Unit peer = info.unit == Unit::LD ? Unit::VX : Unit::LD;
            instruction->wait = {{peer, uint8_t(random() % 16), random() % 2 == 0}, {Unit::SEQ, 3, false}};
            instruction->set = {{peer, uint8_t(random() % 16), random() % 2 == 0}};
            instruction->loopMask = random() % 256;
            all.push_back(*instruction);
          }
  return all;
}

Program programOf(const std::vector<Instruction> &instructions) {
  Program program;
  program.config = config;
  program.cores = {instructions};
  Instruction halt;
  halt.opcode = Opcode::halt;
  program.cores[0].push_back(halt);
  program.symbols = {{"x", Symbol::Kind::Input, Space::DDR, 0, 64, 128}, {"y", Symbol::Kind::Scratch, Space::L1, 2, 0, 64}};
  program.data = {{0, 64, {1, 2, 3}}};
  program.scalar.image = {0x67, 0x80, 0, 0};
  program.scalar.entries = {{"f", 0}};
  program.cores[0][0].location = locationIndex(program, "node 'conv \"1\"'");
  return program;
}

TEST(Encoding, DecodesToTheSame) {
  for (const Instruction &instruction : someInstructions(1)) {
    std::vector<uint8_t> bytes;
    encode(instruction, bytes);
    llvm::ArrayRef<uint8_t> rest(bytes);
    llvm::Expected<Instruction> decoded = decode(rest);
    ASSERT_TRUE(bool(decoded)) << llvm::toString(decoded.takeError());
    EXPECT_EQ(*decoded, instruction) << toString(instruction) << "\n" << toString(*decoded);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(Encoding, RefusesReservedBits) {
  Instruction nop;
  std::vector<uint8_t> bytes;
  encode(nop, bytes);
  ASSERT_EQ(bytes.size(), 64u);
  // Operands may lie on other cores and have other addresses; what is left of each operand's word is reserved.
  for (unsigned bit : {36, 37, 38, 39, 63, 2 * 64 + 41, 2 * 64 + 48, 6 * 64 + 63, 7 * 64 + 63}) {
    std::vector<uint8_t> changed = bytes;
    changed[bit / 8] ^= 1 << bit % 8;
    llvm::ArrayRef<uint8_t> rest(changed);
    llvm::Expected<Instruction> decoded = decode(rest);
    EXPECT_FALSE(bool(decoded)) << "bit " << bit;
    llvm::consumeError(decoded.takeError());
  }
}

TEST(Object, ReadsWhatItWrote) {
  Program program = programOf(someInstructions(2));
  ASSERT_EQ(check(program), "");
  std::vector<uint8_t> bytes = writeObject(program);
  llvm::Expected<Program> read = readObject({llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), "x.qn"});
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_TRUE(*read == program);
}

TEST(Object, RefusesAnotherConfiguration) {
  Program program = programOf({Instruction()});
  std::vector<uint8_t> bytes = writeObject(program);
  constexpr llvm::StringLiteral text = "qn-c8";
  auto name = std::search(bytes.begin(), bytes.end(), text.begin(), text.end());
  ASSERT_NE(name, bytes.end());
  name[9] ^= 1; // the number of clusters follows the name
  llvm::Expected<Program> read = readObject({llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), "x.qn"});
  ASSERT_FALSE(bool(read));
  EXPECT_NE(llvm::toString(read.takeError()).find("checksum"), std::string::npos);
}

TEST(Object, AnyBytesAreSafe) {
  std::vector<uint8_t> bytes = writeObject(programOf(someInstructions(3)));
  std::mt19937_64 random(4);
  for (unsigned round = 0; round < 3000; ++round) {
    std::vector<uint8_t> changed = bytes;
    unsigned changes = 1 + random() % 4;
    for (unsigned change = 0; change < changes; ++change)
      changed[random() % (random() % 2 ? changed.size() : 256)] = uint8_t(random());
    if (random() % 4 == 0)
      changed.resize(random() % changed.size());
    llvm::Expected<Program> read = readObject({llvm::StringRef(reinterpret_cast<const char *>(changed.data()), changed.size()), "x.qn"});
    if (!read)
      EXPECT_FALSE(llvm::toString(read.takeError()).empty());
    else
      EXPECT_EQ(check(*read), "");
  }
}

TEST(Assembly, ReadsWhatItPrinted) {
  Program program = programOf(someInstructions(5));
  std::string text = disassemble(program);
  llvm::Expected<Program> again = assemble({text, "x.s"});
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  ASSERT_EQ(again->cores[0].size(), program.cores[0].size());
  for (size_t index = 0; index < program.cores[0].size(); ++index)
    ASSERT_EQ(again->cores[0][index], program.cores[0][index]) << toString(program.cores[0][index]) << "\n" << toString(again->cores[0][index]);
  EXPECT_TRUE(*again == program);
}

TEST(Assembly, AnyTextIsSafe) {
  std::string text = disassemble(programOf(someInstructions(6)));
  std::mt19937_64 random(7);
  for (unsigned round = 0; round < 300; ++round) {
    size_t begin = random() % text.size();
    std::string changed = ".config qn-c8\n" + text.substr(begin, 400);
    for (unsigned change = 0; change < 3; ++change)
      changed[14 + random() % (changed.size() - 14)] = " ,[]()@=+-*%/{}\n\"0aL"[random() % 20];
    llvm::Expected<Program> program = assemble({changed, "x.s"});
    if (!program)
      EXPECT_NE(llvm::toString(program.takeError()).find("x.s:"), std::string::npos);
  }
}
} // namespace
} // namespace perpend::quoin::test
