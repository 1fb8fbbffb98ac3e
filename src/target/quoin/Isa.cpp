//===- Isa.cpp - instructions, types and units as tables -------------------===//

#include "target/quoin/Isa.h"

#include "llvm/ADT/StringMap.h"

#include <cassert>

namespace perpend::quoin {
namespace {
#include "target/quoin/InstructionTable.inc"

constexpr unsigned maxOpcode = 1 << 12;

struct Index {
  std::array<const InstructionInfo *, maxOpcode> byNumber = {};
  llvm::StringMap<Opcode> byName;

  Index() {
    for (const InstructionInfo &info : instructionTable) {
      byNumber[unsigned(info.opcode)] = &info;
      byName[info.name] = info.opcode;
    }
  }
};

const Index &instructionIndex() {
  static const Index index;
  return index;
}

constexpr llvm::StringLiteral dtypeNames[] = {"none", "i8", "u8", "i16", "i32", "f16", "bf16", "f32", "pred8"};
constexpr unsigned dtypeSizes[] = {0, 1, 1, 2, 4, 2, 2, 4, 1};
constexpr llvm::StringLiteral spaceNames[] = {"none", "DDR", "LLB", "L1", "L0A", "L0B", "L0C", "S"};
constexpr llvm::StringLiteral unitNames[] = {"SEQ", "LD", "FD", "MX", "VX", "ST", "SC"};
constexpr llvm::StringLiteral modeNames[] = {"mm", "mv", "mc", "mf"};
constexpr llvm::StringLiteral activationNames[] = {"none", "relu", "relu6", "sigmoid", "tanh", "gelu", "silu"};

template <typename T> std::optional<T> find(llvm::ArrayRef<llvm::StringLiteral> names, llvm::StringRef name) {
  for (unsigned index = 0; index < names.size(); ++index)
    if (names[index] == name)
      return T(index);
  return std::nullopt;
}
} // namespace

llvm::ArrayRef<InstructionInfo> allInstructions() { return instructionTable; }

const InstructionInfo *findInstruction(unsigned opcode) {
  return opcode < maxOpcode ? instructionIndex().byNumber[opcode] : nullptr;
}

const InstructionInfo &infoOf(Opcode opcode) {
  const InstructionInfo *info = findInstruction(unsigned(opcode));
  assert(info && "an opcode of the table");
  return *info;
}

std::optional<Opcode> opcodeNamed(llvm::StringRef mnemonic) {
  auto found = instructionIndex().byName.find(mnemonic);
  return found == instructionIndex().byName.end() ? std::nullopt : std::optional(found->second);
}

unsigned sizeOf(DType type) { return dtypeSizes[unsigned(type)]; }
bool isFloat(DType type) { return type >= DType::F16 && type <= DType::F32; }

bool isWidening(DType from, DType to) {
  return from != DType::Pred8 && to != DType::Pred8 && isFloat(from) == isFloat(to) && sizeOf(from) < sizeOf(to);
}
llvm::StringRef nameOf(DType type) { return dtypeNames[unsigned(type)]; }
llvm::StringRef nameOf(Space space) { return spaceNames[unsigned(space)]; }
llvm::StringRef nameOf(Unit unit) { return unitNames[unsigned(unit)]; }
llvm::StringRef nameOf(Operands mode) { return modeNames[unsigned(mode)]; }
llvm::StringRef nameOf(Activation activation) { return activationNames[unsigned(activation)]; }
std::optional<DType> dtypeNamed(llvm::StringRef name) { return find<DType>(dtypeNames, name); }
std::optional<Space> spaceNamed(llvm::StringRef name) { return find<Space>(spaceNames, name); }
std::optional<Unit> unitNamed(llvm::StringRef name) { return find<Unit>(unitNames, name); }
std::optional<Operands> operandsNamed(llvm::StringRef name) { return find<Operands>(modeNames, name); }
std::optional<Activation> activationNamed(llvm::StringRef name) { return find<Activation>(activationNames, name); }

} // namespace perpend::quoin
