// Executes programs, one instruction after the other.
#include "Machine.h"
#include "target/accelerator/scalar/Hart.h"

#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <cstring>

namespace ashlar {
namespace {

namespace scalar = perpend::accelerator::scalar;
using Row = std::array<float, lanes>;

constexpr uint64_t stackBase = 0x5000'0000, stackBytes = 1 << 20, returnAddress = 0x7fff'fff0;
constexpr unsigned ra = 1, sp = 2, a0 = 10;
constexpr uint64_t mostInstructions = uint64_t{1} << 36;

/// What the scalar core sees.
class Bus final : public scalar::Bus {
public:
  Bus(const Program &program, std::vector<uint8_t> &memory) : image(program.scalar.image), memory(memory) {}

  uint8_t *access(uint64_t address, unsigned sizeBytes, bool isWrite) override {
    auto within = [&](uint64_t base, auto &bytes) -> uint8_t * {
      const uint64_t byte = address - base;
      return address >= base && byte < bytes.size() && bytes.size() - byte >= sizeBytes ? bytes.data() + byte : nullptr;
    };
    uint8_t *found = within(memoryBase, memory);
    if (!found)
      found = within(stackBase, stack);
    if (!found)
      found = within(perpend::accelerator::scalarRegistersBase, registers);
    if (!found && !isWrite)
      found = within(perpend::accelerator::scalarCodeBase, image);
    if (!found)
      failed = address;
    return found;
  }

  std::optional<uint64_t> failed;

private:
  std::vector<uint8_t> image;
  std::vector<uint8_t> &memory;
  std::vector<uint8_t> stack = std::vector<uint8_t>(stackBytes), registers = std::vector<uint8_t>(16);
};

class Machine {
public:
  Machine(const Program &program, std::vector<uint8_t> &memory)
      : program(program), memory(memory), bus(program, memory), code(scalar::decode(program.scalar.image)) {}

  llvm::Error execute(const Instruction &instruction);

private:
  llvm::Error load(const Instruction &instruction, std::vector<Row> &rows);
  llvm::Error store(const Instruction &instruction);
  llvm::Error multiply(const Instruction &instruction);
  llvm::Error add(const Instruction &instruction);
  llvm::Error call(const Instruction &instruction);
  llvm::Error fail(const Instruction &instruction, const llvm::Twine &text) {
    return llvm::createStringError("instruction " + llvm::Twine(&instruction - program.instructions.data()) + ": " +
                                   text);
  }
  static bool fits(const std::vector<Row> &rows, uint64_t first, uint64_t count) {
    return first <= rows.size() && count <= rows.size() - first;
  }
  uint8_t *elementAt(const Instruction &instruction, uint32_t row, uint32_t column) {
    const uint64_t byte = instruction.address + row * static_cast<uint64_t>(instruction.rowDistance) +
                          column * static_cast<uint64_t>(instruction.columnDistance);
    return byte < memory.size() && memory.size() - byte >= sizeof(float) ? memory.data() + byte : nullptr;
  }

  const Program &program;
  std::vector<uint8_t> &memory;
  Bus bus;
  std::vector<scalar::Decoded> code;
  std::vector<Row> activations = std::vector<Row>(scratchpadRows), weights = std::vector<Row>(scratchpadRows),
                   sums = std::vector<Row>(accumulatorRows);
};

llvm::Error Machine::load(const Instruction &instruction, std::vector<Row> &rows) {
  if (!fits(rows, instruction.row, instruction.rows) || instruction.columns > lanes)
    return fail(instruction, "rows that the memory does not have");
  for (uint32_t row = 0; row < instruction.rows; ++row) {
    rows[instruction.row + row].fill(0);
    for (uint32_t column = 0; column < instruction.columns; ++column) {
      const uint8_t *element = elementAt(instruction, row, column);
      if (!element)
        return fail(instruction, "an address outside of the memory");
      std::memcpy(&rows[instruction.row + row][column], element, sizeof(float));
    }
  }
  return llvm::Error::success();
}

llvm::Error Machine::store(const Instruction &instruction) {
  if (!fits(sums, instruction.row, instruction.rows) || instruction.columns > lanes)
    return fail(instruction, "rows that the memory does not have");
  for (uint32_t row = 0; row < instruction.rows; ++row)
    for (uint32_t column = 0; column < instruction.columns; ++column) {
      uint8_t *element = elementAt(instruction, row, column);
      if (!element)
        return fail(instruction, "an address outside of the memory");
      std::memcpy(element, &sums[instruction.row + row][column], sizeof(float));
    }
  return llvm::Error::success();
}

llvm::Error Machine::multiply(const Instruction &instruction) {
  if (!fits(sums, instruction.row, instruction.rows) || !fits(activations, instruction.source, instruction.rows) ||
      !fits(weights, instruction.weights, lanes))
    return fail(instruction, "rows that a memory does not have");
  for (uint32_t row = 0; row < instruction.rows; ++row)
    for (uint32_t k = 0; k < lanes; ++k)
      for (uint32_t column = 0; column < lanes; ++column)
        sums[instruction.row + row][column] +=
            activations[instruction.source + row][k] * weights[instruction.weights + k][column];
  return llvm::Error::success();
}

llvm::Error Machine::add(const Instruction &instruction) {
  if (!fits(sums, instruction.row, instruction.rows) || !fits(sums, instruction.source, instruction.rows))
    return fail(instruction, "rows that the memory does not have");
  for (uint32_t row = 0; row < instruction.rows; ++row)
    for (uint32_t column = 0; column < lanes; ++column)
      sums[instruction.row + row][column] += sums[instruction.source + row][column];
  return llvm::Error::success();
}

llvm::Error Machine::call(const Instruction &instruction) {
  scalar::Hart hart(code, perpend::accelerator::scalarCodeBase, bus);
  hart.x[a0] = memoryBase + instruction.address;
  hart.x[ra] = returnAddress;
  hart.x[sp] = stackBase + stackBytes;
  const uint64_t entry = perpend::accelerator::scalarCodeBase + instruction.source;
  if (hart.call(entry, returnAddress, mostInstructions) == scalar::Ending::Returned)
    return llvm::Error::success();
  return fail(instruction,
              llvm::formatv("the scalar core stopped at {0:x}: {1}", hart.pc,
                            bus.failed ? llvm::formatv("no memory at {0:x}", *bus.failed).str() : hart.fault));
}

llvm::Error Machine::execute(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::LoadActivations:
    return load(instruction, activations);
  case Opcode::LoadWeights:
    return load(instruction, weights);
  case Opcode::LoadSums:
    return load(instruction, sums);
  case Opcode::Clear:
    return fits(sums, instruction.row, instruction.rows)
               ? (std::fill_n(sums.begin() + instruction.row, instruction.rows, Row{}), llvm::Error::success())
               : fail(instruction, "rows that the memory does not have");
  case Opcode::Multiply:
    return multiply(instruction);
  case Opcode::Add:
    return add(instruction);
  case Opcode::Store:
    return store(instruction);
  case Opcode::Call:
    return call(instruction);
  case Opcode::Halt:
    return llvm::Error::success();
  }
  return fail(instruction, "no instruction");
}

} // namespace

llvm::Error run(const Program &program, std::vector<uint8_t> &memory) {
  Machine machine(program, memory);
  for (const Instruction &instruction : program.instructions) {
    if (instruction.opcode == Opcode::Halt)
      break;
    if (llvm::Error error = machine.execute(instruction))
      return error;
  }
  return llvm::Error::success();
}

} // namespace ashlar
