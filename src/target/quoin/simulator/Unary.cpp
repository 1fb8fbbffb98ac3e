//===- Unary.cpp - vector instructions of one operand ----------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Functions.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {
namespace {
using FloatFunction = float (*)(float);
using IntFunction = int32_t (*)(int32_t);

float signOf(float x) { return x != x ? x : x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

FloatFunction floatFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::neg:
    return [](float x) { return -x; };
  case Opcode::abs:
    return [](float x) { return std::fabs(x); };
  case Opcode::sqr:
    return [](float x) { return x * x; };
  case Opcode::sqrt:
    return [](float x) { return std::sqrt(x); };
  case Opcode::rsqrt:
    return reciprocalRoot;
  case Opcode::recip:
    return [](float x) { return 1 / x; };
  case Opcode::exp:
    return exponential;
  case Opcode::exp2:
    return exponential2;
  case Opcode::ln:
    return logarithm;
  case Opcode::log2:
    return logarithm2;
  case Opcode::sin:
    return sine;
  case Opcode::cos:
    return cosine;
  case Opcode::tanh:
    return hyperbolicTangent;
  case Opcode::sigmoid:
    return sigmoid;
  case Opcode::erf:
    return errorFunction;
  case Opcode::gelu:
    return gelu;
  case Opcode::silu:
    return silu;
  case Opcode::relu:
    return [](float x) { return maximum(x, 0.0f); };
  case Opcode::sign:
    return signOf;
  case Opcode::floor:
    return [](float x) { return std::floor(x); };
  case Opcode::ceil:
    return [](float x) { return std::ceil(x); };
  case Opcode::rne:
    return nearestEven;
  case Opcode::trunc:
    return [](float x) { return std::trunc(x); };
  default: // mov
    return [](float x) { return x; };
  }
}

IntFunction intFunction(Opcode opcode) {
  switch (opcode) {
  case Opcode::neg:
    return [](int32_t x) { return int32_t(-uint32_t(x)); };
  case Opcode::abs:
    return [](int32_t x) { return x < 0 ? int32_t(-uint32_t(x)) : x; };
  case Opcode::sqr:
    return [](int32_t x) { return int32_t(uint32_t(x) * uint32_t(x)); };
  case Opcode::relu:
    return [](int32_t x) { return x < 0 ? 0 : x; };
  case Opcode::sign:
    return [](int32_t x) { return (x > 0) - (x < 0); };
  default: // not
    return [](int32_t x) { return ~x; };
  }
}

template <typename Element>
void forEach(const Call &call, Element element) {
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        element(call.element(Dst, i0, i1, i2), call.element(Src0, i0, i1, i2));
}

/// A table's entry is as it is stored; the first is that of the least index.
void lookUp(const Call &call) {
  DType type = call.instruction.src0Type;
  unsigned size = call.size(Dst);
  forEach(call, [&](uint8_t *to, const uint8_t *from) {
    int32_t index = loadInt(from, type) - lowestOf(type);
    std::memcpy(to, call.at[Src1] + index * size, size);
  });
}
} // namespace

Result executeUnary(const Call &call) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src0Type, result = instruction.dstType;
  if (instruction.opcode == Opcode::lut) {
    lookUp(call);
  } else if (instruction.opcode == Opcode::isnan) {
    forEach(call, [&](uint8_t *to, const uint8_t *from) {
      float value = loadFloat(from, type);
      *to = value != value;
    });
  } else if (instruction.opcode == Opcode::mov && type == result) {
    forEach(call, [size = sizeOf(type)](uint8_t *to, const uint8_t *from) { std::memmove(to, from, size); });
  } else if (instruction.opcode == Opcode::not_ && type == DType::Pred8) {
    forEach(call, [](uint8_t *to, const uint8_t *from) { *to = !*from; });
  } else if (isFloat(type)) {
    FloatFunction function = floatFunction(instruction.opcode);
    forEach(call, [&](uint8_t *to, const uint8_t *from) { storeFloat(to, result, function(loadFloat(from, type))); });
  } else {
    IntFunction function = intFunction(instruction.opcode);
    forEach(call, [&](uint8_t *to, const uint8_t *from) { storeInt(to, result, function(loadInt(from, type))); });
  }
  return std::nullopt;
}

} // namespace perpend::quoin
