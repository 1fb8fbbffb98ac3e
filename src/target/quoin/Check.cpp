//===- Check.cpp - the rules that an instruction keeps ---------------------===//

#include "target/quoin/Access.h"
#include "target/quoin/Trap.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <bit>

using llvm::Twine;

namespace perpend::quoin {
namespace {
using Found = std::optional<Violation>;

Violation broken(TrapCode code, const Twine &text) { return {code, text.str()}; }
std::string number(uint64_t value) { return std::to_string(value); }
constexpr const char *operandNames[] = {"dst", "src0", "src1", "src2"};

/// The operand is left out because the mode says that it is imm0.
bool isImmediate(const Instruction &instruction, unsigned operand) {
  const InstructionInfo &info = instruction.info();
  return info.modes && operand == info.modeOperand && operand > Src0 && instruction.mode == Operands::Scalar;
}

std::string typesText(const Instruction &instruction) {
  return "dst " + nameOf(instruction.dstType).str() + ", src0 " + nameOf(instruction.src0Type).str() + ", src1 " +
         nameOf(instruction.src1Type).str();
}

bool matches(const TypeRule &rule, const Instruction &instruction) {
  bool skipSrc1 = isImmediate(instruction, Src1);
  auto allowed = [](uint16_t set, DType type) { return set ? set >> unsigned(type) & 1 : type == DType::None; };
  bool src1Fits = skipSrc1 ? instruction.src1Type == DType::None : allowed(rule.src1, instruction.src1Type);
  if (!allowed(rule.dst, instruction.dstType) || !allowed(rule.src0, instruction.src0Type) || !src1Fits)
    return false;
  bool src0Equal = !rule.src0 || instruction.src0Type == instruction.dstType;
  bool src1Equal = !rule.src1 || skipSrc1 || instruction.src1Type == instruction.dstType;
  if (rule.equality == TypeRule::AllEqual)
    return src0Equal && src1Equal;
  return rule.equality == TypeRule::Independent || src0Equal;
}

Found checkTypes(const Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  if (info.types.empty()) {
    if (instruction.dstType != DType::None || instruction.src0Type != DType::None || instruction.src1Type != DType::None)
      return broken(TrapCode::DTYPE, Twine(info.name) + " has no types, got " + typesText(instruction));
    return std::nullopt;
  }
  if (llvm::any_of(info.types, [&](const TypeRule &rule) { return matches(rule, instruction); }))
    return std::nullopt;
  return broken(TrapCode::DTYPE, Twine(info.name) + " does not take " + typesText(instruction));
}

Found checkMode(const Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  if (info.modes == 0 && instruction.mode != Operands::Tensor)
    return broken(TrapCode::ILLEGAL, Twine(info.name) + " has no mode " + nameOf(instruction.mode));
  if (info.modes && !(info.modes >> unsigned(instruction.mode) & 1))
    return broken(TrapCode::ILLEGAL, Twine(info.name) + " has no mode " + nameOf(instruction.mode));
  return std::nullopt;
}

Found checkExtents(const Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  bool maybeZero = instruction.opcode == Opcode::setag;
  for (unsigned index = 0; index < 3; ++index) {
    uint32_t extent = instruction.extent[index], maximum = info.maxExtent[index];
    llvm::StringRef name = info.extentNames[index];
    if (maximum == 0 && extent != 0)
      return broken(TrapCode::SHAPE, Twine(info.name) + " has no extent e" + number(index) + ", got " + number(extent));
    if (maximum && !maybeZero && extent == 0)
      return broken(TrapCode::SHAPE, "extent " + name + " is 0");
    if (extent > maximum)
      return broken(TrapCode::SHAPE, "extent " + name + " is " + number(extent) + ", at most " + number(maximum) + " is possible");
  }
  return std::nullopt;
}

struct FieldValue {
  Field field;
  const char *name;
  bool isDefault;
};

/// Fields that the instruction does not read hold their default, so that equal programs have equal bits.
Found checkFields(const Instruction &instruction) {
  const Window &window = instruction.window;
  const Window none;
  bool kernel = window.kernelHeight == 1 && window.kernelWidth == 1 && window.strideHeight == 1 && window.strideWidth == 1 &&
                window.dilationHeight == 1 && window.dilationWidth == 1;
  bool pads = !window.padTop && !window.padLeft && !window.padBottom && !window.padRight;
  auto all = [](const std::array<uint32_t, numOperands> &values, uint32_t value) {
    return llvm::all_of(values, [&](uint32_t each) { return each == value; });
  };
  const FieldValue fields[] = {
      {FieldStride1, "stride1", all(instruction.stride1, 0)},
      {FieldStride2, "stride2", all(instruction.stride2, 0)},
      {FieldInner, "inner", all(instruction.inner, 1)},
      {FieldAxis, "axis", instruction.axis == 0},
      {FieldImm0, "imm0", instruction.imm[0] == 0},
      {FieldImm1, "imm1", instruction.imm[1] == 0},
      {FieldImm2, "imm2", instruction.imm[2] == 0},
      {FieldImm3, "imm3", instruction.imm[3] == 0},
      {FieldKernel, "kernel", kernel},
      {FieldPad, "pad", pads},
      {FieldInput, "input", window.inputHeight == none.inputHeight && window.inputWidth == none.inputWidth},
      {FieldStart, "start", window.start == 0},
      {FieldChannels, "channels", window.channels == 0},
      {FieldMask, "mask", instruction.mask == 0},
      {FieldActivation, "act", instruction.activation == Activation::None},
      {FieldRound, "rnd", instruction.rounding == 0},
      {FieldSaturate, "sat", !instruction.saturate},
      {FieldZero, "zero", !instruction.zero},
  };
  const InstructionInfo &info = instruction.info();
  for (const FieldValue &field : fields)
    if (!info.has(field.field) && !field.isDefault)
      return broken(TrapCode::ILLEGAL, Twine(info.name) + " has no " + field.name);
  if ((instruction.variant0 && info.variants[0].empty()) || (instruction.variant1 && info.variants[1].empty()))
    return broken(TrapCode::ILLEGAL, Twine(info.name) + " has no such flag");
  return std::nullopt;
}

Found checkWindow(const Instruction &instruction) {
  const Window &window = instruction.window;
  auto outside = [](unsigned value, unsigned least, unsigned most) { return value < least || value > most; };
  if (outside(window.kernelHeight, 1, 31) || outside(window.kernelWidth, 1, 31))
    return broken(TrapCode::SHAPE, "kernel " + number(window.kernelHeight) + " x " + number(window.kernelWidth) + " is not in 1 to 31");
  for (unsigned value : {window.strideHeight, window.strideWidth, window.dilationHeight, window.dilationWidth})
    if (outside(value, 1, 15))
      return broken(TrapCode::SHAPE, "stride or dilation " + number(value) + " is not in 1 to 15");
  for (unsigned value : {window.padTop, window.padLeft, window.padBottom, window.padRight})
    if (value > 31)
      return broken(TrapCode::SHAPE, "pad " + number(value) + " is not in 0 to 31");
  if (window.inputHeight > 4095 || window.inputWidth > 4095)
    return broken(TrapCode::SHAPE, "input " + number(window.inputHeight) + " x " + number(window.inputWidth) + " is above 4095");
  const InstructionInfo &info = instruction.info();
  if (info.has(FieldInput) && (!window.inputHeight || !window.inputWidth))
    return broken(TrapCode::SHAPE, "the input has no pixels");
  if (info.has(FieldChannels) && instruction.extent[0] != unsigned(window.kernelHeight * window.kernelWidth * window.channels))
    return broken(TrapCode::SHAPE, "k is " + number(instruction.extent[0]) + ", expected kernel " + number(window.kernelHeight) + " x " +
                                       number(window.kernelWidth) + " x channels " + number(window.channels));
  if (window.start >= 1u << 24)
    return broken(TrapCode::SHAPE, "start " + number(window.start) + " does not fit 24 bits");
  return std::nullopt;
}

Found checkStrides(const Instruction &instruction) {
  for (unsigned operand = 0; operand < numOperands; ++operand)
    for (uint32_t stride : {instruction.stride1[operand], instruction.stride2[operand], instruction.inner[operand]})
      if (stride >= 1u << 21)
        return broken(TrapCode::SHAPE, Twine("a stride of ") + operandNames[operand] + " is " + number(stride) + ", at most 2097151 is possible");
  return std::nullopt;
}

Found checkOperand(const Instruction &instruction, unsigned index, const Config &config) {
  const OperandInfo &info = instruction.info().operands[index];
  const Operand &operand = instruction.operands[index];
  std::string name = operandNames[index];
  if (operand.byte >= 1ull << 41)
    return broken(TrapCode::ILLEGAL, name + "'s address does not fit 41 bits");
  if (!info.exists() || isImmediate(instruction, index)) {
    if (operand != Operand())
      return broken(TrapCode::ILLEGAL, Twine(instruction.info().name) + " has no " + name);
    return std::nullopt;
  }
  bool absent = operand.space == Space::None && !info.allows(Space::None);
  if (absent && info.isOptional)
    return operand == Operand() ? std::nullopt : Found(broken(TrapCode::ILLEGAL, name + " has an address and no memory"));
  if (absent || !info.allows(operand.space))
    return broken(TrapCode::ILLEGAL, name + " may not lie in " + nameOf(operand.space));
  if (operand.generator > numGenerators)
    return broken(TrapCode::ILLEGAL, name + "'s generator is " + number(operand.generator));
  if (operand.space == Space::SReg && operand.byte >= numSRegs)
    return broken(TrapCode::ILLEGAL, "there is no register S[" + number(operand.byte) + "]");
  bool mayBePeer = operand.space == Space::L1 && (instruction.unit() == Unit::LD || instruction.unit() == Unit::ST);
  if (operand.core != ownCore && (!mayBePeer || operand.core >= config.coresPerCluster))
    return broken(TrapCode::OOB, name + " lies on core " + number(operand.core) + " of " + number(config.coresPerCluster));
  return std::nullopt;
}

Found checkTokens(const Instruction &instruction) {
  Unit unit = instruction.unit();
  for (const llvm::SmallVector<Token, 4> *tokens : {&instruction.wait, &instruction.set}) {
    if (tokens->size() > 4)
      return broken(TrapCode::ILLEGAL, "an instruction has at most 4 flags to wait for and 4 to set");
    if (!tokens->empty() && unit == Unit::SEQ)
      return broken(TrapCode::ILLEGAL, Twine(instruction.info().name) + " has no flags; hint: use waitf and setf");
    for (const Token &token : *tokens)
      if (unsigned(token.peer) >= numUnits || token.peer == unit || token.id >= numFlagIds)
        return broken(TrapCode::ILLEGAL, "there is no flag " + number(token.id) + " of unit " + number(unsigned(token.peer)));
  }
  return std::nullopt;
}

Found checkAxis(const Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  uint32_t axis = instruction.axis;
  if (info.has(FieldAxis) && axis > info.maxAxis)
    return broken(TrapCode::SHAPE, Twine("axis of ") + info.name + " is " + number(axis) + ", at most " + number(info.maxAxis));
  unsigned dimensions = 1u << (axis & 3) | 1u << (axis >> 2 & 3) | 1u << (axis >> 4 & 3);
  if (instruction.opcode == Opcode::perm3 && dimensions != 7)
    return broken(TrapCode::SHAPE, "axis " + number(axis) + " is no permutation");
  if ((instruction.opcode == Opcode::bmm || instruction.opcode == Opcode::setag) && axis == 0)
    return broken(TrapCode::SHAPE, Twine("axis of ") + info.name + " is 0");
  bool isFlag = instruction.opcode == Opcode::setf || instruction.opcode == Opcode::waitf;
  if (isFlag && ((axis & 7) >= numUnits || (axis >> 3 & 7) >= numUnits || (axis & 7) == (axis >> 3 & 7)))
    return broken(TrapCode::ILLEGAL, "there is no flag " + number(axis));
  if (instruction.opcode == Opcode::setag && instruction.extent[0] >= numLoops && instruction.extent[0] < 16)
    return broken(TrapCode::ILLEGAL, "there is no loop register l" + number(instruction.extent[0]));
  return std::nullopt;
}

Found checkMisc(const Instruction &instruction, const Config &config) {
  if (instruction.info().operands[Dst].shape == Shape::Table || instruction.info().operands[Src0].shape == Shape::Table)
    if (instruction.imm[0] == 0 || instruction.imm[0] > 1u << 31)
      return broken(TrapCode::SHAPE, "a table of " + number(instruction.imm[0]) + " rows");
  uint64_t rowBytes = uint64_t(instruction.extent[0]) * sizeOf(instruction.src0Type);
  if (instruction.opcode == Opcode::ld_gather && rowBytes < 32)
    return broken(TrapCode::SHAPE, "rows of " + number(rowBytes) + " bytes, at least 32 are needed");
  if (instruction.info().has(FieldMask) && (instruction.mask == 0 || uint64_t(instruction.mask) >> config.numCores()))
    return broken(TrapCode::ILLEGAL, "the mask " + number(instruction.mask) + " is empty or names cores beyond " + number(config.numCores()));
  if (instruction.opcode == Opcode::mm_zp && instruction.variant0 + instruction.variant1 != (instruction.src(2).space != Space::None))
    return broken(TrapCode::ILLEGAL, "mm.zp has src2 if zrow or zcol is set, and never both");
  return std::nullopt;
}

/// Rows and planes of a result do not overlap, in whichever order they are nested.
Found checkRows(const Access &access) {
  std::array<std::pair<uint64_t, uint64_t>, 3> dimensions; // pitch, count
  for (unsigned index = 0; index < 3; ++index)
    dimensions[index] = {access.pitchBytes[index], access.count[index]};
  std::sort(dimensions.begin(), dimensions.end());
  uint64_t span = access.elementBytes;
  for (auto [pitch, count] : dimensions) {
    if (count <= 1)
      continue;
    if (pitch < span)
      return broken(TrapCode::SHAPE, Twine(operandNames[access.operand]) + "'s rows overlap: " + number(span) + " bytes at a distance of " + number(pitch));
    span += (count - 1) * pitch;
  }
  return std::nullopt;
}

/// The memory ends, and alignments.
Found checkPlace(const Instruction &instruction, const Access &access, const Config &config) {
  uint64_t size = config.bytesOf(access.space), alignment = instruction.info().operands[access.operand].alignment;
  std::string name = operandNames[access.operand];
  if (alignment == 0)
    alignment = std::max(1u, sizeOf(instruction.typeOf(access.operand)));
  uint64_t address = instruction.operands[access.operand].byte;
  if (address % alignment)
    return broken(TrapCode::ALIGN, name + " at " + number(address) + " is not aligned to " + number(alignment) + " bytes");
  if (access.byte > size || access.sizeBytes() > size - access.byte)
    return broken(TrapCode::OOB, name + " has bytes " + number(access.byte) + " to " + number(access.byte + access.sizeBytes()) + " of " +
                                     nameOf(access.space) + ", which has " + number(size));
  return std::nullopt;
}

bool isElementwise(const Instruction &instruction) {
  char family = instruction.info().family;
  return family == 'F' || family == 'G' || (family == 'H' && instruction.opcode != Opcode::drain) || instruction.opcode == Opcode::tri ||
         instruction.opcode == Opcode::cumsum;
}

bool isSamePlace(const Access &left, const Access &right) {
  if (left.byte != right.byte || left.elementBytes != right.elementBytes || left.count != right.count)
    return false;
  for (unsigned index = 0; index < 3; ++index)
    if (left.count[index] > 1 && left.pitchBytes[index] != right.pitchBytes[index])
      return false;
  return true;
}

Found checkOverlap(const Instruction &instruction, llvm::ArrayRef<Access> accesses) {
  for (const Access &result : accesses)
    for (const Access &other : accesses) {
      if (!result.isWritten || result.operand == other.operand || !mayOverlap(result, other))
        continue;
      if (!other.isWritten && isElementwise(instruction) && isSamePlace(result, other))
        continue;
      return broken(TrapCode::OVERLAP, Twine(operandNames[result.operand]) + " overlaps " + operandNames[other.operand] + " at " +
                                           number(std::max(result.byte, other.byte)) + " of " + nameOf(result.space));
    }
  return std::nullopt;
}
} // namespace

llvm::StringRef nameOf(TrapCode code) {
  static constexpr llvm::StringLiteral names[] = {
#define QUOIN_TRAP(code, name, text) name,
#include "target/quoin/Traps.def"
#undef QUOIN_TRAP
  };
  return names[unsigned(code)];
}

std::optional<Violation> findViolation(const Instruction &instruction, const Config &config) {
  for (auto rule : {checkMode, checkTypes, checkExtents, checkFields, checkWindow, checkStrides, checkTokens, checkAxis})
    if (Found found = rule(instruction))
      return found;
  for (unsigned operand = 0; operand < numOperands; ++operand)
    if (Found found = checkOperand(instruction, operand, config))
      return found;
  if (Found found = checkMisc(instruction, config))
    return found;
  for (const Access &access : accessesOf(instruction))
    if (access.isWritten)
      if (Found found = checkRows(access))
        return found;
  return std::nullopt;
}

std::optional<Violation> findAddressViolation(const Instruction &instruction, const Config &config) {
  llvm::SmallVector<Access, 4> known = accessesOf(instruction);
  llvm::erase_if(known, [&](const Access &access) { return instruction.operands[access.operand].generator != 0; });
  for (const Access &access : known)
    if (Found found = checkPlace(instruction, access, config))
      return found;
  return checkOverlap(instruction, known);
}

std::string check(const Instruction &instruction, const Config &config) {
  if (Found found = findViolation(instruction, config))
    return found->text;
  Found found = findAddressViolation(instruction, config);
  return found ? found->text : "";
}

} // namespace perpend::quoin
