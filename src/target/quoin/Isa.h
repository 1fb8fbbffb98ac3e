//===- Isa.h - instructions, types and units as tables ----------*- C++ -*-===//
//
// QuoinISA.td lists every instruction once. The encoder, the legality check, the assembler and the simulator read the
// table that is generated from it through these functions, and hold no list of instructions of their own.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_ISA_H
#define PERPEND_TARGET_QUOIN_ISA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>

namespace perpend::quoin {

/// Element types. The numbers are those of the encoding.
enum class DType : uint8_t { None, I8, U8, I16, I32, F16, BF16, F32, Pred8 };
inline constexpr unsigned numDTypes = 9;

/// Memories that an operand can name. The numbers are those of the encoding.
enum class Space : uint8_t { None, DDR, LLB, L1, L0A, L0B, L0C, SReg };
inline constexpr unsigned numSpaces = 8;

/// Units of a core; each has a queue of its own. The numbers are those of the encoding.
enum class Unit : uint8_t { SEQ, LD, FD, MX, VX, ST, SC };
inline constexpr unsigned numUnits = 7;

/// Operand mode of binary vector instructions: what the second operand is.
enum class Operands : uint8_t {
  Tensor, ///< mm: a tensor as large as the first
  Row,    ///< mv: one row of e0 elements, for all rows
  Column, ///< mc: one element for each row, for all elements of the row
  Scalar, ///< mf: imm[0]
};

/// Function that `drain` and `addrelu` apply at the end.
enum class Activation : uint8_t { None, Relu, Relu6, Sigmoid, Tanh, Gelu, Silu };

enum class Opcode : uint16_t {
#define QUOIN_OPCODE(name, number) name = number,
#include "target/quoin/Opcodes.inc"
#undef QUOIN_OPCODE
};

/// Fields of an instruction that only some instructions read. The others must hold their default there.
enum Field : uint32_t {
  FieldStride1 = 1u << 0,
  FieldStride2 = 1u << 1,
  FieldInner = 1u << 2,
  FieldAxis = 1u << 3,
  FieldImm0 = 1u << 4,
  FieldImm1 = 1u << 5,
  FieldImm2 = 1u << 6,
  FieldImm3 = 1u << 7,
  FieldKernel = 1u << 8,
  FieldPad = 1u << 9,
  FieldInput = 1u << 10,
  FieldStart = 1u << 11,
  FieldChannels = 1u << 12,
  FieldMask = 1u << 13,
  FieldActivation = 1u << 14,
  FieldRound = 1u << 15,
  FieldSaturate = 1u << 16,
  FieldZero = 1u << 17,
  FieldVariant0 = 1u << 18,
  FieldVariant1 = 1u << 19,
  FieldIntImm = 1u << 20, ///< imm are integers, not f32
};

/// How the cycles of an instruction depend on its extents (Cycles.cpp).
enum class CycleKind : uint8_t { Control, Transfer, Feed, Matrix, Vector, VectorReduce, Scalar };

/// Operands in the order of the encoding.
enum OperandIndex : uint8_t { Dst, Src0, Src1, Src2 };
inline constexpr unsigned numOperands = 4;

/// The elements that an operand has, of the instruction's extents (Access.cpp).
enum class Shape : uint8_t {
  Nothing, ///< no memory: absent, a register or a number
  Full,    ///< e2 planes of e1 rows of e0 elements
  FullI32, ///< Full, of i32
  Plane,   ///< e1 rows of e0 elements
  Line,    ///< e0 elements
  Transposed,
  Permuted,
  Padded,
  PaddedRows,
  Table,
  Index,
  Table256,
  Image,
  Reduced,
  ReducedPair,
  Pairs,
  Pairs1,
  PairsBoth,
  FractalA,
  FractalB,
  FractalTaps,
  Fractal, ///< TileC in L0C, FractalA elsewhere
  TileC,
  ZeroPoints,
  Address, ///< an address, of which nothing is known
  Element,
};

struct OperandInfo {
  uint8_t spaces = 0; ///< bit s: Space s is allowed; bit 0: a number; 0: the instruction has no such operand
  Shape shape = Shape::Nothing;
  uint16_t alignment = 0; ///< in bytes; 0: that of the element type
  bool isOptional = false;
  bool isWritten = false; ///< dst is, and some others

  bool exists() const { return spaces != 0; }
  bool allows(Space space) const { return spaces >> unsigned(space) & 1; }
};

/// One allowed combination of types; bit t of a set: DType t is allowed.
struct TypeRule {
  enum Equality : uint8_t {
    Independent,
    AllEqual,    ///< all types that exist are equal
    SourceEqual, ///< those of dst and src0 are
  };
  uint16_t dst, src0, src1;
  Equality equality;
};

struct InstructionInfo {
  llvm::StringLiteral name; ///< mnemonic
  Opcode opcode;
  char family; ///< the letter of its family, A to M
  Unit unit;
  std::array<OperandInfo, numOperands> operands;
  llvm::ArrayRef<TypeRule> types;
  uint8_t modes;                                  ///< bit m: Operands m is allowed; 0: it has no operand modes
  OperandIndex modeOperand;                       ///< the operand to which the mode applies
  uint32_t fields;                                ///< set of Field
  uint32_t maxAxis;                               ///< if it has FieldAxis
  std::array<uint32_t, 3> maxExtent;              ///< of e0, e1, e2; 0: the extent is not used and must be 0
  std::array<llvm::StringLiteral, 3> extentNames; ///< as the assembler knows them
  CycleKind cycleKind;
  unsigned cycleRate;                          ///< Vector: passes for each 128 bytes; Feed: bytes for each cycle
  std::array<llvm::StringLiteral, 2> variants; ///< names of the two flags of its own
  llvm::StringLiteral description;

  bool has(Field field) const { return fields & field; }
};

/// All instructions, by number of opcode.
llvm::ArrayRef<InstructionInfo> allInstructions();
/// Null for a number that is no opcode.
const InstructionInfo *findInstruction(unsigned opcode);
const InstructionInfo &infoOf(Opcode opcode);
std::optional<Opcode> opcodeNamed(llvm::StringRef mnemonic);

unsigned sizeOf(DType type); ///< in bytes; 0 for None
bool isFloat(DType type);
/// Whether a conversion keeps all values, and their kind: floats, or whole numbers.
bool isWidening(DType from, DType to);
llvm::StringRef nameOf(DType type);
llvm::StringRef nameOf(Space space);
llvm::StringRef nameOf(Unit unit);
llvm::StringRef nameOf(Operands mode);
llvm::StringRef nameOf(Activation activation);
std::optional<DType> dtypeNamed(llvm::StringRef name);
std::optional<Space> spaceNamed(llvm::StringRef name);
std::optional<Unit> unitNamed(llvm::StringRef name);
std::optional<Operands> operandsNamed(llvm::StringRef name);
std::optional<Activation> activationNamed(llvm::StringRef name);

} // namespace perpend::quoin

#endif
