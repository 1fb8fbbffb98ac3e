//===- Window.cpp - pooling and resizing -----------------------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Values.h"

#include <vector>

namespace perpend::quoin {
namespace {
uint8_t *pixel(const Call &call, uint64_t channel, uint64_t x, uint64_t y) {
  const Instruction &instruction = call.instruction;
  return call.at[Src0] + (channel + x * instruction.stride1[Src0] + y * instruction.stride2[Src0]) * call.size(Src0);
}

struct Tap {
  uint64_t x, y;
};

/// The pixels of a window that lie in the image, row by row.
std::vector<Tap> tapsOf(const Call &call, uint64_t outX, uint64_t outY) {
  const Window &window = call.instruction.window;
  std::vector<Tap> taps;
  for (int64_t row = 0; row < window.kernelHeight; ++row)
    for (int64_t column = 0; column < window.kernelWidth; ++column) {
      int64_t y = int64_t(outY) * window.strideHeight + row * window.dilationHeight - window.padTop;
      int64_t x = int64_t(outX) * window.strideWidth + column * window.dilationWidth - window.padLeft;
      if (y >= 0 && x >= 0 && y < window.inputHeight && x < window.inputWidth)
        taps.push_back({uint64_t(x), uint64_t(y)});
    }
  return taps;
}

/// A window that lies in the border has the lowest value.
void storeMaximum(const Call &call, const std::vector<Tap> &taps, uint64_t channel, uint8_t *to, uint8_t *index) {
  const Instruction &instruction = call.instruction;
  DType type = instruction.src0Type;
  bool isFloatPool = isFloat(type), isFirst = true;
  float best = -std::numeric_limits<float>::infinity();
  int32_t bestInt = lowestOf(type), bestIndex = 0;
  for (const Tap &tap : taps) {
    const uint8_t *from = pixel(call, channel, tap.x, tap.y);
    float value = isFloatPool ? loadFloat(from, type) : 0;
    int32_t whole = isFloatPool ? 0 : loadInt(from, type);
    bool isBetter = isFloatPool ? value > best || (value != value && best == best) : whole > bestInt;
    if (isBetter || isFirst)
      bestIndex = int32_t(tap.y * instruction.window.inputWidth + tap.x);
    best = isFloatPool ? maximum(best, value) : best;
    bestInt = std::max(bestInt, isFloatPool ? bestInt : whole);
    isFirst = false;
  }
  if (isFloatPool)
    storeFloat(to, instruction.dstType, best);
  else
    storeInt(to, instruction.dstType, bestInt);
  if (index)
    storeAs(index, bestIndex);
}

/// Half-way quotients go to the even integer.
int32_t roundedQuotient(int64_t sum, int64_t count) {
  int64_t floor = sum / count - (sum % count < 0), rest = sum - floor * count;
  return int32_t(floor + (2 * rest > count || (2 * rest == count && (floor & 1))));
}

void storeMean(const Call &call, const std::vector<Tap> &taps, uint64_t channel, uint8_t *to) {
  const Instruction &instruction = call.instruction;
  const Window &window = instruction.window;
  DType type = instruction.src0Type;
  uint64_t count = instruction.variant0 ? window.kernelHeight * window.kernelWidth : taps.size();
  float sum = 0;
  int64_t whole = 0;
  for (const Tap &tap : taps) {
    const uint8_t *from = pixel(call, channel, tap.x, tap.y);
    if (isFloat(type))
      sum = sum + loadFloat(from, type);
    else
      whole += loadInt(from, type);
  }
  if (isFloat(type))
    storeFloat(to, instruction.dstType, count ? sum / float(count) : 0.0f);
  else
    storeInt(to, instruction.dstType, count ? roundedQuotient(whole, int64_t(count)) : 0);
}

/// The coordinate of output index `index`, moved into the image.
float coordinate(const Call &call, uint64_t index, bool isRow) {
  const Instruction &instruction = call.instruction;
  float scale = instruction.immFloat(isRow ? 0 : 1), offset = instruction.immFloat(isRow ? 2 : 3);
  float last = float((isRow ? instruction.window.inputHeight : instruction.window.inputWidth) - 1);
  float value = float(index) * scale + offset;
  return value > 0 ? std::min(value, last) : 0; // NaN is 0
}

uint64_t nearest(const Call &call, uint64_t index, bool isRow) {
  float value = coordinate(call, index, isRow), below = std::floor(value), fraction = value - below;
  switch (call.instruction.rounding) {
  case 0:
    return uint64_t(below);
  case 1:
    return uint64_t(std::ceil(value));
  case 2:
    return uint64_t(fraction > 0.5f ? below + 1 : below);
  default:
    return uint64_t(fraction >= 0.5f ? below + 1 : below);
  }
}

float interpolate(const Call &call, uint64_t channel, uint64_t outX, uint64_t outY) {
  const Instruction &instruction = call.instruction;
  float x = coordinate(call, outX, false), y = coordinate(call, outY, true);
  uint64_t left = uint64_t(x), top = uint64_t(y);
  uint64_t right = std::min<uint64_t>(left + 1, instruction.window.inputWidth - 1), bottom = std::min<uint64_t>(top + 1, instruction.window.inputHeight - 1);
  float dx = x - float(left), dy = y - float(top);
  auto at = [&](uint64_t px, uint64_t py) { return loadFloat(pixel(call, channel, px, py), instruction.src0Type); };
  float above = at(left, top) * (1 - dx) + at(right, top) * dx;
  float below = at(left, bottom) * (1 - dx) + at(right, bottom) * dx;
  return above * (1 - dy) + below * dy;
}

void pool(const Call &call, uint64_t x, uint64_t y) {
  std::vector<Tap> taps = tapsOf(call, x, y);
  const Instruction &instruction = call.instruction;
  for (uint64_t channel = 0; channel < call.extent(0); ++channel) {
    uint8_t *to = call.at[Dst] + (channel + x * instruction.stride1[Dst] + y * instruction.stride2[Dst]) * call.size(Dst);
    uint8_t *index = call.at[Src2];
    if (index)
      index += (channel + x * instruction.stride1[Src2] + y * instruction.stride2[Src2]) * 4;
    if (instruction.opcode == Opcode::avgpool)
      storeMean(call, taps, channel, to);
    else
      storeMaximum(call, taps, channel, to, index);
  }
}

void resize(const Call &call, uint64_t x, uint64_t y) {
  for (uint64_t channel = 0; channel < call.extent(0); ++channel) {
    uint8_t *to = call.element(Dst, channel, x, y);
    if (call.instruction.opcode == Opcode::rsz_nn)
      std::memcpy(to, pixel(call, channel, nearest(call, x, false), nearest(call, y, true)), call.size(Dst));
    else
      storeFloat(to, call.instruction.dstType, interpolate(call, channel, x, y));
  }
}
} // namespace

Result executeWindow(const Call &call) {
  bool isPool = call.instruction.info().has(FieldKernel);
  for (uint64_t y = 0; y < call.extent(2); ++y)
    for (uint64_t x = 0; x < call.extent(1); ++x)
      isPool ? pool(call, x, y) : resize(call, x, y);
  return std::nullopt;
}

} // namespace perpend::quoin
