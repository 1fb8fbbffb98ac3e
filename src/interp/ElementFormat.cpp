//===- ElementFormat.cpp - scalars in memory and in registers -------------===//

#include "interp/ElementFormat.h"

#include "graph/ElementTypes.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace perpend::interp {

std::optional<ElementFormat> formatOf(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  if (type.isIndex())
    return ElementFormat{};
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 1 && integer.getWidth() <= 64
               ? std::optional(ElementFormat{RegisterKind::Integer, static_cast<uint8_t>(integer.getWidth())})
               : std::nullopt;
  if (isa<graph::MinifloatType>(type))
    return ElementFormat{RegisterKind::Integer, 8};
  if (graph::isHandle(type))
    return ElementFormat{};
  if (type.isF64())
    return ElementFormat{RegisterKind::Double, 64};
  if (type.isF32())
    return ElementFormat{RegisterKind::Single, 32};
  if (type.isF16() || type.isBF16())
    return ElementFormat{RegisterKind::Single, 16, type.isBF16()};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 0) // zero or subnormal: multiples of 2^-24
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  uint32_t wideExponent = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wideExponent << 23 | mantissa << 13);
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) // from halfway between the largest number and 2^16
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // subnormal: the sum's last bit is worth 2^-24, so the addition rounds
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  magnitude += 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u) >> 13));
}

float brainToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t floatToBrain(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value)
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value))
    --bits;
  return std::bit_cast<float>(bits | 1u);
}

//===----------------------------------------------------------------------===//
// Memory and registers
//===----------------------------------------------------------------------===//

template <typename T>
static void readIntegers(const std::byte *memory, int64_t count, unsigned width, int64_t *registers) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, memory + i * sizeof(T), sizeof(T));
    registers[i] = signExtend(static_cast<int64_t>(value), width);
  }
}

template <typename T>
static void writeIntegers(const int64_t *registers, int64_t count, unsigned width, std::byte *memory) {
  for (int64_t i = 0; i < count; ++i) {
    T value = static_cast<T>(zeroExtend(registers[i], width));
    std::memcpy(memory + i * sizeof(T), &value, sizeof(T));
  }
}

template <auto convert> static void readFloats(const std::byte *memory, int64_t count, float *registers) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, memory + 2 * i, 2);
    registers[i] = convert(bits);
  }
}

template <auto convert> static void writeFloats(const float *registers, int64_t count, std::byte *memory) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits = convert(registers[i]);
    std::memcpy(memory + 2 * i, &bits, 2);
  }
}

void readElements(ElementFormat format, const std::byte *memory, int64_t count, void *registers) {
  if (format.isFloat()) {
    auto *floats = static_cast<float *>(registers);
    if (format.width != 16)
      std::memcpy(registers, memory, static_cast<size_t>(count) * format.bytes());
    else if (format.isBrain)
      readFloats<brainToFloat>(memory, count, floats);
    else
      readFloats<halfToFloat>(memory, count, floats);
    return;
  }
  auto *integers = static_cast<int64_t *>(registers);
  switch (format.bytes()) {
  case 1:
    return readIntegers<uint8_t>(memory, count, format.width, integers);
  case 2:
    return readIntegers<uint16_t>(memory, count, format.width, integers);
  case 4:
    return readIntegers<uint32_t>(memory, count, format.width, integers);
  default:
    return readIntegers<uint64_t>(memory, count, format.width, integers);
  }
}

void writeElements(ElementFormat format, const void *registers, int64_t count, std::byte *memory) {
  if (format.isFloat()) {
    auto *floats = static_cast<const float *>(registers);
    if (format.width != 16)
      std::memcpy(memory, registers, static_cast<size_t>(count) * format.bytes());
    else if (format.isBrain)
      writeFloats<floatToBrain>(floats, count, memory);
    else
      writeFloats<floatToHalf>(floats, count, memory);
    return;
  }
  auto *integers = static_cast<const int64_t *>(registers);
  switch (format.bytes()) {
  case 1:
    return writeIntegers<uint8_t>(integers, count, format.width, memory);
  case 2:
    return writeIntegers<uint16_t>(integers, count, format.width, memory);
  case 4:
    return writeIntegers<uint32_t>(integers, count, format.width, memory);
  default:
    return writeIntegers<uint64_t>(integers, count, format.width, memory);
  }
}

void roundElements(ElementFormat format, void *registers, int64_t count) {
  if (format.kind != RegisterKind::Single || format.width != 16)
    return;
  auto *floats = static_cast<float *>(registers);
  for (int64_t i = 0; i < count; ++i)
    floats[i] = format.isBrain ? brainToFloat(floatToBrain(floats[i])) : halfToFloat(floatToHalf(floats[i]));
}
} // namespace perpend::interp
