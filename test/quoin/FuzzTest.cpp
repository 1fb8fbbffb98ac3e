//===- FuzzTest.cpp - random programs on a device --------------------------===//
//
// Programs of random instructions, loops and flags mostly trap. None may crash, hang or differ from itself: with the
// same seed the device does the same, and a program that ends without a trap has the same results in each order.
//
//===----------------------------------------------------------------------===//

#include "RandomInstruction.h"
#include "target/quoin/Verifier.h"

#include <gtest/gtest.h>

namespace perpend::quoin::test {
namespace {
class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed) : random(seed) {}

  Program draw() {
    program.config = *configNamed(random() % 4 ? "qn-t1" : "qn-c8");
    program.symbols = {{"x", Symbol::Kind::Input, Space::DDR, 0, 0, 1 << 16}};
    unsigned cores = program.config.coresPerCluster > 1 ? 1 + random() % 2 : 1;
    for (unsigned core = 0; core < cores; ++core) {
      body.clear();
      drawBody(1 + random() % 12, 0);
      add(Opcode::halt);
      program.cores.push_back(body);
    }
    return program;
  }

private:
  Instruction &add(Opcode opcode) {
    body.emplace_back();
    body.back().opcode = opcode;
    return body.back();
  }

  void drawBody(unsigned length, unsigned depth) {
    for (unsigned step = 0; step < length; ++step) {
      unsigned kind = random() % 10;
      if (kind == 0 && depth < 3)
        drawLoop(depth);
      else if (kind == 1)
        drawFlag();
      else if (kind == 2)
        add(Opcode::fence);
      else
        drawTensor();
    }
  }

  void drawLoop(unsigned depth) {
    size_t begin = body.size();
    add(Opcode::loop).axis = depth;
    body[begin].src(0).byte = random() % 4;
    drawBody(1 + random() % 4, depth + 1);
    body[begin].dst().byte = body.size();
    Instruction &end = add(Opcode::endl);
    end.axis = depth;
    end.dst().byte = begin;
  }

  void drawFlag() {
    Unit source = Unit(random() % numUnits), destination = Unit(random() % numUnits);
    if (source == destination)
      return;
    Instruction &flag = add(random() % 2 ? Opcode::setf : Opcode::waitf);
    flag.axis = FlagName{source, destination, uint8_t(random() % 3)}.axis();
    flag.extent[0] = 1 + random() % 2;
  }

  void drawTensor() {
    const InstructionInfo *info = nullptr;
    while (!info || info->family >= 'L')
      info = &allInstructions()[random() % allInstructions().size()];
    const TypeRule &rule = info->types[random() % info->types.size()];
    auto instruction = randomInstruction(info->opcode, &rule, Operands(random() % 4), program.config, random);
    if (!instruction)
      return;
    Unit peer = Unit(random() % numUnits);
    if (peer != info->unit && random() % 3 == 0)
      instruction->set.push_back({peer, uint8_t(random() % 3), random() % 2 == 0});
    if (peer != info->unit && random() % 3 == 0)
      instruction->wait.push_back({peer, uint8_t(random() % 3), random() % 2 == 0});
    instruction->loopMask = random() % 8;
    for (unsigned operand = 0; operand < numOperands; ++operand)
      if (instruction->operands[operand].space != Space::None && random() % 8 == 0)
        instruction->operands[operand].generator = 1;
    body.push_back(*instruction);
  }

  std::mt19937_64 random;
  Program program;
  std::vector<Instruction> body;
};

/// The trap's text, or the bytes of x.
std::string outcome(const Program &program, SimulatorOptions options) {
  auto simulator = Simulator::create(program, options);
  if (!simulator)
    return llvm::toString(simulator.takeError());
  std::vector<uint8_t> bytes(1 << 16, 1);
  EXPECT_FALSE(bool((*simulator)->write("x", bytes)));
  if (std::optional<Trap> trap = (*simulator)->run())
    return trap->toString();
  EXPECT_FALSE(bool((*simulator)->read("x", bytes)));
  return std::string(bytes.begin(), bytes.end());
}

TEST(Fuzz, ProgramsAreSafeAndRepeatable) {
  unsigned ended = 0;
  const uint64_t programs = std::getenv("PERPEND_LONG") ? 20000 : 1000;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    Program program = RandomProgram(seed).draw();
    SimulatorOptions options;
    options.checkUninitialised = seed % 3 == 0;
    options.trapNaN = seed % 7 == 0;
    std::string first = outcome(program, options);
    ASSERT_EQ(outcome(program, options), first) << "seed " << seed;
    bool hasEnded = !llvm::StringRef(first).starts_with("E_") && !llvm::StringRef(first).starts_with("the program");
    ended += hasEnded;
    options.seed = 1;
    if (hasEnded)
      ASSERT_EQ(outcome(program, options), first) << "seed " << seed << "\n" << disassemble(program);
    for (SimulatorMode mode : {SimulatorMode::Cycle, SimulatorMode::Time}) {
      options.mode = mode;
      std::string timed = outcome(program, options);
      if (hasEnded && mode == SimulatorMode::Cycle)
        ASSERT_EQ(timed, first) << "seed " << seed << "\n" << disassemble(program);
    }
    if (verify(program).findings.empty() &&
        seed % 3 == 0) // the verifier says yes: no run may say no, except for values
      EXPECT_TRUE(hasEnded || llvm::StringRef(first).starts_with("E_INDEX") ||
                  llvm::StringRef(first).starts_with("E_NAN"))
          << first;
  }
  EXPECT_GT(ended, programs / 50);
}
} // namespace
} // namespace perpend::quoin::test
