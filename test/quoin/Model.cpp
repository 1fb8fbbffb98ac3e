//===- Model.cpp - what tensor instructions mean, in plain loops -----------===//

#include "Model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace perpend::quoin::test {
namespace {
constexpr float infinity = __builtin_inff();

void floatTo(uint8_t *bytes, DType type, float value) {
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

int64_t lowest(DType type) { return type == DType::I8 ? -128 : type == DType::I16 ? -32768 : type == DType::I32 ? -2147483648ll : 0; }
int64_t highest(DType type) {
  return type == DType::I8 ? 127 : type == DType::U8 ? 255 : type == DType::I16 ? 32767 : type == DType::I32 ? 2147483647ll : 1;
}

int64_t intFrom(const uint8_t *bytes, DType type) {
  int64_t value = 0;
  for (unsigned byte = 0; byte < sizeOf(type); ++byte)
    value |= int64_t(bytes[byte]) << 8 * byte;
  int64_t range = int64_t(1) << 8 * sizeOf(type);
  return lowest(type) < 0 && value >= range / 2 ? value - range : value;
}
void intTo(uint8_t *bytes, DType type, int64_t value) {
  for (unsigned byte = 0; byte < sizeOf(type); ++byte)
    bytes[byte] = uint8_t(value >> 8 * byte);
}
int64_t clamp(double value, DType type) {
  if (std::isnan(value))
    return 0;
  return int64_t(std::min(std::max(value, double(lowest(type))), double(highest(type))));
}
double even(double value) { return std::nearbyint(value); }

float least(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return __builtin_nanf("");
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
float most(float a, float b) { return -least(-a, -b); }

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
  uint8_t *raw(unsigned operand, int64_t byte) { return &memories[in.operands[operand].space][in.operands[operand].byte + byte]; }
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
  template <typename F>
  void each(F f) {
    for (int64_t z = 0; z < e[2]; ++z)
      for (int64_t y = 0; y < e[1]; ++y)
        for (int64_t x = 0; x < e[0]; ++x)
          f(x, y, z);
  }
  void copy(uint8_t *to, const uint8_t *from) { std::memmove(to, from, sizeOf(in.dstType)); }
  void immediate(uint8_t *to) { isFloat(in.dstType) ? floatTo(to, in.dstType, in.immFloat(0)) : intTo(to, in.dstType, int32_t(in.imm[0])); }

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
    int64_t p = w.start + pixel, c = k % w.channels, kx = k / w.channels % w.kernelWidth, ky = k / w.channels / w.kernelWidth;
    int64_t y = p / e[2] * w.strideHeight - w.padTop + ky * w.dilationHeight, x = p % e[2] * w.strideWidth - w.padLeft + kx * w.dilationWidth;
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
  void reductions();
  void layouts();
  void pairs();
  void windows();
  void zeroFill(int64_t bytes) { std::memset(raw(Dst, 0), 0, bytes); }
};

float activation(Activation kind, float x) {
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

void Machine::moves() {
  const Window &w = in.window;
  bool isGather = in.opcode == Opcode::ld_gather || in.opcode == Opcode::gather;
  bool isScatter = in.opcode == Opcode::st_scatter || in.opcode == Opcode::scatter;
  if (in.opcode == Opcode::ld_pad2)
    for (int64_t y = 0; y < e[1] + w.padTop + w.padBottom; ++y)
      for (int64_t x = 0; x < e[0] + w.padLeft + w.padRight; ++x)
        immediate(at(Dst, x, y));
  if (in.opcode == Opcode::ld_frac)
    zeroFill(up(e[1], 16) / 16 * (up(e[0] * sizeOf(in.dstType), 32) / 32) * 512);
  each([&](int64_t x, int64_t y, int64_t z) {
    int32_t row = isGather || isScatter ? int32_t(intFrom(raw(Src1, 4 * y), DType::I32)) : 0;
    if (isGather)
      return copy(at(Dst, x, y), at(Src0, x, row));
    if (isScatter)
      return copy(at(Dst, x, row), at(Src0, x, y));
    switch (in.opcode) {
    case Opcode::ld_pad2:
      return copy(at(Dst, x + w.padLeft, y + w.padTop), at(Src0, x, y));
    case Opcode::ld_tr:
    case Opcode::st_tr:
    case Opcode::tr2:
      return copy(at(Dst, y, x, z), at(Src0, x, y, z));
    case Opcode::ld_fill:
      return immediate(at(Dst, x, y, z));
    case Opcode::ld_frac:
      return copy(raw(Dst, fractal(y, x, e[0], sizeOf(in.dstType))), at(Src0, x, y));
    case Opcode::st_frac:
      return copy(at(Dst, x, y), raw(Src0, in.src(0).space == Space::L0C ? tile(y, x, e[0]) : fractal(y, x, e[0], sizeOf(in.dstType))));
    case Opcode::st_mask:
      return *at(Src1, x, y) ? copy(at(Dst, x, y), at(Src0, x, y)) : void();
    case Opcode::st_add:
      if (in.dstType == DType::F32)
        return floatTo(at(Dst, x, y, z), DType::F32, floatFrom(at(Dst, x, y, z), DType::F32) + floatFrom(at(Src0, x, y, z), DType::F32));
      return intTo(at(Dst, x, y, z), DType::I32, intFrom(at(Dst, x, y, z), DType::I32) + intFrom(at(Src0, x, y, z), DType::I32));
    default:
      return copy(at(Dst, x, y, z), at(Src0, x, y, z));
    }
  });
}

void Machine::feeds() {
  bool isLeft = in.opcode <= Opcode::fd_a_dq, isTile = in.opcode == Opcode::fd_c || in.opcode == Opcode::fd_bias;
  int64_t rows = isLeft ? e[1] : e[0], k = isLeft ? e[0] : e[1], size = sizeOf(in.dstType);
  if (isTile)
    zeroFill(up(e[1], 16) * up(e[0], 16) * 4);
  else
    zeroFill(up(rows, 16) / 16 * (up(k * size, 32) / 32) * 512);
  if (in.opcode == Opcode::fd_b_frac)
    std::memcpy(raw(Dst, 0), raw(Src0, 0), up(rows, 16) / 16 * (up(k * size, 32) / 32) * 512);
  for (int64_t y = 0; y < e[1]; ++y)
    for (int64_t x = 0; x < e[0]; ++x) {
      uint8_t *to = isTile ? raw(Dst, tile(y, x, e[0])) : raw(Dst, isLeft ? fractal(y, x, k, size) : fractal(x, y, k, size));
      uint8_t *from = nullptr;
      if (in.opcode == Opcode::fd_a_im2col) {
        from = patch(Src0, y, x);
        from ? copy(to, from) : immediate(to);
        continue;
      }
      if (in.opcode == Opcode::fd_b_frac)
        continue;
      bool isTransposed = in.opcode == Opcode::fd_a_tr || in.opcode == Opcode::fd_b_tr;
      from = isTransposed ? at(Src0, y, x) : at(Src0, x, in.opcode == Opcode::fd_bias ? 0 : y);
      if (in.opcode == Opcode::fd_a_dq || in.opcode == Opcode::fd_b_dq) {
        float scale = in.mode == Operands::Row ? floatFrom(at(Src1, x), DType::F32) : in.immFloat(0);
        float difference = float(intFrom(from, in.src0Type)) - in.immFloat(1);
        floatTo(to, in.dstType, difference * scale);
      } else if (isTile && isFloat(in.dstType)) {
        floatTo(to, DType::F32, floatFrom(from, in.src0Type));
      } else {
        copy(to, from);
      }
    }
}

void Machine::products() {
  int64_t n = e[0], m = e[1], k = e[2], size = sizeOf(in.src0Type), batches = in.opcode == Opcode::bmm ? in.axis : 1;
  bool isInt = in.dstType == DType::I32, depthwise = in.opcode == Opcode::dwconv;
  bool begins = in.opcode == Opcode::mm || in.opcode == Opcode::mm_mask || in.zero;
  int64_t aBytes = up(m, 16) / 16 * (up(k * size, 32) / 32) * 512, bBytes = up(n, 16) / 16 * (up(k * size, 32) / 32) * 512;
  int64_t cBytes = up(m, 16) * up(n, 16) * 4;
  if (begins)
    zeroFill(batches * cBytes);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint8_t *c = raw(Dst, batch * cBytes + tile(i, j, n));
        float sum = floatFrom(c, DType::F32);
        int64_t whole = intFrom(c, DType::I32);
        for (int64_t t = 0; t < k; ++t) {
          uint8_t *a = raw(Src0, batch * aBytes + (depthwise ? fractal(i, t * n + j, k * n, size) : fractal(i, t, k, size)));
          uint8_t *b = raw(Src1, batch * bBytes + fractal(j, t, k, size));
          if (!isInt) {
            float term = floatFrom(a, in.src0Type) * floatFrom(b, in.src1Type);
            sum = sum + term;
            continue;
          }
          int64_t za = 0, zb = 0;
          if (in.opcode == Opcode::mm_zp) {
            za = in.variant0 ? intFrom(raw(Src2, 4 * i), DType::I32) : int32_t(in.imm[0]);
            zb = in.variant1 ? intFrom(raw(Src2, 4 * j), DType::I32) : int32_t(in.imm[1]);
          }
          uint32_t left = uint32_t(intFrom(a, in.src0Type) - za), right = uint32_t(intFrom(b, in.src1Type) - zb);
          whole = int32_t(uint32_t(whole) + left * right);
        }
        bool isMasked = in.opcode == Opcode::mm_mask && j > i + int32_t(in.imm[1]);
        if (isInt)
          intTo(c, DType::I32, isMasked ? int32_t(in.imm[0]) : whole);
        else
          floatTo(c, DType::F32, isMasked ? in.immFloat(0) : sum);
      }
}

float Machine::unaryFloat(float x) {
  double d = x;
  switch (in.opcode) {
  case Opcode::neg:
    return -x;
  case Opcode::abs:
    return std::fabs(x);
  case Opcode::sqr:
    return x * x;
  case Opcode::sqrt:
    return float(std::sqrt(d));
  case Opcode::rsqrt:
    return float(1 / std::sqrt(d));
  case Opcode::recip:
    return float(1 / d);
  case Opcode::exp:
    return float(std::exp(d));
  case Opcode::exp2:
    return float(std::exp2(d));
  case Opcode::ln:
    return float(std::log(d));
  case Opcode::log2:
    return float(std::log2(d));
  case Opcode::sin:
    return float(std::sin(d));
  case Opcode::cos:
    return float(std::cos(d));
  case Opcode::tanh:
    return activation(Activation::Tanh, x);
  case Opcode::sigmoid:
    return activation(Activation::Sigmoid, x);
  case Opcode::erf:
    return float(std::erf(d));
  case Opcode::gelu:
    return activation(Activation::Gelu, x);
  case Opcode::silu:
    return activation(Activation::Silu, x);
  case Opcode::relu:
    return most(x, 0.0f);
  case Opcode::sign:
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
  case Opcode::floor:
    return std::floor(x);
  case Opcode::ceil:
    return std::ceil(x);
  case Opcode::rne:
    return std::nearbyintf(x);
  case Opcode::trunc:
    return std::trunc(x);
  default:
    return x;
  }
}

void Machine::unary() {
  each([&](int64_t x, int64_t y, int64_t z) {
    uint8_t *to = at(Dst, x, y, z), *from = at(Src0, x, y, z);
    if (in.opcode == Opcode::lut)
      return copy(to, raw(Src1, (intFrom(from, in.src0Type) - lowest(in.src0Type)) * sizeOf(in.dstType)));
    if (in.opcode == Opcode::isnan)
      return intTo(to, DType::Pred8, std::isnan(floatFrom(from, in.src0Type)));
    if (in.opcode == Opcode::mov && in.dstType == in.src0Type)
      return copy(to, from);
    if (isFloat(in.src0Type))
      return floatTo(to, in.dstType, unaryFloat(floatFrom(from, in.src0Type)));
    int64_t v = intFrom(from, in.src0Type);
    switch (in.opcode) {
    case Opcode::neg:
      return intTo(to, in.dstType, -v);
    case Opcode::abs:
      return intTo(to, in.dstType, std::abs(v));
    case Opcode::sqr:
      return intTo(to, in.dstType, v * v);
    case Opcode::relu:
      return intTo(to, in.dstType, std::max<int64_t>(v, 0));
    case Opcode::sign:
      return intTo(to, in.dstType, v > 0 ? 1 : v < 0 ? -1 : 0);
    default:
      return intTo(to, in.dstType, in.src0Type == DType::Pred8 ? 1 - v : -1 - v);
    }
  });
}

float Machine::binaryFloat(float a, float b) {
  switch (in.opcode) {
  case Opcode::add:
    return a + b;
  case Opcode::sub:
    return a - b;
  case Opcode::mul:
    return a * b;
  case Opcode::div:
    return a / b;
  case Opcode::max:
    return most(a, b);
  case Opcode::min:
    return least(a, b);
  case Opcode::pow:
    return float(std::pow(double(a), double(b)));
  case Opcode::mod: {
    float r = std::fmod(a, b);
    return in.variant0 && r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
  }
  case Opcode::absdiff:
    return std::fabs(a - b);
  default:
    return activation(in.activation == Activation::None ? Activation::Relu : in.activation, a + b);
  }
}

int64_t Machine::binaryInt(int64_t a, int64_t b) {
  int64_t bits = 8 * sizeOf(in.src0Type), range = int64_t(1) << bits, positive = a < 0 ? a + range : a;
  bool inRange = b >= 0 && b < bits;
  switch (in.opcode) {
  case Opcode::add:
    return a + b;
  case Opcode::sub:
    return a - b;
  case Opcode::mul:
    return a * b;
  case Opcode::div:
    return b ? a / b : 0;
  case Opcode::max:
    return a > b ? a : b;
  case Opcode::min:
    return a < b ? a : b;
  case Opcode::mod: {
    int64_t r = b ? a % b : 0;
    return in.variant0 && r && (r < 0) != (b < 0) ? r + b : r;
  }
  case Opcode::and_:
    return a & b;
  case Opcode::or_:
    return a | b;
  case Opcode::xor_:
    return a ^ b;
  case Opcode::shl:
    return inRange ? positive << b : 0;
  case Opcode::shr:
    return inRange ? positive >> b : 0;
  case Opcode::sar:
    return inRange ? a >> b : a < 0 ? -1 : 0;
  default:
    return std::abs(a - b);
  }
}

template <typename T>
bool compared(Opcode opcode, T a, T b) {
  switch (opcode) {
  case Opcode::ceq:
    return a == b;
  case Opcode::cne:
    return !(a == b);
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

void Machine::binary() {
  bool isScalar = in.mode == Operands::Scalar, isFloating = isFloat(in.src0Type);
  bool isComparison = in.opcode >= Opcode::ceq && in.opcode <= Opcode::cge, isTernary = in.opcode == Opcode::fma || in.opcode == Opcode::sel;
  each([&](int64_t x, int64_t y, int64_t z) {
    uint8_t *to = at(Dst, x, y, z), *a = at(Src0, x, y, z), *b = isTernary ? at(Src1, x, y, z) : isScalar ? nullptr : byMode(Src1, x, y, z);
    uint8_t *c = isTernary && !isScalar ? byMode(Src2, x, y, z) : nullptr;
    auto last = [&](uint8_t *bytes, DType type) { return bytes ? floatFrom(bytes, type) : in.immFloat(0); };
    auto lastInt = [&](uint8_t *bytes, DType type) {
      uint8_t wrapped[4];
      intTo(wrapped, type, int32_t(in.imm[0]));
      return intFrom(bytes ? bytes : wrapped, type);
    };
    if (in.opcode == Opcode::sel) {
      if (isFloat(in.dstType) && (in.src1Type != in.dstType || (!*a && isScalar))) {
        uint8_t rounded[4]; // an immediate is an element of the type of src1
        if (!*a && isScalar)
          floatTo(rounded, in.src1Type, in.immFloat(0));
        return floatTo(to, in.dstType, floatFrom(*a ? b : isScalar ? rounded : c, in.src1Type));
      }
      return *a || !isScalar ? copy(to, *a ? b : c) : intTo(to, in.dstType, lastInt(nullptr, in.dstType));
    }
    if (isComparison)
      return intTo(to, DType::Pred8,
                   isFloating ? compared(in.opcode, floatFrom(a, in.src0Type), last(b, in.src1Type))
                              : compared(in.opcode, intFrom(a, in.src0Type), lastInt(b, in.src0Type)));
    if (isFloating && in.opcode == Opcode::fma) {
      float product = floatFrom(a, in.src0Type) * floatFrom(b, in.src1Type);
      return floatTo(to, in.dstType, product + last(c, in.src1Type));
    }
    if (isFloating)
      return floatTo(to, in.dstType, binaryFloat(floatFrom(a, in.src0Type), last(b, in.src1Type)));
    int64_t value = in.opcode == Opcode::fma ? intFrom(a, in.src0Type) * intFrom(b, in.src1Type) + lastInt(c, in.src1Type)
                                             : binaryInt(intFrom(a, in.src0Type), lastInt(b, in.src0Type));
    intTo(to, in.dstType, in.saturate ? std::min(std::max(value, lowest(in.dstType)), highest(in.dstType)) : value);
  });
}

void Machine::drain() {
  for (int64_t y = 0; y < e[1]; ++y)
    for (int64_t x = 0; x < e[0]; ++x) {
      uint8_t *c = raw(Src0, tile(y, x, e[0])), *to = at(Dst, x, y);
      bool hasScale = has(Src2) || in.imm[0];
      float value;
      int32_t whole = 0;
      if (in.src0Type == DType::F32) {
        value = floatFrom(c, DType::F32);
        value = has(Src1) ? value + floatFrom(byMode(Src1, x, y, 0), DType::F32) : value;
      } else {
        whole = int32_t(intFrom(c, DType::I32) + (has(Src1) ? intFrom(byMode(Src1, x, y, 0), DType::I32) : 0));
        value = float(whole);
      }
      if (!hasScale && in.dstType == DType::I32 && in.activation == Activation::None && !in.imm[1]) {
        intTo(to, DType::I32, whole);
        continue;
      }
      if (hasScale)
        value = value * (has(Src2) ? floatFrom(raw(Src2, 4 * x), DType::F32) : in.immFloat(0));
      value = activation(in.activation, value);
      if (isFloat(in.dstType))
        floatTo(to, in.dstType, value);
      else
        intTo(to, in.dstType, clamp(even(float(even(value)) + in.immFloat(1)), in.dstType));
    }
}

void Machine::conversions() {
  if (in.opcode == Opcode::drain)
    return drain();
  each([&](int64_t x, int64_t y, int64_t z) {
    uint8_t *to = at(Dst, x, y, z), *from = at(Src0, x, y, z);
    bool isFloating = isFloat(in.src0Type);
    float f = isFloating ? floatFrom(from, in.src0Type) : float(intFrom(from, in.src0Type));
    int64_t v = isFloating ? 0 : intFrom(from, in.src0Type);
    float scale = has(Src1) ? floatFrom(byMode(Src1, x, y, z), DType::F32) : in.immFloat(0);
    switch (in.opcode) {
    case Opcode::cvt:
    case Opcode::ld_cvt:
    case Opcode::st_cvt:
      if (isFloat(in.dstType))
        return floatTo(to, in.dstType, f);
      if (in.dstType == DType::Pred8)
        return intTo(to, DType::Pred8, isFloating ? f != 0 : v != 0);
      if (isFloating)
        return intTo(to, in.dstType, clamp(std::trunc(f), in.saturate ? in.dstType : DType::I32));
      return intTo(to, in.dstType, in.saturate ? std::min(std::max(v, lowest(in.dstType)), highest(in.dstType)) : v);
    case Opcode::dequant:
    case Opcode::dequant_pc: {
      float difference = f - in.immFloat(1);
      return floatTo(to, in.dstType, difference * scale);
    }
    case Opcode::clip:
      if (isFloating)
        return floatTo(to, in.dstType, least(most(f, in.immFloat(0)), in.immFloat(1)));
      return intTo(to, in.dstType, std::min<int64_t>(std::max<int64_t>(v, int32_t(in.imm[0])), int32_t(in.imm[1])));
    default: {
      float q = in.opcode == Opcode::requant ? f * scale : f / scale;
      return intTo(to, in.dstType, clamp(even(float(even(q)) + in.immFloat(1)), in.dstType));
    }
    }
  });
}

/// The sum of 16 partial sums, by index mod 16, then of halves.
template <typename F>
float treeOf(const std::vector<float> &values, F f) {
  std::vector<float> partial(values.begin(), values.begin() + std::min<size_t>(16, values.size()));
  for (size_t index = 16; index < values.size(); ++index)
    partial[index % 16] = f(partial[index % 16], values[index]);
  for (size_t half = 8; half; half /= 2) {
    for (size_t index = 0; index < half && index + half < partial.size(); ++index)
      partial[index] = f(partial[index], partial[index + half]);
    partial.resize(std::min(partial.size(), half));
  }
  return partial[0];
}

void Machine::reductions() {
  auto plus = [](float a, float b) { return a + b; };
  bool isFloating = isFloat(in.src0Type), isScan = in.opcode == Opcode::cumsum;
  if (isScan) {
    each([&](int64_t x, int64_t y, int64_t z) {
      int64_t here = in.axis ? y : x, count = e[in.axis ? 1 : 0], whole = 0;
      float sum = 0;
      bool any = false;
      for (int64_t step = 0; step < count; ++step) { // all elements before, in the scan's order
        int64_t index = in.variant1 ? count - 1 - step : step;
        if (in.variant0 && index == here)
          break;
        uint8_t *from = in.axis ? at(Src0, x, index, z) : at(Src0, index, y, z);
        if (isFloating)
          sum = any ? sum + floatFrom(from, in.src0Type) : floatFrom(from, in.src0Type);
        else
          whole += intFrom(from, in.src0Type);
        any = true;
        if (index == here)
          break;
      }
      isFloating ? floatTo(at(Dst, x, y, z), in.dstType, sum) : intTo(at(Dst, x, y, z), in.dstType, whole);
    });
    return;
  }
  std::map<std::array<int64_t, 3>, std::pair<std::vector<float>, std::vector<int64_t>>> groups;
  each([&](int64_t x, int64_t y, int64_t z) {
    std::array<int64_t, 3> key = {in.axis == 1 ? x : 0, in.axis == 0 ? y : 0, z};
    auto &[floats, ints] = groups[key];
    uint8_t *from = at(Src0, x, y, z);
    floats.push_back(isFloating ? floatFrom(from, in.src0Type) : float(intFrom(from, in.src0Type)));
    ints.push_back(isFloating ? 0 : intFrom(from, in.src0Type));
  });
  for (auto &[key, group] : groups) {
    auto &[floats, ints] = group;
    uint8_t *to = at(Dst, key[0], key[1], key[2]);
    std::vector<float> squares = floats;
    for (float &value : squares)
      value = value * value;
    int64_t total = 0, best = 0;
    uint32_t product = 1;
    for (int64_t value : ints) {
      total += in.opcode == Opcode::rsumsq ? int64_t(uint32_t(value) * uint32_t(value)) : value;
      product *= uint32_t(value);
    }
    switch (in.opcode) {
    case Opcode::rsum:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, plus)) : intTo(to, in.dstType, total);
      break;
    case Opcode::rsumsq:
      isFloating ? floatTo(to, in.dstType, treeOf(squares, plus)) : intTo(to, in.dstType, total);
      break;
    case Opcode::rprod:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, [](float a, float b) { return a * b; })) : intTo(to, in.dstType, product);
      break;
    case Opcode::rmax:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, most)) : intTo(to, in.dstType, *std::max_element(ints.begin(), ints.end()));
      break;
    case Opcode::rmin:
      isFloating ? floatTo(to, in.dstType, treeOf(floats, least)) : intTo(to, in.dstType, *std::min_element(ints.begin(), ints.end()));
      break;
    case Opcode::welford: {
      float count = float(floats.size()), mean = treeOf(floats, plus) / count;
      for (size_t index = 0; index < floats.size(); ++index)
        squares[index] = (floats[index] - mean) * (floats[index] - mean);
      floatTo(to, in.dstType, mean);
      floatTo(to + sizeOf(in.dstType), in.dstType, treeOf(squares, plus) / count);
      break;
    }
    default: {
      bool isMax = in.opcode == Opcode::rargmax;
      for (size_t index = 0; index < floats.size(); ++index) {
        bool better = isFloating ? (isMax ? floats[index] > floats[best] : floats[index] < floats[best])
                                 : (isMax ? ints[index] > ints[best] : ints[index] < ints[best]);
        if (better || (isFloating && std::isnan(floats[index]) && !std::isnan(floats[best])))
          best = int64_t(index);
      }
      intTo(to, DType::I32, best);
    }
    }
  }
}

void Machine::pairs() {
  using Pair = std::array<uint32_t, 2>;
  std::vector<Pair> all;
  auto load = [&](unsigned operand, int64_t count) {
    for (int64_t index = 0; index < count; ++index)
      all.push_back({uint32_t(intFrom(raw(operand, 8 * index), DType::I32)), uint32_t(intFrom(raw(operand, 8 * index + 4), DType::I32))});
  };
  load(Src0, e[0]);
  if (in.opcode == Opcode::merge)
    load(Src1, e[1]);
  auto above = [&](const Pair &a, const Pair &b) { // a strictly above b
    if (in.dstType == DType::I32)
      return int32_t(a[0]) > int32_t(b[0]);
    float x = std::bit_cast<float>(a[0]), y = std::bit_cast<float>(b[0]);
    return std::isnan(x) ? !std::isnan(y) : x > y;
  };
  for (size_t index = 1; index < all.size(); ++index) // insertion keeps the order of equal keys
    for (size_t at = index; at > 0 && (in.variant0 ? above(all[at], all[at - 1]) : above(all[at - 1], all[at])); --at)
      std::swap(all[at], all[at - 1]);
  std::memcpy(raw(Dst, 0), all.data(), all.size() * 8);
}

void Machine::layouts() {
  const Window &w = in.window;
  int64_t kept = 0;
  if (in.opcode == Opcode::sortblk || in.opcode == Opcode::merge)
    return pairs();
  if (in.opcode == Opcode::pad)
    for (int64_t z = 0; z < e[2] + w.padTop + w.padBottom; ++z)
      for (int64_t y = 0; y < e[1] + w.padLeft + w.padRight; ++y)
        for (int64_t x = 0; x < e[0]; ++x)
          immediate(at(Dst, x, y, z));
  if (in.opcode == Opcode::im2col || in.opcode == Opcode::col2im) {
    for (int64_t y = 0; y < e[1]; ++y)
      for (int64_t x = 0; x < e[0]; ++x) {
        bool forward = in.opcode == Opcode::im2col;
        uint8_t *pixel = patch(forward ? Src0 : Dst, y, x), *element = at(forward ? Dst : Src0, x, y);
        if (forward)
          pixel ? copy(element, pixel) : immediate(element);
        else if (pixel && isFloat(in.dstType))
          floatTo(pixel, in.dstType, floatFrom(pixel, in.dstType) + floatFrom(element, in.src0Type));
        else if (pixel)
          intTo(pixel, in.dstType, intFrom(pixel, in.dstType) + intFrom(element, in.src0Type));
      }
    return;
  }
  each([&](int64_t x, int64_t y, int64_t z) {
    int64_t index[3] = {x, y, z};
    switch (in.opcode) {
    case Opcode::perm3:
      return copy(at(Dst, index[in.axis % 4], index[in.axis / 4 % 4], index[in.axis / 16 % 4]), at(Src0, x, y, z));
    case Opcode::bcast:
      return copy(at(Dst, x, y, z), byMode(Src0, x, y, z));
    case Opcode::pad:
      return copy(at(Dst, x, y + w.padLeft, z + w.padTop), at(Src0, x, y, z));
    case Opcode::rev:
      index[in.axis] = e[in.axis] - 1 - index[in.axis];
      return copy(at(Dst, index[0], index[1], index[2]), at(Src0, x, y, z));
    case Opcode::iota:
      if (isFloat(in.dstType))
        return floatTo(at(Dst, x, y, z), in.dstType, in.immFloat(0) + in.immFloat(1) * float(index[in.axis]));
      return intTo(at(Dst, x, y, z), in.dstType, int64_t(in.imm[0]) + int64_t(in.imm[1]) * index[in.axis]);
    case Opcode::tri: {
      bool keeps = in.variant0 ? x - y >= int32_t(in.imm[1]) : x - y <= int32_t(in.imm[1]);
      return keeps ? copy(at(Dst, x, y, z), at(Src0, x, y, z)) : immediate(at(Dst, x, y, z));
    }
    default: // compress
      if (*at(Src1, x))
        copy(at(Dst, kept++), at(Src0, x));
    }
  });
  if (in.opcode == Opcode::compress)
    sregs[in.axis] = uint64_t(kept);
}

void Machine::windows() {
  const Window &w = in.window;
  bool isFloating = isFloat(in.src0Type), isMean = in.opcode == Opcode::avgpool;
  auto place = [&](int64_t index, bool isRow) {
    float v = float(index) * in.immFloat(isRow ? 0 : 1) + in.immFloat(isRow ? 2 : 3);
    return std::isnan(v) ? 0.0f : std::min(std::max(v, 0.0f), float((isRow ? w.inputHeight : w.inputWidth) - 1));
  };
  each([&](int64_t c, int64_t x, int64_t y) {
    uint8_t *to = at(Dst, c, x, y);
    if (in.opcode == Opcode::rsz_nn || in.opcode == Opcode::rsz_bl) {
      float fx = place(x, false), fy = place(y, true);
      auto nearest = [&](float v) {
        return int64_t(in.rounding == 0 ? std::floor(v) : in.rounding == 1 ? std::ceil(v) : in.rounding == 2 ? std::ceil(v - 0.5f) : std::floor(v + 0.5f));
      };
      if (in.opcode == Opcode::rsz_nn)
        return copy(to, at(Src0, c, nearest(fx), nearest(fy)));
      int64_t x0 = int64_t(fx), y0 = int64_t(fy), x1 = std::min<int64_t>(x0 + 1, w.inputWidth - 1), y1 = std::min<int64_t>(y0 + 1, w.inputHeight - 1);
      float dx = fx - float(x0), dy = fy - float(y0);
      auto pixel = [&](int64_t px, int64_t py) { return floatFrom(at(Src0, c, px, py), in.src0Type); };
      float top = pixel(x0, y0) * (1 - dx) + pixel(x1, y0) * dx, bottom = pixel(x0, y1) * (1 - dx) + pixel(x1, y1) * dx;
      return floatTo(to, in.dstType, top * (1 - dy) + bottom * dy);
    }
    float sum = 0, best = -infinity;
    int64_t whole = 0, bestInt = lowest(in.src0Type), count = 0, where = 0;
    for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
      for (int64_t kx = 0; kx < w.kernelWidth; ++kx) {
        int64_t py = y * w.strideHeight + ky * w.dilationHeight - w.padTop, px = x * w.strideWidth + kx * w.dilationWidth - w.padLeft;
        if (py < 0 || px < 0 || py >= w.inputHeight || px >= w.inputWidth)
          continue;
        uint8_t *from = at(Src0, c, px, py);
        float v = isFloating ? floatFrom(from, in.src0Type) : 0;
        int64_t i = isFloating ? 0 : intFrom(from, in.src0Type);
        if (!count || (isFloating ? v > best || (std::isnan(v) && !std::isnan(best)) : i > bestInt))
          where = py * w.inputWidth + px;
        ++count, sum = sum + v, whole += i, best = most(best, v), bestInt = std::max(bestInt, i);
      }
    if (in.opcode == Opcode::maxpool_idx)
      intTo(raw(Src2, 4 * (c + x * in.stride1[Src2] + y * in.stride2[Src2])), DType::I32, where);
    if (!isMean)
      return isFloating ? floatTo(to, in.dstType, best) : intTo(to, in.dstType, bestInt);
    if (in.variant0)
      count = w.kernelHeight * w.kernelWidth;
    isFloating ? floatTo(to, in.dstType, count ? sum / float(count) : 0) : intTo(to, in.dstType, count ? int64_t(even(double(whole) / double(count))) : 0);
  });
}

void Machine::run() {
  switch (in.info().family) {
  case 'A':
  case 'B':
  case 'C':
    return in.opcode == Opcode::ld_cvt || in.opcode == Opcode::st_cvt ? conversions() : moves();
  case 'D':
    return feeds();
  case 'E':
    return products();
  case 'F':
    return unary();
  case 'G':
    return binary();
  case 'H':
    return conversions();
  case 'I':
    return reductions();
  case 'J':
    return in.opcode == Opcode::tr2 || in.opcode == Opcode::gather || in.opcode == Opcode::scatter ? moves() : layouts();
  default:
    return windows();
  }
}
} // namespace

float floatFrom(const uint8_t *bytes, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, 2);
  return type == DType::F16 ? float(std::bit_cast<_Float16>(half)) : std::bit_cast<float>(uint32_t(half) << 16);
}

void execute(const Instruction &instruction, Memories &memories, uint64_t *sregs) { Machine(instruction, memories, sregs).run(); }

bool isApproximate(Opcode opcode, Activation activation) {
  constexpr Opcode opcodes[] = {Opcode::rsqrt, Opcode::exp,     Opcode::exp2, Opcode::ln,   Opcode::log2, Opcode::sin, Opcode::cos,
                                Opcode::tanh,  Opcode::sigmoid, Opcode::erf,  Opcode::gelu, Opcode::silu, Opcode::pow};
  return activation > Activation::Relu6 || std::find(std::begin(opcodes), std::end(opcodes), opcode) != std::end(opcodes);
}

} // namespace perpend::quoin::test
