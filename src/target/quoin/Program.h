//===- Program.h - what a device runs ---------------------------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_PROGRAM_H
#define PERPEND_TARGET_QUOIN_PROGRAM_H

#include "target/accelerator/scalar/ScalarCode.h"
#include "target/quoin/Instruction.h"

#include "llvm/Support/MemoryBufferRef.h"

namespace perpend::quoin {

/// A range of DDR, LLB or L1 with a name. The host writes inputs and reads outputs by it.
struct Symbol {
  enum class Kind : uint8_t { Input, Output, Constant, Scratch };
  std::string name;
  Kind kind = Kind::Scratch;
  Space space = Space::DDR;
  uint8_t unit = 0; ///< the cluster of DDR and LLB, the core of L1
  uint64_t byte = 0;
  uint64_t sizeBytes = 0;

  bool operator==(const Symbol &) const = default;
};

/// Initial content of a range of DDR: constants.
struct Data {
  uint8_t cluster = 0;
  uint64_t byte = 0; ///< address in DDR
  std::vector<uint8_t> bytes;

  bool operator==(const Data &) const = default;
};

using accelerator::readScalarCode;
using accelerator::ScalarCode;
using accelerator::scalarCodeBase;

/// The flat address space of a core's scalar code. Each core sees the DDR and the LLB of its cluster and its own L1.
inline constexpr uint64_t scalarSRegBase = accelerator::scalarRegistersBase; ///< 64 registers of 8 bytes
inline constexpr uint64_t scalarStackBase = 0x5000'0000;                     ///< sp is at its end when a call begins
inline constexpr uint64_t scalarStackBytes = 1 << 20;
inline constexpr uint64_t scalarReturnAddress = 0x7fff'fff0; ///< ra when a call begins; a jump there ends it
inline constexpr uint64_t scalarDdrBase = 0x10'0000'0000;
inline constexpr uint64_t scalarLlbBase = 0x20'0000'0000;
inline constexpr uint64_t scalarL1Base = 0x30'0000'0000;

struct Program {
  Config config;
  std::vector<std::vector<Instruction>> cores; ///< as many as the configuration has, or fewer: the others do nothing
  std::vector<Symbol> symbols;
  std::vector<Data> data;
  ScalarCode scalar;
  std::vector<std::string> locations; ///< what traps name, such as "node 'conv1'"
  std::string tables;                 ///< of the model that it computes (runtime/include/perpend_tables.h); empty: none

  const Symbol *find(llvm::StringRef name) const;
  bool operator==(const Program &) const;
};

/// Index of a text in `locations`, which is appended if it is new.
uint32_t locationIndex(Program &program, llvm::StringRef text);

/// The first violated rule of any instruction, symbol or datum, with core and index; empty: the program is legal.
std::string check(const Program &program);

/// The object file (.qn): ELF64, machine EM_NONE.
std::vector<uint8_t> writeObject(const Program &program);
/// Any bytes are safe; errors name the section and what was expected.
llvm::Expected<Program> readObject(llvm::MemoryBufferRef file);

/// Assembles a text, with code for the scalar core whose entries it may call. Errors are "NAME:LINE:COLUMN: error: …".
llvm::Expected<Program> assemble(llvm::MemoryBufferRef text, ScalarCode scalar = {});
/// A text that assembles to the same program.
std::string disassemble(const Program &program);

} // namespace perpend::quoin

#endif
