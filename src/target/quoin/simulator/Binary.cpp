//===- Binary.cpp - vector instructions of two and three operands ----------===//

#include "target/quoin/simulator/Activation.h"
#include "target/quoin/simulator/Execute.h"

namespace perpend::quoin {
namespace {
float modulo(float a, float b, bool towardFloor) {
  float rest = remainderTowardZero(a, b);
  if (!towardFloor || rest == 0 || rest != rest || (rest < 0) == (b < 0))
    return rest;
  return rest + b;
}

float computeFloat(const Instruction &instruction, float a, float b) {
  switch (instruction.opcode) {
  case Opcode::add:
    return a + b;
  case Opcode::sub:
    return a - b;
  case Opcode::mul:
    return a * b;
  case Opcode::div:
    return a / b;
  case Opcode::max:
    return maximum(a, b);
  case Opcode::min:
    return minimum(a, b);
  case Opcode::pow:
    return power(a, b);
  case Opcode::mod:
    return modulo(a, b, instruction.variant0);
  case Opcode::absdiff:
    return std::fabs(a - b);
  default: // addrelu
    return activate(instruction.activation == Activation::None ? Activation::Relu : instruction.activation, a + b);
  }
}

int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

int64_t modulo(int64_t a, int64_t b, bool towardFloor) {
  if (b == 0)
    return 0;
  int64_t rest = a % b;
  return towardFloor && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Exact in 64 bits; the store wraps or saturates.
int64_t computeInt(const Instruction &instruction, int64_t a, int64_t b) {
  unsigned bits = 8 * sizeOf(instruction.src0Type);
  uint64_t unsignedA = uint64_t(a) & ((1ull << bits) - 1);
  bool inRange = b >= 0 && b < int64_t(bits);
  switch (instruction.opcode) {
  case Opcode::add:
    return a + b;
  case Opcode::sub:
    return a - b;
  case Opcode::mul:
    return a * b;
  case Opcode::div:
    return divide(a, b);
  case Opcode::max:
    return std::max(a, b);
  case Opcode::min:
    return std::min(a, b);
  case Opcode::mod:
    return modulo(a, b, instruction.variant0);
  case Opcode::and_:
    return a & b;
  case Opcode::or_:
    return a | b;
  case Opcode::xor_:
    return a ^ b;
  case Opcode::shl:
    return inRange ? int64_t(unsignedA << b) : 0;
  case Opcode::shr:
    return inRange ? int64_t(unsignedA >> b) : 0;
  case Opcode::sar:
    return a >> (inRange ? b : 63);
  default: // absdiff
    return a > b ? a - b : b - a;
  }
}

template <typename T>
bool compare(Opcode opcode, T a, T b) {
  switch (opcode) {
  case Opcode::ceq:
    return a == b;
  case Opcode::cne:
    return a != b;
  case Opcode::clt:
    return a < b;
  case Opcode::cle:
    return a <= b;
  case Opcode::cgt:
    return a > b;
  default:
    return a >= b;
  }
}

bool isComparison(Opcode opcode) { return opcode >= Opcode::ceq && opcode <= Opcode::cge; }

/// Calls `element(dst, src0, src1, src2)` on each element. The operand of the mode is imm0 in mode mf, which `constant`
/// holds in that operand's type.
template <typename Element>
void forEach(const Call &call, const uint8_t *constant, Element element) {
  const InstructionInfo &info = call.instruction.info();
  bool isTernary = info.operands[Src2].exists();
  auto operand = [&](unsigned index, uint64_t i0, uint64_t i1, uint64_t i2) -> const uint8_t * {
    if (index != info.modeOperand)
      return call.element(index, i0, i1, i2);
    return call.instruction.mode == Operands::Scalar ? constant : call.modeElement(index, i0, i1, i2);
  };
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        element(call.element(Dst, i0, i1, i2), call.element(Src0, i0, i1, i2), operand(Src1, i0, i1, i2),
                isTernary ? operand(Src2, i0, i1, i2) : nullptr);
}

void selectElements(const Call &call, const uint8_t *constant) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src1Type, result = instruction.dstType;
  forEach(call, constant, [&](uint8_t *to, const uint8_t *which, const uint8_t *a, const uint8_t *b) {
    const uint8_t *from = *which ? a : b;
    if (type == result)
      std::memmove(to, from, sizeOf(type));
    else
      storeFloat(to, result, loadFloat(from, type));
  });
}

void computeFloats(const Call &call, const uint8_t *constant, DType right) {
  const Instruction &instruction = call.instruction;
  DType left = instruction.src0Type, result = instruction.dstType;
  if (instruction.opcode == Opcode::fma)
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *c) {
      float product = loadFloat(a, left) * loadFloat(b, instruction.src1Type);
      storeFloat(to, result, product + loadFloat(c, right));
    });
  else if (isComparison(instruction.opcode))
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *) {
      *to = compare(instruction.opcode, loadFloat(a, left), loadFloat(b, right));
    });
  else
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *) {
      storeFloat(to, result, computeFloat(instruction, loadFloat(a, left), loadFloat(b, right)));
    });
}

void computeInts(const Call &call, const uint8_t *constant, DType type) {
  const Instruction &instruction = call.instruction;
  DType result = instruction.dstType;
  auto store = [&](uint8_t *to, int64_t value) {
    storeInt(to, result, instruction.saturate ? saturated(value, result) : int32_t(uint32_t(value)));
  };
  if (instruction.opcode == Opcode::fma)
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *c) {
      store(to, int64_t(loadInt(a, type)) * loadInt(b, type) + loadInt(c, type));
    });
  else if (isComparison(instruction.opcode))
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *) {
      *to = compare(instruction.opcode, loadInt(a, type), loadInt(b, type));
    });
  else
    forEach(call, constant, [&](uint8_t *to, const uint8_t *a, const uint8_t *b, const uint8_t *) {
      store(to, computeInt(instruction, loadInt(a, type), loadInt(b, type)));
    });
}
} // namespace

Result executeBinary(const Call &call) {
  const Instruction &instruction = call.instruction;
  bool isScalar = instruction.mode == Operands::Scalar;
  // The type of the last operand: an immediate of floats is an f32, which need not be a value of theirs.
  DType right = instruction.src1Type == DType::None ? instruction.src0Type : instruction.src1Type;
  uint8_t constant[4] = {};
  if (isScalar && instruction.opcode == Opcode::sel)
    storeImmediate(constant, right, instruction.imm[0]);
  else if (isScalar)
    storeImmediate(constant, isFloat(right) ? DType::F32 : right, instruction.imm[0]);
  if (instruction.opcode == Opcode::sel)
    selectElements(call, constant);
  else if (isFloat(instruction.src0Type))
    computeFloats(call, constant, isScalar ? DType::F32 : right);
  else
    computeInts(call, constant, instruction.src0Type);
  return std::nullopt;
}

} // namespace perpend::quoin
