//===- InstructionsTest.cpp - every instruction against the model ----------===//

#include "Model.h"
#include "RandomInstruction.h"
#include "target/quoin/simulator/State.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace perpend::quoin::test {
namespace {
constexpr Space spaces[] = {Space::DDR, Space::LLB, Space::L1, Space::L0A, Space::L0B, Space::L0C};

/// A device with one instruction, and the same memories for the model.
class Case {
public:
  Case(const Instruction &instruction, std::mt19937_64 &random) : instruction(instruction), random(random) {
    Program program;
    program.config = *configNamed("qn-t1");
    Instruction halt;
    halt.opcode = Opcode::halt;
    program.cores = {{instruction, halt}};
    state.emplace(std::move(program), SimulatorOptions());
  }

  void run() {
    ASSERT_FALSE(bool(state->allocate()));
    for (Space space : spaces)
      model[space].resize(state->memoryOf(0, space).sizeBytes());
    fill();
    for (Space space : spaces) {
      Memory &memory = state->memoryOf(0, space);
      std::copy(model[space].begin(), model[space].end(), memory.data());
      memory.markWritten(0, memory.sizeBytes());
    }
    std::optional<Trap> trap = state->run();
    ASSERT_FALSE(trap.has_value()) << trap->toString();
    execute(instruction, model, sregs.data());
    compare();
  }

private:
  /// Numbers of all kinds: many are small, some are anything.
  void fillFloats(const Access &access, DType type) {
    constexpr float special[] = {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, 1e-41f, 65504.0f, -6e-8f, 3.4e38f};
    uint8_t *bytes = &model[access.space][access.byte];
    for (uint64_t at = 0; at + sizeOf(type) <= access.sizeBytes(); at += sizeOf(type)) {
      float value = random() % 16 == 0 ? special[random() % 10] : float(int64_t(random() % 20001) - 10000) / 1024;
      uint32_t bits = std::bit_cast<uint32_t>(value);
      uint16_t half = type == DType::F16 ? std::bit_cast<uint16_t>(static_cast<_Float16>(value)) : uint16_t(bits >> 16);
      std::memcpy(bytes + at, type == DType::F32 ? static_cast<const void *>(&bits) : &half, sizeOf(type));
    }
  }

  void fill() {
    for (auto &[space, bytes] : model)
      for (uint8_t &byte : bytes)
        byte = uint8_t(random());
    for (const Access &access : accessesOf(instruction)) {
      DType type = instruction.typeOf(access.operand);
      uint8_t *bytes = &model[access.space][access.byte];
      if (isFloat(type))
        fillFloats(access, type);
      else if (type == DType::Pred8)
        for (uint64_t at = 0; at < access.sizeBytes(); ++at)
          bytes[at] &= 1;
      bool isPairs = instruction.opcode == Opcode::sortblk || instruction.opcode == Opcode::merge;
      if (isPairs && access.operand != Dst)
        fillPairs(access);
    }
    for (const Access &access : accessesOf(instruction))
      if (instruction.info().operands[access.operand].shape == Shape::Index)
        for (uint64_t row = 0; row < access.count[0]; ++row) {
          uint32_t index = random() % instruction.imm[0];
          std::memcpy(&model[access.space][access.byte + 4 * row], &index, 4);
        }
  }

  /// Few different keys; `merge` needs sorted runs, here of equal keys.
  void fillPairs(const Access &access) {
    uint32_t key = instruction.dstType == DType::F32 ? std::bit_cast<uint32_t>(1.5f) : 3;
    for (uint64_t at = 0; at < access.sizeBytes(); at += 8) {
      uint32_t value = instruction.opcode == Opcode::merge ? key : instruction.dstType == DType::F32 ? std::bit_cast<uint32_t>(float(random() % 7)) : random() % 7;
      std::memcpy(&model[access.space][access.byte + at], &value, 4);
    }
  }

  bool isNear(Space space, uint64_t byte) {
    if (!isApproximate(instruction.opcode, instruction.activation))
      return false;
    // The element that has the byte: they are where the result's alignment puts them.
    unsigned size = sizeOf(instruction.dstType);
    uint64_t at = byte / size * size;
    const uint8_t *found = state->memoryOf(0, space).data() + at;
    if (!isFloat(instruction.dstType)) {
      return std::abs(int(*found) - int(model[space][at])) <= 1;
    }
    int64_t left = 0, right = 0;
    std::memcpy(&left, found, size);
    std::memcpy(&right, &model[space][at], size);
    return std::abs(left - right) <= 1;
  }

  void compare() {
    for (Space space : spaces) {
      const uint8_t *found = state->memoryOf(0, space).data();
      for (uint64_t byte = 0; byte < model[space].size(); ++byte)
        if (found[byte] != model[space][byte] && !isNear(space, byte)) {
          ADD_FAILURE() << toString(instruction) << "\n  byte " << byte << " of " << nameOf(space).str() << " is " << int(found[byte])
                        << ", expected " << int(model[space][byte]);
          return;
        }
    }
    EXPECT_EQ(state->cores[0].sregs, sregs) << toString(instruction);
  }

  Instruction instruction;
  std::mt19937_64 &random;
  std::optional<Simulator::State> state;
  Memories model;
  std::array<uint64_t, numSRegs> sregs = {};
};

/// All type rules and modes of an instruction.
void testInstruction(const InstructionInfo &info, unsigned shapes) {
  std::mt19937_64 random(unsigned(info.opcode));
  Config config = *configNamed("qn-t1");
  for (const TypeRule &rule : info.types)
    for (unsigned mode = 0; mode < 4; ++mode) {
      if (info.modes ? !(info.modes >> mode & 1) : mode != 0)
        continue;
      for (unsigned shape = 0; shape < shapes && !testing::Test::HasFailure(); ++shape) {
        std::optional<Instruction> instruction = randomInstruction(info.opcode, &rule, Operands(mode), config, random);
        ASSERT_TRUE(instruction.has_value()) << info.name.str() << ": no legal instruction of mode " << mode;
        Case(*instruction, random).run();
      }
    }
}

class EveryInstruction : public testing::TestWithParam<const InstructionInfo *> {};

TEST_P(EveryInstruction, EqualsTheModel) {
  constexpr unsigned usual = 24, many = 200;
  testInstruction(*GetParam(), std::getenv("PERPEND_LONG") ? many : usual);
}

std::vector<const InstructionInfo *> tensorInstructions() {
  std::vector<const InstructionInfo *> found;
  for (const InstructionInfo &info : allInstructions())
    if (info.family < 'L')
      found.push_back(&info);
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, EveryInstruction, testing::ValuesIn(tensorInstructions()), [](const auto &info) {
  std::string name = info.param->name.str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(Table, HasTheInstructionsOfTheSpecification) {
  std::map<char, unsigned> counts;
  for (const InstructionInfo &info : allInstructions())
    ++counts[info.family];
  std::map<char, unsigned> expected = {{'A', 10}, {'B', 10}, {'C', 3}, {'D', 10}, {'E', 7}, {'F', 27}, {'G', 24},
                                       {'H', 8},  {'I', 9},  {'J', 14}, {'K', 5}, {'L', 17}, {'M', 3}};
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(tensorInstructions().size(), 127u);
}
} // namespace
} // namespace perpend::quoin::test
