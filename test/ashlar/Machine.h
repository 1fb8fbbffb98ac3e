//===- Machine.h - the accelerator Ashlar -----------------------*- C++ -*-===//
//
// A machine that shares nothing with Quoin but the idea: a systolic array of 16 x 16 multipliers of f32 that holds
// weights, accumulators in rows of 16, two scratchpads, and a vector unit that only adds. One instruction runs after
// another. What these units cannot compute, a scalar core does.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TEST_ASHLAR_MACHINE_H
#define PERPEND_TEST_ASHLAR_MACHINE_H

#include "target/accelerator/scalar/ScalarCode.h"

#include <string>
#include <vector>

namespace ashlar {

inline constexpr uint32_t lanes = 16;            ///< f32 of a row
inline constexpr uint32_t scratchpadRows = 1024; ///< of each scratchpad
inline constexpr uint32_t accumulatorRows = 512;

enum class Opcode : uint32_t {
  Halt,
  LoadActivations, ///< `rows` rows of `columns` elements into a scratchpad, with zeros behind
  LoadWeights,
  LoadSums, ///< into accumulators
  Clear,    ///< accumulators become 0
  Multiply, ///< sums[row + r] += activations[source + r] * the 16 rows of weights from `weights` on
  Add,      ///< sums[row + r] += sums[source + r]
  Store,    ///< accumulators into memory
  Call,     ///< the scalar core calls the code at `source` with the address of a record
};

/// Addresses and distances are in bytes.
struct Instruction {
  Opcode opcode = Opcode::Halt;
  uint32_t row = 0, rows = 0, columns = 0;
  uint32_t source = 0, weights = 0;
  uint64_t address = 0;
  int64_t rowDistance = 0, columnDistance = 0;
};

struct Data {
  uint64_t byte = 0;
  std::string bytes;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<Data> data;
  std::vector<std::pair<uint64_t, uint64_t>> inputs, outputs; ///< bytes of memory: begin, size
  uint64_t memoryBytes = 0;
  std::optional<uint64_t> run; ///< struct Run of runtime/scalar/Run.h
  perpend::accelerator::ScalarCode scalar;
  std::string tables;
};

/// The file of a program.
std::string write(const Program &program);
/// Errors: it is none.
llvm::Expected<Program> read(llvm::StringRef bytes);

/// Memory as the scalar core sees it.
inline constexpr uint64_t memoryBase = 0x10'0000'0000;

/// Runs the program on this memory. Errors: an access outside of a memory, or what the scalar core did wrong.
llvm::Error run(const Program &program, std::vector<uint8_t> &memory);

} // namespace ashlar

#endif
