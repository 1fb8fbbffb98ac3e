//===- RandomInstruction.cpp - legal instructions of a seed ----------------===//

#include "RandomInstruction.h"
#include "target/quoin/Access.h"
#include "target/quoin/assembly/Defaults.h"

#include <bit>

namespace perpend::quoin::test {
namespace {
class Drawing {
public:
  Drawing(const Config &config, std::mt19937_64 &random) : config(config), random(random) {}

  Instruction draw(Opcode opcode, const TypeRule *rule, Operands mode) {
    in = Instruction();
    in.opcode = opcode;
    in.mode = mode;
    if (rule)
      drawTypes(*rule);
    drawExtents();
    drawFields();
    drawSpaces();
    drawStrides();
    drawAddresses();
    return in;
  }

private:
  uint64_t below(uint64_t limit) { return random() % limit; }
  bool oneOf(unsigned count) { return below(count) == 0; }

  DType typeIn(uint16_t set) {
    DType type = DType::None;
    while (set && !(set >> unsigned(type) & 1))
      type = DType(below(numDTypes));
    return type;
  }
  void drawTypes(const TypeRule &rule) {
    in.dstType = typeIn(rule.dst);
    in.src0Type = rule.equality != TypeRule::Independent && rule.src0 ? in.dstType : typeIn(rule.src0);
    in.src1Type = rule.equality == TypeRule::AllEqual && rule.src1 ? in.dstType : typeIn(rule.src1);
    if (isImmediate(Src1))
      in.src1Type = DType::None;
  }
  bool isImmediate(unsigned operand) const {
    const InstructionInfo &info = in.info();
    return info.modes && operand == info.modeOperand && operand > Src0 && in.mode == Operands::Scalar;
  }

  void drawExtents() {
    constexpr unsigned usual[] = {40, 9, 4};
    for (unsigned index = 0; index < 3; ++index)
      if (unsigned maximum = in.info().maxExtent[index])
        in.extent[index] = 1 + unsigned(below(std::min(maximum, oneOf(4) ? 2 : usual[index])));
  }

  void drawFields() {
    const InstructionInfo &info = in.info();
    if (info.has(FieldAxis))
      in.axis = info.maxAxis > 63 ? 1 + below(3) : below(info.maxAxis + 1);
    for (unsigned index = 0; index < 4; ++index)
      if (info.fields & FieldImm0 << index)
        drawImmediate(index);
    if (info.has(FieldActivation))
      in.activation = Activation(below(7));
    if (info.has(FieldRound))
      in.rounding = below(4);
    in.saturate = info.has(FieldSaturate) && oneOf(2);
    in.zero = info.has(FieldZero) && oneOf(2);
    in.variant0 = !info.variants[0].empty() && oneOf(2);
    in.variant1 = !info.variants[1].empty() && oneOf(2);
    if (info.has(FieldMask))
      in.mask = 1;
    drawWindow();
  }

  void drawImmediate(unsigned index) {
    bool isTable = in.info().operands[Src0].shape == Shape::Table || in.info().operands[Dst].shape == Shape::Table;
    bool isDiagonal = index == 1 && (in.opcode == Opcode::tri || in.opcode == Opcode::mm_mask);
    bool isInt = in.info().has(FieldIntImm) || isDiagonal ||
                 (!isFloat(in.dstType) && !isFloat(in.src0Type) && in.info().family != 'H') || (in.opcode == Opcode::clip && !isFloat(in.src0Type));
    if (isTable)
      in.imm[index] = 1 + below(20);
    else if (isInt)
      in.imm[index] = uint32_t(int32_t(below(20)) - 7);
    else
      in.setImm(index, float(int64_t(below(2000)) - 700) / 128);
  }

  void drawWindow() {
    const InstructionInfo &info = in.info();
    Window &window = in.window;
    auto number = [&](unsigned least, unsigned most) { return uint8_t(least + below(most - least + 1)); };
    if (info.has(FieldKernel)) {
      window.kernelHeight = number(1, 3), window.kernelWidth = number(1, 4);
      window.strideHeight = number(1, 3), window.strideWidth = number(1, 2);
      window.dilationHeight = number(1, 2), window.dilationWidth = number(1, 3);
    }
    if (info.has(FieldPad)) {
      window.padTop = number(0, 2), window.padLeft = number(0, 3);
      window.padBottom = number(0, 2), window.padRight = number(0, 2);
    }
    if (info.has(FieldInput))
      window.inputHeight = number(1, 9), window.inputWidth = number(1, 9);
    if (info.has(FieldStart))
      window.start = number(0, 8);
    if (info.has(FieldChannels)) {
      window.channels = number(1, 5);
      in.extent[0] = window.kernelHeight * window.kernelWidth * window.channels;
    }
  }

  void drawSpaces() {
    for (unsigned index = 0; index < numOperands; ++index) {
      const OperandInfo &info = in.info().operands[index];
      if (!info.exists() || isImmediate(index))
        continue;
      bool isNeeded = !info.isOptional || oneOf(2);
      if (in.opcode == Opcode::mm_zp && index == Src2) {
        in.variant1 &= !in.variant0;
        isNeeded = in.variant0 || in.variant1;
      }
      while (isNeeded && !info.allows(in.operands[index].space))
        in.operands[index].space = Space(below(numSpaces));
    }
  }

  void drawStrides() {
    if (in.info().has(FieldInner))
      for (unsigned index = 0; index < numOperands; ++index)
        if (in.operands[index].space != Space::None && oneOf(4))
          in.inner[index] = 1 + below(3);
    if (in.opcode == Opcode::welford && in.axis == 1)
      in.inner[Dst] = 2 + below(2);
    Strides strides = contiguousStrides(in);
    auto drawStride = [&](uint32_t stride, unsigned index) -> uint32_t {
      bool mayRepeat = index != Dst && !in.info().operands[index].isWritten;
      return stride == 0 ? 0 : mayRepeat && oneOf(8) ? 0 : stride + (oneOf(2) ? below(5) : 0);
    };
    for (unsigned index = 0; index < numOperands; ++index)
      in.stride1[index] = drawStride(strides.stride1[index], index);
    for (const Access &access : accessesOf(in)) {
      unsigned size = std::max(1u, sizeOf(in.typeOf(access.operand)));
      uint64_t plane = in.stride1[access.operand] * access.count[1];
      uint32_t least = std::max<uint32_t>(strides.stride2[access.operand], uint32_t(plane));
      if (strides.stride2[access.operand])
        in.stride2[access.operand] = std::max(drawStride(least, access.operand), access.isWritten ? least : 0);
      (void)size;
    }
  }

  void drawAddresses() {
    for (const Access &access : accessesOf(in)) {
      uint64_t size = std::min<uint64_t>(config.bytesOf(access.space), 1 << 16);
      uint64_t alignment = in.info().operands[access.operand].alignment;
      if (alignment == 0)
        alignment = std::max(1u, sizeOf(in.typeOf(access.operand)));
      if (access.sizeBytes() < size)
        in.operands[access.operand].byte = below((size - access.sizeBytes()) / alignment + 1) * alignment;
    }
    if (oneOf(8) && in.operands[Src0].space == in.dst().space && in.dstType == in.src0Type) { // in place
      in.operands[Src0] = in.dst();
      in.stride1[Src0] = in.stride1[Dst], in.stride2[Src0] = in.stride2[Dst], in.inner[Src0] = in.inner[Dst];
    }
  }

  const Config &config;
  std::mt19937_64 &random;
  Instruction in;
};
} // namespace

std::optional<Instruction> randomInstruction(Opcode opcode, const TypeRule *rule, Operands mode, const Config &config, std::mt19937_64 &random) {
  Drawing drawing(config, random);
  for (unsigned tries = 0; tries < 400; ++tries) {
    Instruction instruction = drawing.draw(opcode, rule, mode);
    if (check(instruction, config).empty())
      return instruction;
  }
  return std::nullopt;
}

} // namespace perpend::quoin::test
