//===- ModelMachine.h - the memories and elements of the model --*- C++ -*-===//

#ifndef PERPEND_TEST_QUOIN_MODELMACHINE_H
#define PERPEND_TEST_QUOIN_MODELMACHINE_H

#include "Model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace perpend::quoin::test {

inline constexpr float infinity = __builtin_inff();

inline void floatTo(uint8_t *bytes, DType type, float value) {
  uint32_t bits = std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
  if (type == DType::F32) {
    std::memcpy(bytes, &bits, 4);
    return;
  }
  uint16_t half;
  if (type == DType::F16) {
    half = std::isnan(value) ? 0x7e00 : std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  } else { // the nearest of the two neighbours that are shorter
    uint32_t low = bits & 0xffff, up = bits >> 16;
    half = uint16_t(std::isnan(value) ? 0x7fc0 : low > 0x8000 || (low == 0x8000 && up % 2) ? up + 1 : up);
  }
  std::memcpy(bytes, &half, 2);
}

inline int64_t lowest(DType type) {
  return type == DType::I8 ? -128 : type == DType::I16 ? -32768 : type == DType::I32 ? -2147483648ll : 0;
}
inline int64_t highest(DType type) {
  return type == DType::I8    ? 127
         : type == DType::U8  ? 255
         : type == DType::I16 ? 32767
         : type == DType::I32 ? 2147483647ll
                              : 1;
}

inline int64_t intFrom(const uint8_t *bytes, DType type) {
  int64_t value = 0;
  for (unsigned byte = 0; byte < sizeOf(type); ++byte)
    value |= int64_t(bytes[byte]) << 8 * byte;
  int64_t range = int64_t(1) << 8 * sizeOf(type);
  return lowest(type) < 0 && value >= range / 2 ? value - range : value;
}
inline void intTo(uint8_t *bytes, DType type, int64_t value) {
  for (unsigned byte = 0; byte < sizeOf(type); ++byte)
    bytes[byte] = uint8_t(value >> 8 * byte);
}
inline int64_t clamp(double value, DType type) {
  if (std::isnan(value))
    return 0;
  return int64_t(std::min(std::max(value, double(lowest(type))), double(highest(type))));
}
inline double even(double value) { return std::nearbyint(value); }

inline float least(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return __builtin_nanf("");
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
inline float most(float a, float b) { return -least(-a, -b); }

inline float activation(Activation kind, float x) {
  switch (kind) {
  case Activation::Relu:
    return most(x, 0.0f);
  case Activation::Relu6:
    return least(most(x, 0.0f), 6);
  case Activation::Sigmoid:
    return float(1 / (1 + std::exp(-double(x))));
  case Activation::Tanh:
    return float(std::tanh(double(x)));
  case Activation::Gelu:
    return x == -infinity ? -0.0f : float(0.5 * x * std::erfc(-double(x) / std::sqrt(2.0)));
  case Activation::Silu:
    return x == -infinity ? -0.0f : float(x / (1 + std::exp(-double(x))));
  default:
    return x;
  }
}

/// One instruction and its memories.
class Machine {
public:
  Machine(const Instruction &in, Memories &memories, uint64_t *sregs) : in(in), memories(memories), sregs(sregs) {
    for (unsigned index = 0; index < 3; ++index)
      e[index] = std::max(1u, in.extent[index]);
  }
  void run();

private:
  const Instruction &in;
  Memories &memories;
  uint64_t *sregs;
  int64_t e[3];

  bool has(unsigned operand) const { return in.operands[operand].space != Space::None; }
  uint8_t *raw(unsigned operand, int64_t byte) {
    return &memories[in.operands[operand].space][in.operands[operand].byte + byte];
  }
  uint8_t *at(unsigned operand, int64_t x, int64_t y = 0, int64_t z = 0) {
    int64_t index = x * in.inner[operand] + y * in.stride1[operand] + z * in.stride2[operand];
    return raw(operand, index * sizeOf(in.typeOf(operand)));
  }
  uint8_t *byMode(unsigned operand, int64_t x, int64_t y, int64_t z) {
    if (in.mode == Operands::Row)
      y = z = 0;
    if (in.mode == Operands::Column)
      x = 0;
    if (in.mode == Operands::Scalar)
      x = y = z = 0;
    return at(operand, x, y, z);
  }
  template <typename F> void each(F f) {
    for (int64_t z = 0; z < e[2]; ++z)
      for (int64_t y = 0; y < e[1]; ++y)
        for (int64_t x = 0; x < e[0]; ++x)
          f(x, y, z);
  }
  void copy(uint8_t *to, const uint8_t *from) { std::memmove(to, from, sizeOf(in.dstType)); }
  void immediate(uint8_t *to) {
    isFloat(in.dstType) ? floatTo(to, in.dstType, in.immFloat(0)) : intTo(to, in.dstType, int32_t(in.imm[0]));
  }

  /// Byte of element k of row r in L0A or L0B.
  static int64_t fractal(int64_t r, int64_t k, int64_t kAll, int64_t size) {
    int64_t along = (kAll * size + 31) / 32, byte = k * size;
    return ((r / 16) * along + byte / 32) * 512 + (r % 16) * 32 + byte % 32;
  }
  static int64_t tile(int64_t r, int64_t c, int64_t columns) {
    return ((r / 16) * ((columns + 15) / 16) + c / 16) * 1024 + (r % 16) * 64 + (c % 16) * 4;
  }
  static int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
  /// A pixel's element of a patch, or null.
  uint8_t *patch(unsigned operand, int64_t pixel, int64_t k) {
    const Window &w = in.window;
    int64_t p = w.start + pixel, c = k % w.channels, kx = k / w.channels % w.kernelWidth,
            ky = k / w.channels / w.kernelWidth;
    int64_t y = p / e[2] * w.strideHeight - w.padTop + ky * w.dilationHeight,
            x = p % e[2] * w.strideWidth - w.padLeft + kx * w.dilationWidth;
    bool inside = x >= 0 && y >= 0 && x < w.inputWidth && y < w.inputHeight;
    return inside ? at(operand, c, x, y) : nullptr;
  }

  void moves();
  void feeds();
  void products();
  float product(int64_t a, int64_t b, bool isInt, uint32_t &whole, float sum);
  void unary();
  void binary();
  float unaryFloat(float x);
  float binaryFloat(float a, float b);
  int64_t binaryInt(int64_t a, int64_t b);
  void conversions();
  void drain();
  void scans();
  void reductions();
  void layouts();
  void pairs();
  void windows();
  void zeroFill(int64_t bytes) { std::memset(raw(Dst, 0), 0, bytes); }
};

} // namespace perpend::quoin::test

#endif
