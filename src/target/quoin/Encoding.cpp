//===- Encoding.cpp - an instruction as bits -------------------------------===//
//
// One list of fields (visitFields) serves both directions, so they cannot disagree.
//
//===----------------------------------------------------------------------===//

#include "target/quoin/Instruction.h"

#include "llvm/Support/Endian.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace perpend::quoin {
namespace {
constexpr unsigned version = 1;
constexpr unsigned extensionBit = 15;
using Words = std::array<uint64_t, 16>; // of the instruction, and of its extension

uint64_t maskOf(unsigned width) { return width == 64 ? ~0ull : (1ull << width) - 1; }

struct Writer {
  Words words = {};
  template <typename T>
  void field(unsigned word, unsigned low, unsigned width, T &value) {
    assert((uint64_t(value) & ~maskOf(width)) == 0 && "check() was not asked");
    words[word] |= (uint64_t(value) & maskOf(width)) << low;
  }
};

struct Reader {
  Words words = {};
  template <typename T>
  void field(unsigned word, unsigned low, unsigned width, T &value) {
    value = T(words[word] >> low & maskOf(width));
    words[word] &= ~(maskOf(width) << low); // what remains is reserved
  }
};

template <typename Visitor>
void visitOperand(Visitor &visitor, unsigned word, Operand &operand) {
  visitor.field(word, 0, 41, operand.byte);
  visitor.field(word, 49, 6, operand.core);
  visitor.field(word, 55, 6, operand.generator);
  visitor.field(word, 61, 3, operand.space);
}

template <typename Visitor>
void visitFields(Visitor &visitor, Instruction &instruction) {
  visitor.field(0, 16, 4, instruction.dstType);
  visitor.field(0, 20, 4, instruction.src0Type);
  visitor.field(0, 24, 4, instruction.src1Type);
  visitor.field(0, 28, 2, instruction.mode);
  visitor.field(0, 30, 3, instruction.activation);
  visitor.field(0, 33, 1, instruction.variant0);
  visitor.field(0, 34, 1, instruction.variant1);
  visitor.field(0, 35, 1, instruction.zero);
  visitor.field(0, 40, 2, instruction.rounding);
  visitor.field(0, 42, 1, instruction.saturate);
  visitor.field(0, 43, 8, instruction.loopMask);
  for (unsigned index = 0; index < 3; ++index)
    visitOperand(visitor, 2 + index, instruction.operands[index]);
  visitor.field(5, 0, 16, instruction.extent[0]);
  visitor.field(5, 16, 12, instruction.extent[1]);
  visitor.field(5, 28, 12, instruction.extent[2]);
  visitor.field(5, 40, 24, instruction.axis);
  for (unsigned index = 0; index < 3; ++index) {
    visitor.field(6, 21 * index, 21, instruction.stride1[index]);
    visitor.field(7, 21 * index, 21, instruction.stride2[index]);
  }
}

template <typename Visitor>
void visitExtension(Visitor &visitor, Instruction &instruction) {
  for (unsigned index = 0; index < 4; ++index)
    visitor.field(8 + index / 2, 32 * (index % 2), 32, instruction.imm[index]);
  visitOperand(visitor, 10, instruction.operands[Src2]);
  Window &window = instruction.window;
  visitor.field(11, 0, 5, window.kernelHeight);
  visitor.field(11, 5, 5, window.kernelWidth);
  visitor.field(11, 10, 4, window.strideHeight);
  visitor.field(11, 14, 4, window.strideWidth);
  visitor.field(11, 18, 4, window.dilationHeight);
  visitor.field(11, 22, 4, window.dilationWidth);
  visitor.field(11, 26, 5, window.padTop);
  visitor.field(11, 31, 5, window.padLeft);
  visitor.field(11, 36, 5, window.padBottom);
  visitor.field(11, 41, 5, window.padRight);
  visitor.field(12, 0, 12, window.inputHeight);
  visitor.field(12, 12, 12, window.inputWidth);
  visitor.field(12, 24, 24, window.start);
  visitor.field(12, 48, 16, window.channels);
  for (unsigned index = 0; index < 3; ++index)
    visitor.field(13, 21 * index, 21, instruction.inner[index]);
  visitor.field(14, 0, 21, instruction.stride1[Src2]);
  visitor.field(14, 21, 21, instruction.stride2[Src2]);
  visitor.field(14, 42, 21, instruction.inner[Src2]);
  visitor.field(15, 32, 32, instruction.mask);
}

bool needsExtension(const Instruction &instruction) {
  const Instruction plain;
  return instruction.imm != plain.imm || instruction.operands[Src2] != plain.operands[Src2] || instruction.window != plain.window ||
         instruction.inner != plain.inner || instruction.stride1[Src2] || instruction.stride2[Src2] || instruction.mask;
}

void writeTokens(Words &words, llvm::ArrayRef<Token> tokens, unsigned low, unsigned conditionalLow) {
  for (unsigned slot = 0; slot < tokens.size(); ++slot) {
    uint64_t bits = 0x80 | uint64_t(tokens[slot].peer) << 4 | tokens[slot].id;
    words[1] |= bits << (low + 8 * slot);
    words[0] |= uint64_t(tokens[slot].isConditional) << (conditionalLow + slot);
  }
}

/// Tokens fill the slots from the first; false if a slot behind an empty one is not empty.
bool readTokens(Words &words, llvm::SmallVectorImpl<Token> &tokens, unsigned low, unsigned conditionalLow) {
  bool ended = false;
  for (unsigned slot = 0; slot < 4; ++slot) {
    uint64_t bits = words[1] >> (low + 8 * slot) & 0xff;
    bool isConditional = words[0] >> (conditionalLow + slot) & 1;
    words[0] &= ~(1ull << (conditionalLow + slot));
    bool isValid = bits & 0x80;
    if ((ended && bits) || (!isValid && (bits || isConditional)))
      return false;
    ended |= !isValid;
    if (isValid)
      tokens.push_back({Unit(bits >> 4 & 7), uint8_t(bits & 15), isConditional});
  }
  return true;
}

constexpr unsigned waitLow = 0, setLow = 32, waitConditional = 55, setConditional = 59;

llvm::Error malformed(const llvm::Twine &text) { return llvm::createStringError("instruction: " + text); }

/// Values that have more bits than meanings.
llvm::Error checkEnumerations(const Instruction &instruction) {
  for (DType type : {instruction.dstType, instruction.src0Type, instruction.src1Type})
    if (unsigned(type) >= numDTypes)
      return malformed("type " + llvm::Twine(unsigned(type)) + " does not exist");
  if (instruction.activation > Activation::Silu)
    return malformed("activation " + llvm::Twine(unsigned(instruction.activation)) + " does not exist");
  for (const llvm::SmallVector<Token, 4> *tokens : {&instruction.wait, &instruction.set})
    for (const Token &token : *tokens)
      if (unsigned(token.peer) >= numUnits)
        return malformed("a flag of unit " + llvm::Twine(unsigned(token.peer)) + ", which does not exist");
  return llvm::Error::success();
}
} // namespace

std::string FlagName::text() const { return nameOf(source).str() + ">" + nameOf(destination).str() + ":" + std::to_string(id); }

Unit Instruction::queue() const {
  if (opcode == Opcode::setf)
    return FlagName::ofAxis(axis).source;
  return opcode == Opcode::waitf ? FlagName::ofAxis(axis).destination : unit();
}

DType Instruction::typeOf(unsigned operand) const {
  const DType types[] = {dstType, src0Type, src1Type};
  if (operand < Src2)
    return types[operand];
  // The biases of a drain and the zero points of a product are not of the types of its sources.
  if (opcode == Opcode::drain)
    return DType::F32;
  if (opcode == Opcode::mm_zp)
    return DType::I32;
  return src1Type != DType::None ? src1Type : src0Type;
}

float Instruction::immFloat(unsigned index) const { return std::bit_cast<float>(imm[index]); }
void Instruction::setImm(unsigned index, float value) { imm[index] = std::bit_cast<uint32_t>(value); }

void encode(const Instruction &instruction, std::vector<uint8_t> &bytes) {
  Writer writer;
  Instruction copy = instruction; // visitFields is for both directions
  bool isLong = needsExtension(instruction);
  unsigned opcode = unsigned(instruction.opcode), queue = unsigned(instruction.unit()), versionField = version;
  writer.field(0, 0, 12, opcode);
  writer.field(0, 12, 3, queue);
  writer.field(0, extensionBit, 1, isLong);
  writer.field(0, 51, 4, versionField);
  visitFields(writer, copy);
  writeTokens(writer.words, instruction.wait, waitLow, waitConditional);
  writeTokens(writer.words, instruction.set, setLow, setConditional);
  if (isLong)
    visitExtension(writer, copy);
  size_t begin = bytes.size(), words = isLong ? 16 : 8;
  bytes.resize(begin + words * 8);
  for (size_t index = 0; index < words; ++index)
    llvm::support::endian::write64le(&bytes[begin + 8 * index], writer.words[index]);
}

llvm::Expected<Instruction> decode(llvm::ArrayRef<uint8_t> &bytes) {
  if (bytes.size() < wordBytes)
    return malformed(llvm::Twine(bytes.size()) + " bytes, expected " + llvm::Twine(wordBytes));
  Reader reader;
  bool isLong = bytes[extensionBit / 8] >> extensionBit % 8 & 1;
  size_t words = isLong ? 16 : 8;
  if (bytes.size() < words * 8)
    return malformed("the extension is missing");
  for (size_t index = 0; index < words; ++index)
    reader.words[index] = llvm::support::endian::read64le(&bytes[8 * index]);
  bytes = bytes.drop_front(words * 8);

  Instruction instruction;
  unsigned opcode = 0, queue = 0, extension = 0, found = 0;
  reader.field(0, 0, 12, opcode);
  reader.field(0, 12, 3, queue);
  reader.field(0, extensionBit, 1, extension);
  reader.field(0, 51, 4, found);
  const InstructionInfo *info = findInstruction(opcode);
  if (!info)
    return malformed("opcode " + llvm::Twine(opcode) + " does not exist");
  if (queue != unsigned(info->unit) || found != version)
    return malformed("queue " + llvm::Twine(queue) + " and version " + llvm::Twine(found) + ", expected " +
                     llvm::Twine(unsigned(info->unit)) + " and " + llvm::Twine(version));
  instruction.opcode = info->opcode;
  visitFields(reader, instruction);
  if (!readTokens(reader.words, instruction.wait, waitLow, waitConditional) ||
      !readTokens(reader.words, instruction.set, setLow, setConditional))
    return malformed("a flag behind an empty slot, or bits of an empty slot");
  reader.words[1] = 0;
  if (isLong)
    visitExtension(reader, instruction);
  for (uint64_t word : reader.words)
    if (word)
      return malformed("reserved bits are not 0");
  if (isLong && !needsExtension(instruction))
    return malformed("an extension that holds only defaults");
  if (llvm::Error error = checkEnumerations(instruction))
    return std::move(error);
  return instruction;
}

} // namespace perpend::quoin
