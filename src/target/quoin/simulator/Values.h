//===- Values.h - elements as numbers ---------------------------*- C++ -*-===//
//
// All conversions round to nearest even and are bit operations, so that they are the same on every host. What is stored
// has one NaN of each type.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_VALUES_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_VALUES_H

#include "target/quoin/Isa.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace perpend::quoin {

inline constexpr uint32_t canonicalNaN = 0x7fc00000;

inline float floatOfHalf(uint16_t half) {
  uint32_t magnitude = uint32_t(half & 0x7fff) << 13;
  // The exponent is 112 too small; the product is exact, of subnormal halves, too.
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  if (magnitude >= 0x7c00u << 13)
    bits = magnitude | 0x7f800000;
  return std::bit_cast<float>(bits | uint32_t(half & 0x8000) << 16);
}

inline uint16_t halfOfFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7e00;
  if (magnitude >= 0x47800000) // 65536
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // 2^-14: the sum's unit is that of subnormal halves
    float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(sum) - 0x3f000000);
  }
  uint32_t odd = magnitude >> 13 & 1;
  return sign | uint16_t((magnitude - (112u << 23) + 0xfff + odd) >> 13);
}

inline float floatOfBrain(uint16_t brain) { return std::bit_cast<float>(uint32_t(brain) << 16); }

inline uint16_t brainOfFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float canonical(float value) { return value == value ? value : std::bit_cast<float>(canonicalNaN); }

template <typename T>
T loadAs(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void storeAs(uint8_t *at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

/// A floating-point element.
inline float loadFloat(const uint8_t *at, DType type) {
  if (type == DType::F32)
    return loadAs<float>(at);
  uint16_t bits = loadAs<uint16_t>(at);
  return type == DType::F16 ? floatOfHalf(bits) : floatOfBrain(bits);
}
inline void storeFloat(uint8_t *at, DType type, float value) {
  if (type == DType::F32)
    storeAs(at, canonical(value));
  else
    storeAs(at, type == DType::F16 ? halfOfFloat(value) : brainOfFloat(value));
}

/// An integer element or a pred8.
inline int32_t loadInt(const uint8_t *at, DType type) {
  switch (type) {
  case DType::I8:
    return int8_t(*at);
  case DType::I16:
    return loadAs<int16_t>(at);
  case DType::I32:
    return loadAs<int32_t>(at);
  default:
    return *at;
  }
}
/// Wraps.
inline void storeInt(uint8_t *at, DType type, int32_t value) {
  switch (sizeOf(type)) {
  case 1:
    *at = uint8_t(value);
    return;
  case 2:
    storeAs(at, int16_t(value));
    return;
  default:
    storeAs(at, value);
  }
}

inline int32_t lowestOf(DType type) {
  return type == DType::I8 ? -128 : type == DType::I16 ? -32768 : type == DType::I32 ? INT32_MIN : 0;
}
inline int32_t highestOf(DType type) {
  switch (type) {
  case DType::I8:
    return 127;
  case DType::U8:
    return 255;
  case DType::I16:
    return 32767;
  case DType::I32:
    return INT32_MAX;
  default:
    return 1;
  }
}
inline int32_t saturated(int64_t value, DType type) {
  int64_t low = lowestOf(type), high = highestOf(type);
  return int32_t(value < low ? low : value > high ? high : value);
}
/// A float that is an integer, or infinite, or NaN (0).
inline int32_t saturated(float value, DType type) {
  if (value != value)
    return 0;
  if (value >= 2147483648.0f)
    return highestOf(type);
  if (value <= -2147483648.0f)
    return lowestOf(type);
  return saturated(int64_t(value), type);
}

/// An element of any type as a number; integers of 32 bits are rounded.
inline float loadNumber(const uint8_t *at, DType type) {
  return isFloat(type) ? loadFloat(at, type) : float(loadInt(at, type));
}

/// The nearest integer, of two the even one, whatever the host's rounding mode is.
inline float nearestEven(float value) {
  if (!(std::fabs(value) < 8388608.0f)) // no fraction, infinite or NaN
    return value;
  float magnitude = std::fabs(value);
  int32_t whole = int32_t(magnitude);
  float fraction = magnitude - float(whole);
  whole += fraction > 0.5f || (fraction == 0.5f && (whole & 1));
  return std::copysign(float(whole), value);
}

/// IEEE maximum and minimum: a NaN wins, +0 is above -0.
inline float maximum(float left, float right) {
  if (left != left || right != right)
    return std::bit_cast<float>(canonicalNaN);
  if (left == right)
    return std::bit_cast<float>(std::bit_cast<uint32_t>(left) & std::bit_cast<uint32_t>(right));
  return left > right ? left : right;
}
inline float minimum(float left, float right) {
  if (left != left || right != right)
    return std::bit_cast<float>(canonicalNaN);
  if (left == right)
    return std::bit_cast<float>(std::bit_cast<uint32_t>(left) | std::bit_cast<uint32_t>(right));
  return left < right ? left : right;
}

/// Converts `bits` of an immediate to an element: of f32 for floats, of i32 for others.
inline void storeImmediate(uint8_t *at, DType type, uint32_t bits) {
  if (isFloat(type))
    storeFloat(at, type, std::bit_cast<float>(bits));
  else
    storeInt(at, type, int32_t(bits));
}

/// An element in another type (the instruction cvt).
inline void convertElement(uint8_t *to, DType toType, const uint8_t *from, DType fromType, bool saturate) {
  if (isFloat(toType)) {
    storeFloat(to, toType, loadNumber(from, fromType));
  } else if (toType == DType::Pred8) {
    *to = isFloat(fromType) ? loadFloat(from, fromType) != 0 : loadInt(from, fromType) != 0;
  } else if (isFloat(fromType)) {
    float value = std::trunc(loadFloat(from, fromType));
    int32_t whole = saturated(value, saturate ? toType : DType::I32);
    storeInt(to, toType, whole);
  } else {
    int32_t value = loadInt(from, fromType);
    storeInt(to, toType, saturate ? saturated(int64_t(value), toType) : value);
  }
}

} // namespace perpend::quoin

#endif
