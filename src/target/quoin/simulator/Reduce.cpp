//===- Reduce.cpp - reductions and scans -----------------------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Values.h"

#include <vector>

namespace perpend::quoin {
namespace {
constexpr unsigned partials = 16;

/// Values that become one result, in order. Integers are exact in the i32 that lies beside the f32.
struct Values {
  std::vector<float> floats;
  std::vector<int32_t> ints;
};

/// 16 partial results by index mod 16, then pairwise: 0 with 8, 1 with 9, ..., then 0 with 4, and so on.
template <typename T, typename Combine>
T tree(const std::vector<T> &values, T neutral, Combine combine) {
  std::array<T, partials> sums;
  sums.fill(neutral);
  for (size_t index = 0; index < values.size(); ++index)
    sums[index % partials] = index < partials ? values[index] : combine(sums[index % partials], values[index]);
  for (unsigned half = partials / 2; half > 0; half /= 2)
    for (unsigned index = 0; index < half; ++index)
      if (index + half < values.size())
        sums[index] = combine(sums[index], sums[index + half]);
  return sums[0];
}

float sumOf(const std::vector<float> &values) {
  return tree(values, 0.0f, [](float left, float right) { return left + right; });
}

float reduceFloats(Opcode opcode, const std::vector<float> &values) {
  switch (opcode) {
  case Opcode::rsum:
    return sumOf(values);
  case Opcode::rmax:
    return tree(values, 0.0f, maximum);
  case Opcode::rmin:
    return tree(values, 0.0f, minimum);
  case Opcode::rprod:
    return tree(values, 1.0f, [](float left, float right) { return left * right; });
  default: { // rsumsq
    std::vector<float> squares(values);
    for (float &value : squares)
      value = value * value;
    return sumOf(squares);
  }
  }
}

int32_t reduceInts(Opcode opcode, const std::vector<int32_t> &values) {
  uint32_t result = opcode == Opcode::rprod;
  if (opcode == Opcode::rmax)
    return *std::max_element(values.begin(), values.end());
  if (opcode == Opcode::rmin)
    return *std::min_element(values.begin(), values.end());
  for (int32_t value : values) {
    uint32_t term = opcode == Opcode::rsumsq ? uint32_t(value) * uint32_t(value) : uint32_t(value);
    result = opcode == Opcode::rprod ? result * term : result + term;
  }
  return int32_t(result);
}

template <typename T>
int32_t indexOfBest(const std::vector<T> &values, bool isMax) {
  size_t best = 0;
  for (size_t index = 0; index < values.size(); ++index) {
    if (values[index] != values[index])
      return int32_t(index); // the first NaN
    if (isMax ? values[index] > values[best] : values[index] < values[best])
      best = index;
  }
  return int32_t(best);
}

void storeMoments(const Call &call, uint8_t *to, const std::vector<float> &values) {
  DType type = call.instruction.dstType;
  float count = float(values.size()), mean = sumOf(values) / count;
  std::vector<float> squares(values);
  for (float &value : squares)
    value = (value - mean) * (value - mean);
  storeFloat(to, type, mean);
  storeFloat(to + sizeOf(type), type, sumOf(squares) / count);
}

void storeReduced(const Call &call, uint8_t *to, const Values &values) {
  const Instruction &instruction = call.instruction;
  Opcode opcode = instruction.opcode;
  bool isFloatSource = isFloat(instruction.src0Type);
  if (opcode == Opcode::welford)
    storeMoments(call, to, values.floats);
  else if (opcode == Opcode::rargmax || opcode == Opcode::rargmin)
    storeAs(to, isFloatSource ? indexOfBest(values.floats, opcode == Opcode::rargmax) : indexOfBest(values.ints, opcode == Opcode::rargmax));
  else if (isFloatSource)
    storeFloat(to, instruction.dstType, reduceFloats(opcode, values.floats));
  else
    storeInt(to, instruction.dstType, reduceInts(opcode, values.ints));
}

void append(Values &values, const uint8_t *at, DType type) {
  if (isFloat(type))
    values.floats.push_back(loadFloat(at, type));
  else
    values.ints.push_back(loadInt(at, type));
}

void reduceAll(const Call &call) {
  uint32_t axis = call.instruction.axis;
  uint64_t outer0 = axis == 1 ? call.extent(0) : 1, outer1 = axis == 0 ? call.extent(1) : 1;
  uint64_t inner0 = axis == 1 ? 1 : call.extent(0), inner1 = axis == 0 ? 1 : call.extent(1);
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t o1 = 0; o1 < outer1; ++o1)
      for (uint64_t o0 = 0; o0 < outer0; ++o0) {
        Values values;
        for (uint64_t i1 = 0; i1 < inner1; ++i1)
          for (uint64_t i0 = 0; i0 < inner0; ++i0)
            append(values, call.element(Src0, axis == 1 ? o0 : i0, axis == 0 ? o1 : i1, i2), call.instruction.src0Type);
        storeReduced(call, call.element(Dst, o0, o1, i2), values);
      }
}

/// One row of a cumulative sum; element(operand, index) is its element.
template <typename Element>
void scan(const Call &call, uint64_t count, Element element) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src0Type, result = instruction.dstType;
  float sum = 0;
  uint32_t whole = 0;
  for (uint64_t step = 0; step < count; ++step) {
    uint64_t index = instruction.variant1 ? count - 1 - step : step;
    const uint8_t *from = element(Src0, index);
    uint8_t *to = element(Dst, index);
    if (isFloat(type)) {
      float value = loadFloat(from, type), before = sum;
      sum = step == 0 ? value : sum + value;
      storeFloat(to, result, instruction.variant0 ? before : sum);
    } else {
      uint32_t before = whole;
      whole += uint32_t(loadInt(from, type));
      storeInt(to, result, int32_t(instruction.variant0 ? before : whole));
    }
  }
}

void scanAll(const Call &call) {
  bool isInner = call.instruction.axis == 0;
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t other = 0; other < call.extent(isInner ? 1 : 0); ++other)
      scan(call, call.extent(isInner ? 0 : 1), [&](unsigned operand, uint64_t index) {
        return isInner ? call.element(operand, index, other, i2) : call.element(operand, other, index, i2);
      });
}
} // namespace

Result executeReduce(const Call &call) {
  if (call.instruction.opcode == Opcode::cumsum)
    scanAll(call);
  else
    reduceAll(call);
  return std::nullopt;
}

} // namespace perpend::quoin
