//===- ModelVector.cpp - vector instructions and conversions of the model --===//

#include "ModelMachine.h"

namespace perpend::quoin::test {

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

template <typename T> bool compared(Opcode opcode, T a, T b) {
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
  bool isComparison = in.opcode >= Opcode::ceq && in.opcode <= Opcode::cge,
       isTernary = in.opcode == Opcode::fma || in.opcode == Opcode::sel;
  each([&](int64_t x, int64_t y, int64_t z) {
    uint8_t *to = at(Dst, x, y, z), *a = at(Src0, x, y, z),
            *b = isTernary  ? at(Src1, x, y, z)
                 : isScalar ? nullptr
                            : byMode(Src1, x, y, z);
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
    int64_t value = in.opcode == Opcode::fma
                        ? intFrom(a, in.src0Type) * intFrom(b, in.src1Type) + lastInt(c, in.src1Type)
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

} // namespace perpend::quoin::test
