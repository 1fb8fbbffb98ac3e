//===- PackBlocks.cpp - quantised blocks as grouped weights ---------------===//
//
// Converts GGUF's blocks (Dequantise.cpp) to the grouped weights of docs/decisions/0027: numbers in one tensor, scales
// in another, and zero points, if there are any, in a third. Numbers of 3 bits are stored in 4, those of 5 and 6 bits
// in 8. Each group of a K block gets a scale of its own in f32.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/PackBlocks.h"
#include "frontend/checkpoint/QuantisedBlocks.h"
#include "support/MappedFile.h"
#include "support/ZeroedMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

namespace perpend::checkpoint {
namespace {
/// One group: an element is scale * number + offset. Without an offset, numbers are signed.
struct Group {
  float scale = 0, offset = 0;
  int8_t numbers[32] = {};
};

struct GroupForm {
  Encoding encoding;
  unsigned bits;
  int size; ///< of a group
  bool hasOffset;
  /// f16 scales at the start of the block, one for a block, which is a group.
  bool hasHalfScales;
  /// Reads group j of a block.
  void (*read)(const uint8_t *block, int j, Group &group);
};
} // namespace

static float toFloat(int number) { return static_cast<float>(number); }

template <typename Number> static void setNumbers(Group &group, int count, Number number) {
  for (int i = 0; i < count; ++i)
    group.numbers[i] = static_cast<int8_t>(number(i));
}

static void readQ4_0(const uint8_t *block, int, Group &group) {
  setNumbers(group, 32, [=](int i) { return nibble(block + 2, i) - 8; });
}
static void readQ8_0(const uint8_t *block, int, Group &group) { std::memcpy(group.numbers, block + 2, 32); }
static void readQ5_0(const uint8_t *block, int, Group &group) {
  setNumbers(group, 32, [=](int i) { return fiveBits(block + 6, block + 2, i) - 16; });
}
static void readIQ4_NL(const uint8_t *block, int, Group &group) {
  setNumbers(group, 32, [=](int i) { return unevenValues[nibble(block + 2, i)]; });
}
static void readQ4_1(const uint8_t *block, int, Group &group) {
  group.scale = half(block);
  group.offset = half(block + 2);
  setNumbers(group, 32, [=](int i) { return nibble(block + 4, i); });
}
static void readQ5_1(const uint8_t *block, int, Group &group) {
  group.scale = half(block);
  group.offset = half(block + 2);
  setNumbers(group, 32, [=](int i) { return fiveBits(block + 8, block + 4, i); });
}
static void readQ2_K(const uint8_t *block, int j, Group &group) {
  group.scale = half(block + 80) * toFloat(block[j] & 15);
  group.offset = -half(block + 82) * toFloat(block[j] >> 4);
  setNumbers(group, 16, [=](int i) { return twoBits(block + 16, 16 * j + i); });
}
static void readQ3_K(const uint8_t *block, int j, Group &group) {
  group.scale = half(block + 108) * toFloat(smallScale(block + 96, j));
  setNumbers(group, 16, [=](int i) { return threeBits(block, block + 32, 16 * j + i); });
}
static void readScales(const uint8_t *block, int j, Group &group) {
  GroupScale own = groupScale(block + 4, j);
  group.scale = half(block) * toFloat(own.scale);
  group.offset = -half(block + 2) * toFloat(own.offset);
}
static void readQ4_K(const uint8_t *block, int j, Group &group) {
  readScales(block, j, group);
  setNumbers(group, 32, [=](int i) { return fourBits(block + 16, 32 * j + i); });
}
static void readQ5_K(const uint8_t *block, int j, Group &group) {
  readScales(block, j, group);
  setNumbers(group, 32, [=](int i) { return fourBits(block + 48, 32 * j + i) | (block[16 + i] >> j & 1) << 4; });
}
static void readQ6_K(const uint8_t *block, int j, Group &group) {
  group.scale = half(block + 208) * toFloat(static_cast<int8_t>(block[192 + j]));
  setNumbers(group, 16, [=](int i) { return sixBits(block, block + 128, 16 * j + i); });
}

static const GroupForm *formOf(Encoding encoding) {
  static constexpr GroupForm forms[] = {
      {Encoding::Q4_0, 4, 32, false, true, readQ4_0},  {Encoding::Q8_0, 8, 32, false, true, readQ8_0},
      {Encoding::Q5_0, 8, 32, false, true, readQ5_0},  {Encoding::IQ4_NL, 8, 32, false, true, readIQ4_NL},
      {Encoding::Q4_1, 4, 32, true, false, readQ4_1},  {Encoding::Q5_1, 8, 32, true, false, readQ5_1},
      {Encoding::Q2_K, 2, 16, true, false, readQ2_K},  {Encoding::Q3_K, 4, 16, false, false, readQ3_K},
      {Encoding::Q4_K, 4, 32, true, false, readQ4_K},  {Encoding::Q5_K, 8, 32, true, false, readQ5_K},
      {Encoding::Q6_K, 8, 16, false, false, readQ6_K},
  };
  const GroupForm *form = llvm::find_if(forms, [&](const GroupForm &each) { return each.encoding == encoding; });
  return form == std::end(forms) ? nullptr : form;
}

bool canPack(Encoding encoding) { return formOf(encoding); }

/// The zero for which (number - zero) * scale is scale * number + offset. If there is none, all elements are the
/// offset.
static float zeroOf(Group &group) {
  float zero = -group.offset / group.scale;
  if (group.scale != 0 && !std::isinf(zero))
    return zero;
  float offset = group.offset;
  group = Group();
  group.scale = offset;
  return -1;
}

/// Numbers in bytes, the first in the lowest bits; signed ones are moved to start at 0.
static void writeNumbers(const GroupForm &form, const Group &group, uint8_t *bytes) {
  int first = form.hasOffset ? 0 : 1 << (form.bits - 1), perByte = static_cast<int>(8 / form.bits);
  for (int i = 0; i < form.size; ++i)
    bytes[i / perByte] =
        static_cast<uint8_t>(bytes[i / perByte] | (group.numbers[i] + first) << i % perByte * form.bits);
}

static std::optional<PackedBlocks> packAnew(const StoredTensor &matrix) {
  const EncodingInfo &info = infoOf(matrix.encoding);
  const GroupForm &form = *formOf(matrix.encoding);
  const uint64_t blocks = matrix.bytes.size() / info.blockBytes;
  const int groups = static_cast<int>(info.blockElements) / form.size;
  const uint64_t count = blocks * static_cast<uint64_t>(groups),
                 size = form.bits * static_cast<unsigned>(form.size) / 8;
  PackedBlocks packed;
  packed.bits = form.bits;
  packed.groupSize = form.size;
  packed.hasHalfScales = form.hasHalfScales;
  packed.numbersBytes = count * size;
  packed.scalesBytes = count * (form.hasHalfScales ? 2 : sizeof(float));
  packed.zerosBytes = form.hasOffset ? count * sizeof(float) : 0;
  packed.numbers = support::allocateZeroed(packed.numbersBytes);
  packed.scales = support::allocateZeroed(packed.scalesBytes);
  if (form.hasOffset)
    packed.zeros = support::allocateZeroed(packed.zerosBytes);
  if (!packed.numbers || !packed.scales || (form.hasOffset && !packed.zeros))
    return std::nullopt;
  auto *numbers = reinterpret_cast<uint8_t *>(packed.numbers.get());
  auto *scales = reinterpret_cast<uint8_t *>(packed.scales.get());
  auto *zeros = reinterpret_cast<float *>(packed.zeros.get());
  for (const uint8_t *block = matrix.bytes.bytes_begin(); block != matrix.bytes.bytes_end(); block += info.blockBytes)
    for (int j = 0; j < groups; ++j) {
      Group group;
      form.read(block, j, group);
      if (form.hasOffset)
        *zeros++ = zeroOf(group);
      if (form.hasHalfScales)
        std::memcpy(scales, block, 2);
      else
        std::memcpy(scales, &group.scale, sizeof(float));
      scales += form.hasHalfScales ? 2 : sizeof(float);
      writeNumbers(form, group, numbers);
      numbers += size;
    }
  return packed;
}

//===----------------------------------------------------------------------===//
// Several imports
//===----------------------------------------------------------------------===//

/// By the place in a file and the encoding.
struct SharedBlocks::Packed {
  struct Kept {
    PackedBlocks form; ///< without its memory
    std::weak_ptr<std::byte> numbers, scales, zeros;
  };
  std::map<std::tuple<std::string, uint64_t, uint64_t, Encoding>, Kept> matrices;
};

static thread_local SharedBlocks *alive = nullptr;

SharedBlocks::SharedBlocks() : packed(std::make_unique<Packed>()), previous(std::exchange(alive, this)) {}
SharedBlocks::~SharedBlocks() { alive = previous; }
SharedBlocks *SharedBlocks::current() { return alive; }

std::optional<PackedBlocks> packBlocks(const StoredTensor &matrix) {
  SharedBlocks *shared = SharedBlocks::current();
  auto place = shared ? support::placeInFile(matrix.bytes.data()) : std::nullopt;
  if (!place)
    return packAnew(matrix);
  SharedBlocks::Packed::Kept &kept =
      (*shared)->matrices[{place->path, place->offset, matrix.bytes.size(), matrix.encoding}];
  PackedBlocks found = kept.form;
  found.numbers = kept.numbers.lock();
  found.scales = kept.scales.lock();
  found.zeros = kept.zeros.lock();
  if (found.numbers && found.scales && (found.zeros || found.zerosBytes == 0))
    return found;
  std::optional<PackedBlocks> made = packAnew(matrix);
  if (made) {
    kept = {*made, made->numbers, made->scales, made->zeros};
    kept.form.numbers = kept.form.scales = kept.form.zeros = nullptr;
  }
  return made;
}
} // namespace perpend::checkpoint
