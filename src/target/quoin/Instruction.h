//===- Instruction.h - one instruction, its bits, rules and cost -*- C++ -*-===//
//
// Strides and extents count elements. Encoded, an instruction is a word of 64 bytes, and of another 64 if it needs the
// extension (immediates, windows, a third source, inner strides, a location).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_INSTRUCTION_H
#define PERPEND_TARGET_QUOIN_INSTRUCTION_H

#include "target/quoin/Config.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace perpend::quoin {

inline constexpr unsigned wordBytes = 64;
inline constexpr uint8_t ownCore = 63;
inline constexpr uint32_t noLocation = ~0u;

struct Operand {
  Space space = Space::None;
  uint8_t generator = 0;  ///< 0: none; otherwise its value is added to `byte` when the instruction is issued
  uint8_t core = ownCore; ///< whose L1; others than the own one only for loads and stores
  uint64_t byte = 0;

  bool operator==(const Operand &) const = default;
};

/// The other end of a flag, as an instruction names it: a wait slot of unit U with peer P is the flag P>U:id, a set
/// slot is the flag U>P:id.
struct Token {
  Unit peer = Unit::SEQ;
  uint8_t id = 0;
  bool isConditional = false; ///< waits only in the first iteration, sets only in the last (loopMask)

  bool operator==(const Token &) const = default;
};

/// A flag, as setf and waitf name it in `axis`.
struct FlagName {
  Unit source = Unit::SEQ, destination = Unit::SEQ;
  uint8_t id = 0;

  uint32_t axis() const { return uint32_t(source) | uint32_t(destination) << 3 | uint32_t(id) << 6; }
  static FlagName ofAxis(uint32_t axis) { return {Unit(axis & 7), Unit(axis >> 3 & 7), uint8_t(axis >> 6 & 15)}; }
  std::string text() const; ///< such as LD>MX:3
};

/// A window that slides over an image, or the borders of a pad.
struct Window {
  uint8_t kernelHeight = 1, kernelWidth = 1;                    ///< 1 to 31
  uint8_t strideHeight = 1, strideWidth = 1;                    ///< 1 to 15
  uint8_t dilationHeight = 1, dilationWidth = 1;                ///< 1 to 15
  uint8_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0; ///< 0 to 31
  uint16_t inputHeight = 0, inputWidth = 0;                     ///< up to 4095
  uint32_t start = 0;                                           ///< first pixel of the output, 24 bits
  uint16_t channels = 0;

  bool operator==(const Window &) const = default;
};

struct Instruction {
  Opcode opcode = Opcode::nop;
  DType dstType = DType::None, src0Type = DType::None, src1Type = DType::None;

  Operands mode = Operands::Tensor;
  Activation activation = Activation::None;
  bool variant0 = false, variant1 = false; ///< flags that the instruction's entry in the table names
  bool zero = false;                       ///< zero@first: the accumulators begin at 0 in the first iteration
  uint8_t loopMask = 0; ///< bit l: first and last are those of loop l; of several loops, all must be; 0: always both
  bool saturate = false;
  uint8_t rounding = 0; ///< of rsz.nn: 0 floor, 1 ceil, 2 nearest, ties down, 3 nearest, ties up

  llvm::SmallVector<Token, 4> wait, set; ///< at most 4 each

  std::array<Operand, numOperands> operands;
  Operand &dst() { return operands[Dst]; }
  Operand &src(unsigned index) { return operands[Src0 + index]; }
  const Operand &dst() const { return operands[Dst]; }
  const Operand &src(unsigned index) const { return operands[Src0 + index]; }

  std::array<uint32_t, 3> extent = {0, 0, 0}; ///< e0 (inner), e1, e2
  uint32_t axis = 0;                          ///< axis, level of loop, batch: as the table's description says
  std::array<uint32_t, numOperands> stride1 = {0, 0, 0, 0};
  std::array<uint32_t, numOperands> stride2 = {0, 0, 0, 0};
  std::array<uint32_t, numOperands> inner = {1, 1, 1, 1};
  std::array<uint32_t, 4> imm = {0, 0, 0, 0}; ///< bits of f32, or of i32, as the table says
  Window window;
  uint32_t mask = 0;              ///< set of cores
  uint32_t location = noLocation; ///< index into Program::locations

  const InstructionInfo &info() const { return infoOf(opcode); }
  Unit unit() const { return info().unit; }
  /// Where it waits for its turn: setf with its flag's source, waitf with the destination, others with their unit.
  Unit queue() const;
  DType typeOf(unsigned operand) const; ///< that of src2 is that of src1, or where src1 has none, of src0
  float immFloat(unsigned index) const;
  void setImm(unsigned index, float value);
  bool operator==(const Instruction &) const = default;
};

/// Appends one or two words. The instruction must pass `check` of some configuration.
void encode(const Instruction &instruction, std::vector<uint8_t> &bytes);
/// Decodes the first instruction of `bytes` and removes it from them. Any bytes are safe; errors name the field.
llvm::Expected<Instruction> decode(llvm::ArrayRef<uint8_t> &bytes);

/// The violated rule, in words and with its numbers; empty: the instruction is legal on the configuration. Addresses
/// that a generator changes are checked only as far as they are known.
std::string check(const Instruction &instruction, const Config &config);

/// Bytes from the first that operand `operand` touches to behind the last. 0: it touches none.
uint64_t footprint(const Instruction &instruction, unsigned operand);

/// Of a transfer, before the latency of its memory.
inline constexpr uint64_t transferStart = 16;
/// Bytes of which addresses of vectors are multiples; others take twice as long.
inline constexpr uint64_t vectorAlignment = 32;

/// Busy cycles of the unit, without waiting for others: the formulas of docs/quoin.
uint64_t cycles(const Instruction &instruction, const Config &config);

/// The instruction as the assembler reads it.
std::string toString(const Instruction &instruction);

} // namespace perpend::quoin

#endif
