//===- Layout.cpp - moves of elements inside of L1 -------------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Values.h"

#include <numeric>
#include <vector>

namespace perpend::quoin {
namespace {
using Index = std::array<uint64_t, 3>;

template <typename Visitor>
void forEach(const Call &call, Visitor visit) {
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        visit(Index{i0, i1, i2});
}

uint8_t *at(const Call &call, unsigned operand, const Index &index) { return call.element(operand, index[0], index[1], index[2]); }

void permute(const Call &call) {
  uint32_t axis = call.instruction.axis;
  forEach(call, [&](const Index &from) {
    Index to = {from[axis & 3], from[axis >> 2 & 3], from[axis >> 4 & 3]};
    std::memcpy(at(call, Dst, to), at(call, Src0, from), call.size(Dst));
  });
}

void reverse(const Call &call) {
  uint32_t axis = call.instruction.axis;
  forEach(call, [&](const Index &from) {
    Index to = from;
    to[axis] = call.extent(axis) - 1 - from[axis];
    std::memcpy(at(call, Dst, to), at(call, Src0, from), call.size(Dst));
  });
}

void pad(const Call &call) {
  const Window &window = call.instruction.window;
  uint64_t rows = call.extent(1) + window.padLeft + window.padRight, planes = call.extent(2) + window.padTop + window.padBottom;
  for (uint64_t i2 = 0; i2 < planes; ++i2)
    for (uint64_t i1 = 0; i1 < rows; ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        storeImmediate(call.element(Dst, i0, i1, i2), call.instruction.dstType, call.instruction.imm[0]);
  forEach(call, [&](const Index &from) {
    std::memcpy(call.element(Dst, from[0], from[1] + window.padLeft, from[2] + window.padTop), at(call, Src0, from), call.size(Dst));
  });
}

void countUp(const Call &call) {
  const Instruction &instruction = call.instruction;
  forEach(call, [&](const Index &to) {
    uint64_t index = to[instruction.axis];
    if (isFloat(instruction.dstType))
      storeFloat(at(call, Dst, to), instruction.dstType, instruction.immFloat(0) + instruction.immFloat(1) * float(index));
    else
      storeInt(at(call, Dst, to), instruction.dstType, int32_t(instruction.imm[0] + instruction.imm[1] * uint32_t(index)));
  });
}

void keepTriangle(const Call &call) {
  const Instruction &instruction = call.instruction;
  int64_t diagonal = int32_t(instruction.imm[1]);
  forEach(call, [&](const Index &index) {
    int64_t column = int64_t(index[0]), last = int64_t(index[1]) + diagonal;
    if (instruction.variant0 ? column >= last : column <= last)
      std::memmove(at(call, Dst, index), at(call, Src0, index), call.size(Dst));
    else
      storeImmediate(at(call, Dst, index), instruction.dstType, instruction.imm[0]);
  });
}

void imageToColumns(const Call &call) {
  for (uint64_t pixel = 0; pixel < call.extent(1); ++pixel)
    for (uint64_t k = 0; k < call.extent(0); ++k) {
      uint8_t *to = call.element(Dst, k, pixel);
      if (const uint8_t *from = imageElement(call, Src0, pixel, k))
        std::memcpy(to, from, call.size(Dst));
      else
        storeImmediate(to, call.instruction.dstType, call.instruction.imm[0]);
    }
}

void columnsToImage(const Call &call) {
  DType type = call.instruction.dstType, source = call.instruction.src0Type;
  for (uint64_t pixel = 0; pixel < call.extent(1); ++pixel)
    for (uint64_t k = 0; k < call.extent(0); ++k) {
      uint8_t *to = imageElement(call, Dst, pixel, k);
      const uint8_t *from = call.element(Src0, k, pixel);
      if (to && isFloat(type))
        storeFloat(to, type, loadFloat(to, type) + loadFloat(from, source));
      else if (to)
        storeAs(to, loadAs<uint32_t>(to) + loadAs<uint32_t>(from));
    }
}

struct Pair {
  uint32_t key, index;
};

/// Strictly before, in an order of all keys: a NaN is above all numbers, and NaNs are equal.
bool before(const Instruction &instruction, const Pair &left, const Pair &right) {
  const Pair &low = instruction.variant0 ? right : left, &high = instruction.variant0 ? left : right;
  if (instruction.dstType == DType::I32)
    return int32_t(low.key) < int32_t(high.key);
  float a = std::bit_cast<float>(low.key), b = std::bit_cast<float>(high.key);
  return a < b || (a == a && b != b);
}

std::vector<Pair> loadPairs(const uint8_t *from, uint64_t count) {
  std::vector<Pair> pairs(count);
  std::memcpy(pairs.data(), from, count * sizeof(Pair));
  return pairs;
}

void sortPairs(const Call &call) {
  std::vector<Pair> pairs = loadPairs(call.at[Src0], call.extent(0));
  std::vector<uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (before(call.instruction, pairs[a], pairs[b]))
      return true;
    return !before(call.instruction, pairs[b], pairs[a]) && a < b;
  });
  for (size_t index = 0; index < order.size(); ++index)
    std::memcpy(call.at[Dst] + index * sizeof(Pair), &pairs[order[index]], sizeof(Pair));
}

void mergePairs(const Call &call) {
  std::vector<Pair> left = loadPairs(call.at[Src0], call.extent(0)), right = loadPairs(call.at[Src1], call.extent(1)), merged;
  size_t next = 0;
  for (const Pair &pair : left) {
    while (next < right.size() && before(call.instruction, right[next], pair))
      merged.push_back(right[next++]);
    merged.push_back(pair);
  }
  merged.insert(merged.end(), right.begin() + next, right.end());
  std::memcpy(call.at[Dst], merged.data(), merged.size() * sizeof(Pair));
}

Result compress(const Call &call) {
  unsigned size = call.size(Dst);
  uint64_t kept = 0;
  for (uint64_t index = 0; index < call.extent(0); ++index)
    if (*call.element(Src1, index))
      std::memcpy(call.element(Dst, kept++), call.element(Src0, index), size);
  call.sregs[call.instruction.axis] = kept;
  return kept ? call.useRow(Dst, 0, kept * size) : std::nullopt;
}
} // namespace

Result executeLayout(const Call &call) {
  switch (call.instruction.opcode) {
  case Opcode::tr2:
    transpose(call);
    return std::nullopt;
  case Opcode::perm3:
    permute(call);
    return std::nullopt;
  case Opcode::gather:
    return gatherRows(call);
  case Opcode::scatter:
    return scatterRows(call);
  case Opcode::bcast:
    forEach(call, [&](const Index &to) {
      std::memcpy(at(call, Dst, to), call.modeElement(Src0, to[0], to[1], to[2]), call.size(Dst));
    });
    return std::nullopt;
  case Opcode::pad:
    pad(call);
    return std::nullopt;
  case Opcode::im2col:
    imageToColumns(call);
    return std::nullopt;
  case Opcode::col2im:
    columnsToImage(call);
    return std::nullopt;
  case Opcode::rev:
    reverse(call);
    return std::nullopt;
  case Opcode::iota:
    countUp(call);
    return std::nullopt;
  case Opcode::tri:
    keepTriangle(call);
    return std::nullopt;
  case Opcode::sortblk:
    sortPairs(call);
    return std::nullopt;
  case Opcode::merge:
    mergePairs(call);
    return std::nullopt;
  default:
    return compress(call);
  }
}

} // namespace perpend::quoin
