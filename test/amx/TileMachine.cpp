//===- TileMachine.cpp - instructions on tiles, in software ---------------===//
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, the pages of each instruction.
//
//===----------------------------------------------------------------------===//

#include "TileMachine.h"

#include <cmath>
#include <cstring>

using namespace perpend::amx;

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
/// The form of an instruction: C4, then RXB.mmmmm, W.vvvv.L.pp, the opcode and ModRM.
struct Form {
  Kind kind;
  uint8_t opcode, prefix; // pp: 0 none, 1 66, 2 F3, 3 F2
  bool isOnMemory;
};
constexpr Form forms[] = {
    {Kind::Configure, 0x49, 0, true},
    {Kind::StoreConfiguration, 0x49, 1, true},
    {Kind::Release, 0x49, 0, false},
    {Kind::Zero, 0x49, 3, false},
    {Kind::Load, 0x4B, 3, true},
    {Kind::LoadOnce, 0x4B, 1, true},
    {Kind::Store, 0x4B, 2, true},
    {Kind::Bf16, 0x5C, 2, false},
    {Kind::SignedSigned, 0x5E, 3, false},
    {Kind::SignedUnsigned, 0x5E, 2, false},
    {Kind::UnsignedSigned, 0x5E, 1, false},
    {Kind::UnsignedUnsigned, 0x5E, 0, false},
};

struct Bytes {
  const uint8_t *next;
  uint8_t byte() { return *next++; }
  int64_t displacement(unsigned size) {
    int32_t wide = 0;
    int8_t narrow = 0;
    memcpy(size == 4 ? static_cast<void *>(&wide) : &narrow, next, size);
    next += size;
    return size == 4 ? wide : narrow;
  }
};

/// The operand of mod and rm, and of the bytes behind them.
void decodeMemory(Bytes &bytes, uint8_t modRm, int indexHigh, int baseHigh, const int64_t *registers,
                  Instruction &instruction) {
  const int mode = modRm >> 6, none = 4, atNext = 5;
  int base = modRm & 7, index = none, scale = 0;
  const bool hasScale = base == 4;
  if (hasScale) {
    const uint8_t sib = bytes.byte();
    scale = sib >> 6;
    index = (sib >> 3 & 7) | indexHigh;
    base = sib & 7;
  }
  const bool hasBase = mode != 0 || base != atNext;
  const int64_t displacement = mode == 1 ? bytes.displacement(1) : mode == 2 || !hasBase ? bytes.displacement(4) : 0;
  int64_t address = displacement;
  if (hasBase)
    address += registers[base | baseHigh];
  else if (!hasScale)
    address += reinterpret_cast<int64_t>(bytes.next);
  instruction.strideBytes = index == none ? 0 : registers[index] << scale;
  instruction.address = reinterpret_cast<uint8_t *>(address);
}

const Form *findForm(uint8_t opcode, uint8_t prefix, bool isOnMemory) {
  for (const Form &form : forms)
    if (form.opcode == opcode && form.prefix == prefix && form.isOnMemory == isOnMemory)
      return &form;
  return nullptr;
}
} // namespace

bool perpend::amx::decode(const uint8_t *code, const int64_t *registers, Instruction &instruction) {
  constexpr uint8_t vex = 0xC4, map = 2, wOrLong = 0x84;
  if (code[0] != vex || (code[1] & 0x1F) != map || (code[2] & wOrLong))
    return false;
  const uint8_t high = static_cast<uint8_t>(~code[1]), other = ~code[2] >> 3 & 0xF, modRm = code[4];
  const bool isOnMemory = modRm >> 6 != 3, isProduct = code[3] >= 0x5C;
  const Form *form = findForm(code[3], code[2] & 3, isOnMemory);
  if (!form || (high & 0x80) || (!isProduct && other))
    return false;
  instruction.kind = form->kind;
  instruction.target = modRm >> 3 & 7;
  Bytes bytes{code + 5};
  if (isOnMemory) {
    if (form->opcode == 0x4B && (modRm & 7) != 4)
      return false; // rows need an index
    decodeMemory(bytes, modRm, high >> 3 & 8, high >> 2 & 8, registers, instruction);
    if (form->opcode == 0x49)
      instruction.address += instruction.strideBytes;
  } else {
    if ((high & 0x60) || other >= tileCount)
      return false;
    instruction.left = modRm & 7;
    instruction.right = other;
  }
  instruction.lengthBytes = static_cast<unsigned>(bytes.next - code);
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Subnormal numbers are 0, of the same sign.
static float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// `value` is `exact` rounded to nearest even. A result counts as subnormal by what it would be with any exponent,
/// which matters below 2^-126; there `exact` is exact.
static float flushed(float value, double exact) {
  constexpr double least = 0x1p-126, half = 0x1p-151;
  return std::fabs(exact) < least - half ? std::copysign(0.0f, value) : value;
}

static float multiplyAdd(float x, float y, float sum) {
  x = flushed(x), y = flushed(y), sum = flushed(sum);
  return flushed(std::fma(x, y, sum), double(x) * double(y) + double(sum));
}
static float add(float x, float y) {
  x = flushed(x), y = flushed(y);
  return flushed(x + y, double(x) + double(y));
}

static float asFloat(const uint8_t *bf16) {
  uint32_t bits = static_cast<uint32_t>(bf16[0] | bf16[1] << 8) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Pairs are summed apart, then added to what is there.
static void multiplyBf16(uint8_t *sum, const uint8_t (*row)[mostBytes], const Tile &right, int column, int words) {
  float even = 0, odd = 0, total;
  for (int k = 0; k < words; ++k) {
    const uint8_t *x = *row + 4 * k, *y = right.bytes[k] + 4 * column;
    even = multiplyAdd(asFloat(x), asFloat(y), even);
    odd = multiplyAdd(asFloat(x + 2), asFloat(y + 2), odd);
  }
  memcpy(&total, sum, sizeof total);
  total = add(total, add(even, odd));
  memcpy(sum, &total, sizeof total);
}

/// Modulo 2^32.
static void multiplyBytes(uint8_t *sum, const uint8_t (*row)[mostBytes], const Tile &right, int column, int words,
                          Kind kind) {
  const bool isLeftSigned = kind == Kind::SignedSigned || kind == Kind::SignedUnsigned;
  const bool isRightSigned = kind == Kind::SignedSigned || kind == Kind::UnsignedSigned;
  auto number = [](uint8_t byte, bool isSigned) { return isSigned ? static_cast<int8_t>(byte) : int(byte); };
  uint32_t total;
  memcpy(&total, sum, sizeof total);
  for (int k = 0; k < words; ++k)
    for (int i = 0; i < 4; ++i)
      total += static_cast<uint32_t>(number((*row)[4 * k + i], isLeftSigned) *
                                     number(right.bytes[k][4 * column + i], isRightSigned));
  memcpy(sum, &total, sizeof total);
}

const char *TileMachine::multiply(const Instruction &instruction) {
  Tile &sums = tiles[instruction.target];
  const Tile &left = tiles[instruction.left], &right = tiles[instruction.right];
  if (&sums == &left || &left == &right || &sums == &right)
    return "a tile is used twice";
  if (!sums.rows || !left.rows || !right.rows)
    return "a tile is not configured";
  if (sums.rowBytes % 4 || left.rowBytes % 4 || right.rowBytes % 4 || sums.rowBytes != right.rowBytes ||
      sums.rows != left.rows || left.rowBytes / 4 != right.rows)
    return "the tiles' shapes are not those of a product";
  for (int row = 0; row < sums.rows; ++row)
    for (int column = 0; column < sums.rowBytes / 4; ++column) {
      uint8_t *sum = sums.bytes[row] + 4 * column;
      if (instruction.kind == Kind::Bf16)
        multiplyBf16(sum, &left.bytes[row], right, column, right.rows);
      else
        multiplyBytes(sum, &left.bytes[row], right, column, right.rows, instruction.kind);
    }
  configuration.startRow = 0;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const char *TileMachine::configure(const Configuration &wanted) {
  const Configuration nothing = {};
  if (wanted.palette == 0) {
    *this = {};
    return nullptr;
  }
  if (wanted.palette > 1 || memcmp(wanted.reserved, nothing.reserved, sizeof nothing.reserved))
    return "no such palette";
  for (int i = 0; i < 16; ++i) {
    bool isTile = i < tileCount;
    if (wanted.rows[i] > (isTile ? mostRows : 0) || wanted.rowBytes[i] > (isTile ? mostBytes : 0) ||
        !wanted.rows[i] != !wanted.rowBytes[i])
      return "no such shape of a tile";
  }
  *this = {};
  configuration = wanted;
  for (int i = 0; i < tileCount; ++i) {
    tiles[i].rows = wanted.rows[i];
    tiles[i].rowBytes = static_cast<uint8_t>(wanted.rowBytes[i]);
  }
  return nullptr;
}

const char *TileMachine::move(const Instruction &instruction) {
  Tile &tile = tiles[instruction.target];
  if (!isConfigured() || !tile.rows)
    return "the tile is not configured";
  const bool isStored = instruction.kind == Kind::Store;
  const int start = instruction.kind == Kind::Zero ? 0 : configuration.startRow;
  if (start >= tile.rows)
    return "it starts behind the last row";
  if (!isStored)
    memset(tile.bytes[start], 0, sizeof tile.bytes - static_cast<size_t>(start) * mostBytes);
  for (int row = start; row < tile.rows && instruction.kind != Kind::Zero; ++row) {
    uint8_t *memory = instruction.address + row * instruction.strideBytes;
    memcpy(isStored ? memory : tile.bytes[row], isStored ? tile.bytes[row] : memory, tile.rowBytes);
  }
  configuration.startRow = 0;
  return nullptr;
}

const char *TileMachine::execute(const Instruction &instruction) {
  switch (instruction.kind) {
  case Kind::Configure: {
    Configuration wanted;
    memcpy(&wanted, instruction.address, sizeof wanted);
    return configure(wanted);
  }
  case Kind::StoreConfiguration:
    memcpy(instruction.address, &configuration, sizeof configuration);
    return nullptr;
  case Kind::Release:
    *this = {};
    return nullptr;
  case Kind::Zero:
  case Kind::Load:
  case Kind::LoadOnce:
  case Kind::Store:
    return move(instruction);
  default:
    return isConfigured() ? multiply(instruction) : "the tiles are not configured";
  }
}
