//===- Convert.cpp - conversions and quantised numbers ---------------------===//

#include "target/quoin/simulator/Activation.h"
#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Fractals.h"

namespace perpend::quoin {
namespace {
template <typename Element>
void forEach(const Call &call, Element element) {
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        element(call.element(Dst, i0, i1, i2), call.element(Src0, i0, i1, i2), i0, i1, i2);
}

/// The scale of an element: of src1 by the mode, or imm0.
float scaleOf(const Call &call, uint64_t i0, uint64_t i1, uint64_t i2) {
  return call.at[Src1] ? loadAs<float>(call.modeElement(Src1, i0, i1, i2)) : call.instruction.immFloat(0);
}

/// rne(value) + zero point, saturated. The sum of two integers below 2^24 is exact; above, the result saturates anyway.
void storeQuantised(uint8_t *to, DType type, float value, float zeroPoint) {
  storeInt(to, type, saturated(nearestEven(nearestEven(value) + zeroPoint), type));
}

void clip(const Call &call) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src0Type, result = instruction.dstType;
  int32_t low = int32_t(instruction.imm[0]), high = int32_t(instruction.imm[1]);
  forEach(call, [&](uint8_t *to, const uint8_t *from, uint64_t, uint64_t, uint64_t) {
    if (isFloat(type))
      storeFloat(to, result, minimum(maximum(loadFloat(from, type), instruction.immFloat(0)), instruction.immFloat(1)));
    else
      storeInt(to, result, std::min(std::max(loadInt(from, type), low), high));
  });
}

/// The accumulator of an element with its bias, as a number; i32 add before they are rounded.
struct Sum {
  float number;
  int32_t integer; ///< of i32
};
Sum biased(const Call &call, uint64_t column, uint64_t row) {
  const Instruction &instruction = call.instruction;
  const uint8_t *from = call.at[Src0] + tileOffset(row, column, call.extent(0));
  const uint8_t *bias = call.at[Src1] ? call.modeElement(Src1, column, row, 0) : nullptr;
  if (instruction.src0Type == DType::F32) {
    float value = loadAs<float>(from);
    return {bias ? value + loadAs<float>(bias) : value, 0};
  }
  uint32_t value = loadAs<uint32_t>(from);
  if (bias)
    value += loadAs<uint32_t>(bias);
  return {float(int32_t(value)), int32_t(value)};
}

void drain(const Call &call) {
  const Instruction &instruction = call.instruction;
  DType result = instruction.dstType;
  bool hasScale = call.at[Src2] || instruction.imm[0] != 0;
  bool isPlain = !hasScale && result == DType::I32 && instruction.activation == Activation::None && instruction.imm[1] == 0;
  for (uint64_t row = 0; row < call.extent(1); ++row)
    for (uint64_t column = 0; column < call.extent(0); ++column) {
      Sum sum = biased(call, column, row);
      uint8_t *to = call.element(Dst, column, row);
      if (isPlain) {
        storeAs(to, sum.integer);
        continue;
      }
      float value = sum.number;
      if (hasScale)
        value = value * (call.at[Src2] ? loadAs<float>(call.at[Src2] + 4 * column) : instruction.immFloat(0));
      value = activate(instruction.activation, value);
      if (isFloat(result))
        storeFloat(to, result, value);
      else
        storeQuantised(to, result, value, instruction.immFloat(1));
    }
}
} // namespace

Result executeConvert(const Call &call) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src0Type, result = instruction.dstType;
  float zeroPoint = instruction.immFloat(1);
  switch (instruction.opcode) {
  case Opcode::cvt:
    forEach(call, [&](uint8_t *to, const uint8_t *from, uint64_t, uint64_t, uint64_t) {
      convertElement(to, result, from, type, instruction.saturate);
    });
    break;
  case Opcode::quant:
  case Opcode::quant_pc:
    forEach(call, [&](uint8_t *to, const uint8_t *from, uint64_t i0, uint64_t i1, uint64_t i2) {
      storeQuantised(to, result, loadFloat(from, type) / scaleOf(call, i0, i1, i2), zeroPoint);
    });
    break;
  case Opcode::dequant:
  case Opcode::dequant_pc:
    forEach(call, [&](uint8_t *to, const uint8_t *from, uint64_t i0, uint64_t i1, uint64_t i2) {
      storeFloat(to, result, (float(loadInt(from, type)) - zeroPoint) * scaleOf(call, i0, i1, i2));
    });
    break;
  case Opcode::requant:
    forEach(call, [&](uint8_t *to, const uint8_t *from, uint64_t i0, uint64_t i1, uint64_t i2) {
      storeQuantised(to, result, float(loadInt(from, type)) * scaleOf(call, i0, i1, i2), zeroPoint);
    });
    break;
  case Opcode::clip:
    clip(call);
    break;
  default:
    drain(call);
  }
  return std::nullopt;
}

} // namespace perpend::quoin
