//===- PackBlocks.cpp - quantised blocks as grouped weights ---------------===//
//
// Converts GGUF's blocks (Dequantise.cpp) to the grouped weights of docs/decisions/0027: numbers in one tensor, scales
// in another, and zero points, if there are any, in a third. Numbers of 3 bits are stored in 4, those of 5 and 6 bits
// in 8, until they are packed for a machine (tile/packing/GroupedWeights.h). Blocks of Q4_K, Q5_K and Q6_K keep their
// scales of two levels; groups of other K blocks get scales of their own in f32.
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
#include <utility>

namespace perpend::checkpoint {
namespace {
/// One group: an element is scale * number + offset. Without an offset, numbers are signed. If groups share scales, the
/// block's are times these, which are whole, and its offset is subtracted.
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
  /// Groups share the block's f16 scale, at this byte of it, and the offset after it; -1: they do not.
  int sharedScale;
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
  group.scale = toFloat(own.scale);
  group.offset = toFloat(own.offset);
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
  group.scale = toFloat(static_cast<int8_t>(block[192 + j]));
  setNumbers(group, 16, [=](int i) { return sixBits(block, block + 128, 16 * j + i); });
}

static const GroupForm *formOf(Encoding encoding) {
  static constexpr GroupForm forms[] = {
      {Encoding::Q4_0, 4, 32, false, true, -1, readQ4_0},   {Encoding::Q8_0, 8, 32, false, true, -1, readQ8_0},
      {Encoding::Q5_0, 8, 32, false, true, -1, readQ5_0},   {Encoding::IQ4_NL, 8, 32, false, true, -1, readIQ4_NL},
      {Encoding::Q4_1, 4, 32, true, false, -1, readQ4_1},   {Encoding::Q5_1, 8, 32, true, false, -1, readQ5_1},
      {Encoding::Q2_K, 2, 16, true, false, -1, readQ2_K},   {Encoding::Q3_K, 4, 16, false, false, -1, readQ3_K},
      {Encoding::Q4_K, 4, 32, true, false, 0, readQ4_K},    {Encoding::Q5_K, 8, 32, true, false, 0, readQ5_K},
      {Encoding::Q6_K, 8, 16, false, false, 208, readQ6_K},
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

/// What is added to numbers, so that they are not negative. Those of a byte are in the middle of its range, so that
/// signed bytes hold them, too.
static int firstNumber(const GroupForm &form) {
  bool isInMiddle = !form.hasOffset || (form.sharedScale >= 0 && form.bits == 8);
  return isInMiddle ? 1 << (form.bits - 1) : 0;
}

/// Numbers in bytes, the first in the lowest bits.
static void writeNumbers(const GroupForm &form, const Group &group, uint8_t *bytes) {
  int first = firstNumber(form), perByte = static_cast<int>(8 / form.bits);
  for (int i = 0; i < form.size; ++i)
    bytes[i / perByte] =
        static_cast<uint8_t>(bytes[i / perByte] | (group.numbers[i] + first) << i % perByte * form.bits);
}

/// The form of so many blocks, with its memory; nullopt if there is not enough.
static std::optional<PackedBlocks> allocate(const GroupForm &form, uint64_t blocks, uint64_t groups) {
  PackedBlocks packed;
  packed.bits = form.bits;
  packed.groupSize = form.size;
  packed.hasHalfScales = form.hasHalfScales;
  packed.zero = firstNumber(form);
  const uint64_t count = blocks * groups;
  packed.numbers.size = count * form.bits * static_cast<unsigned>(form.size) / 8;
  if (form.sharedScale >= 0) {
    packed.sharing = static_cast<int64_t>(groups);
    packed.scales.size = count;
    packed.sharedScales.size = 2 * blocks;
    packed.offsets.size = form.hasOffset ? count : 0;
    packed.sharedOffsets.size = form.hasOffset ? 2 * blocks : 0;
  } else {
    packed.scales.size = count * (form.hasHalfScales ? 2 : sizeof(float));
    packed.zeros.size = form.hasOffset ? count * sizeof(float) : 0;
  }
  for (PackedBlocks::Part *part : packed.parts())
    if (part->size > 0 && !(part->bytes = support::allocateZeroed(part->size)))
      return std::nullopt;
  return packed;
}

namespace {
/// Writes the parts from their beginning on.
class PartWriter {
public:
  explicit PartWriter(PackedBlocks &packed) {
    for (auto [part, next] : llvm::zip(packed.parts(), places))
      next = reinterpret_cast<uint8_t *>(part->bytes.get());
  }
  void add(const GroupForm &form, const uint8_t *block, Group &group);
  /// The scales that the groups of a block share.
  void addShared(const GroupForm &form, const uint8_t *block);

private:
  enum Place { Numbers, Scales, SharedScales, Zeros, Offsets, SharedOffsets, Count };

  void write(Place place, const void *bytes, size_t size) {
    std::memcpy(places[place], bytes, size);
    places[place] += size;
  }
  uint8_t *places[Count];
};
} // namespace

void PartWriter::add(const GroupForm &form, const uint8_t *block, Group &group) {
  if (form.sharedScale >= 0) {
    auto scale = static_cast<int8_t>(group.scale), offset = static_cast<int8_t>(group.offset);
    write(Scales, &scale, 1);
    if (form.hasOffset)
      write(Offsets, &offset, 1);
  } else {
    if (form.hasOffset) {
      float zero = zeroOf(group);
      write(Zeros, &zero, sizeof(zero));
    }
    if (form.hasHalfScales)
      write(Scales, block, 2);
    else
      write(Scales, &group.scale, sizeof(float));
  }
  writeNumbers(form, group, places[Numbers]);
  places[Numbers] += form.bits * static_cast<unsigned>(form.size) / 8;
}

void PartWriter::addShared(const GroupForm &form, const uint8_t *block) {
  if (form.sharedScale < 0)
    return;
  write(SharedScales, block + form.sharedScale, 2);
  if (form.hasOffset)
    write(SharedOffsets, block + form.sharedScale + 2, 2);
}

static std::optional<PackedBlocks> packAnew(const StoredTensor &matrix) {
  const EncodingInfo &info = infoOf(matrix.encoding);
  const GroupForm &form = *formOf(matrix.encoding);
  const int groups = static_cast<int>(info.blockElements) / form.size;
  std::optional<PackedBlocks> packed =
      allocate(form, matrix.bytes.size() / info.blockBytes, static_cast<uint64_t>(groups));
  if (!packed)
    return std::nullopt;
  PartWriter writer(*packed);
  for (const uint8_t *block = matrix.bytes.bytes_begin(); block != matrix.bytes.bytes_end(); block += info.blockBytes) {
    writer.addShared(form, block);
    for (int j = 0; j < groups; ++j) {
      Group group;
      form.read(block, j, group);
      writer.add(form, block, group);
    }
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
    std::vector<std::weak_ptr<std::byte>> parts;
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
  bool isComplete = !kept.parts.empty();
  for (auto [part, bytes] : llvm::zip(found.parts(), kept.parts)) {
    part->bytes = bytes.lock();
    isComplete &= part->bytes || part->size == 0;
  }
  if (isComplete)
    return found;
  std::optional<PackedBlocks> made = packAnew(matrix);
  if (made) {
    kept = {*made, {}};
    for (PackedBlocks::Part *part : kept.form.parts())
      kept.parts.emplace_back(std::exchange(part->bytes, nullptr));
  }
  return made;
}
} // namespace perpend::checkpoint
