// order.suppress(boxes, scores, most, overlap, least): boxes [b, n, 4] and scores [b, c, n] of f32. Of each batch and
// class, boxes in descending order of score, without those of which a selected one covers more than the share `overlap`
// of their union; at most `most` (i64). Boxes of equal scores keep their order, a NaN is the greatest score. With
// `least`, scores must be greater than it. Rows of (batch, class, box) as [selected, 3] of i64. A box is two opposite
// corners; parameter `centered`: (x, y, width, height).
//
// Scores that pass are marked by their keys in wide registers, collected, and sorted. Each box is compared with blocks
// of selected ones, until one overlaps.
#include "Isa.h"
#include "library/Arguments.h"
#include "library/OrderScan.h"
#include "library/OrderWords.h"
#include <algorithm>

using namespace perpend::library;

namespace {

constexpr int64_t chunk = 1024, blockSize = 16;

struct Box {
  float low[2], high[2];

  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Boxes that have an area, or zeros.
struct Block {
  float low[2][blockSize], high[2][blockSize], area[blockSize];
};

[[gnu::always_inline]] inline bool overlapsBlocks(const Block *blocks, int64_t count, const Box &box, float overlap) {
  const float own = box.area();
  for (const Block *block = blocks; block < blocks + count; ++block) {
    uint32_t found = 0;
    for (int64_t i = 0; i < blockSize; ++i) {
      float extent[2];
      for (int dim = 0; dim < 2; ++dim)
        extent[dim] = std::min(box.high[dim], block->high[dim][i]) - std::max(box.low[dim], block->low[dim][i]);
      const float common = extent[0] * extent[1];
      const float both = own + block->area[i], together = both - common;
      found |= (extent[0] > 0) & (extent[1] > 0) & (together > 0) & (common / together > overlap);
    }
    if (found)
      return true;
  }
  return false;
}

using Overlaps = bool(const Block *blocks, int64_t count, const Box &box, float overlap);

#if defined(__x86_64__) && defined(__clang__)
[[clang::minsize]] // for processors without AVX2
#endif
bool overlapsOnBase(const Block *blocks, int64_t count, const Box &box, float overlap) {
  return overlapsBlocks(blocks, count, box, overlap);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] bool overlapsOnAvx2(const Block *blocks, int64_t count, const Box &box, float overlap) {
  return overlapsBlocks(blocks, count, box, overlap);
}

Overlaps *chooseOverlaps() { return perpend::runtime::hasInstructionSet("avx2") ? overlapsOnAvx2 : overlapsOnBase; }
#else
Overlaps *chooseOverlaps() { return overlapsOnBase; }
#endif

struct Work {
  const OrderScan *scan;
  Overlaps *overlaps;
  const float *boxes, *scores;
  int64_t classes, lines, count, most; // a line is a batch and a class
  float overlap;
  uint32_t bound; // the greatest key that passes
  bool hasLeast, isCentered;
  uint32_t *selected; // `most` of each line
  int64_t *starts;    // of each line in the result, then the end
  char *memory;
  int64_t units, unitBytes, wordBytes;
};

Box boxOf(const Work &work, const float *four) {
  Box box;
  for (int dim = 0; dim < 2; ++dim) {
    const float first = four[dim], second = four[dim + 2], half = second * 0.5f;
    box.low[dim] = work.isCentered ? first - half : std::min(first, second);
    box.high[dim] = work.isCentered ? first + half : std::max(first, second);
  }
  return box;
}

// The words of the scores that pass, in the order of their positions. Returns their number.
int64_t collect(const Work &work, const float *scores, NarrowWord *words) {
  uint32_t keys[chunk];
  uint8_t marks[chunk];
  int64_t found = 0;
  for (int64_t start = 0; start < work.count; start += chunk) {
    const int64_t size = std::min(chunk, work.count - start);
    work.scan->makeKeys(PERPEND_F32, {scores + start, 1, size, 1, true}, keys);
    work.scan->markNarrow(keys, size, work.bound, marks);
    memset(marks + size, 0, static_cast<size_t>(-size & 7));
    for (int64_t i = 0; i < size; i += 8) {
      uint64_t eight;
      memcpy(&eight, marks + i, 8);
      for (; eight; eight &= eight - 1) { // one bit is set in each marked byte
        const int64_t place = i + __builtin_ctzll(eight) / 8;
        words[found] = NarrowWord::of(keys[place], start + place);
        found += keys[place] != 0 || !work.hasLeast; // NaN passes if nothing is asked
      }
    }
  }
  return found;
}

// Selects from sorted words. Returns the number of the selected ones.
int64_t select(const Work &work, const float *boxes, const NarrowWord *words, int64_t found, Block *blocks,
               uint32_t *selected) {
  int64_t count = 0, kept = 0;
  for (int64_t i = 0; i < found && count < work.most; ++i) {
    const int64_t position = words[i].position();
    const Box box = boxOf(work, boxes + 4 * position);
    if (box.area() > 0) { // others overlap nothing
      if (work.overlaps(blocks, (kept + blockSize - 1) / blockSize, box, work.overlap))
        continue;
      Block &block = blocks[kept / blockSize];
      const int64_t place = kept++ % blockSize;
      if (place == 0)
        block = {};
      for (int dim = 0; dim < 2; ++dim)
        block.low[dim][place] = box.low[dim], block.high[dim][place] = box.high[dim];
      block.area[place] = box.area();
    }
    selected[count++] = static_cast<uint32_t>(position);
  }
  return count;
}

void runUnits(void *context, int64_t begin, int64_t end) {
  const auto &work = *static_cast<Work *>(context);
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t line = unit * work.lines / work.units; line < (unit + 1) * work.lines / work.units; ++line) {
      char *memory = work.memory + unit * work.unitBytes;
      auto *words = reinterpret_cast<NarrowWord *>(memory),
           *spare = reinterpret_cast<NarrowWord *>(memory + work.wordBytes);
      const int64_t found = collect(work, work.scores + line * work.count, words);
      work.starts[line + 1] =
          select(work, work.boxes + line / work.classes * work.count * 4, sortWords(words, spare, found), found,
                 reinterpret_cast<Block *>(memory + 2 * work.wordBytes), work.selected + line * work.most);
    }
}

bool allocateMemory(perpend_call *call, Work &work) {
  constexpr int64_t mostUnits = 64, mostBytes = 32 << 20, alignment = 64;
  work.wordBytes = (work.count * static_cast<int64_t>(sizeof(NarrowWord)) + alignment - 1) / alignment * alignment;
  work.unitBytes = 2 * work.wordBytes + (work.most + blockSize - 1) / blockSize * static_cast<int64_t>(sizeof(Block));
  work.units =
      std::max(int64_t{1}, std::min({work.lines, mostUnits, mostBytes / std::max(int64_t{1}, work.unitBytes)}));
  work.memory = static_cast<char *>(perpend_call_scratch(call, work.units * work.unitBytes));
  work.selected = static_cast<uint32_t *>(
      perpend_call_scratch(call, work.lines * work.most * static_cast<int64_t>(sizeof(uint32_t))));
  work.starts =
      static_cast<int64_t *>(perpend_call_scratch(call, (work.lines + 1) * static_cast<int64_t>(sizeof(int64_t))));
  return work.memory && work.selected && work.starts;
}

perpend_status writeRows(perpend_call *call, const Work &work) {
  work.starts[0] = 0;
  for (int64_t line = 0; line < work.lines; ++line)
    work.starts[line + 1] += work.starts[line];
  const int64_t shape[] = {work.starts[work.lines], 3};
  auto *row = static_cast<int64_t *>(perpend_call_allocate(call, 0, shape, 2));
  if (!row)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t line = 0; line < work.lines; ++line)
    for (int64_t i = 0; i < work.starts[line + 1] - work.starts[line]; ++i, row += 3) {
      row[0] = line / work.classes;
      row[1] = line % work.classes;
      row[2] = work.selected[line * work.most + i];
    }
  return PERPEND_OK;
}

} // namespace

extern "C" perpend_status perpend_order_suppress(perpend_call *call) {
  const perpend_tensor &boxes = call->inputs[0], &scores = call->inputs[1];
  if (boxes.type != PERPEND_F32 || scores.type != PERPEND_F32 || boxes.rank != 3 || scores.rank != 3 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2] || boxes.shape[2] != 4 ||
      boxes.shape[1] > 0xffffffff)
    return perpend_call_fail(call, "expected boxes [b, n, 4] and scores [b, c, n] of f32");
  Work work{};
  work.scan = &chooseOrderScan();
  work.overlaps = chooseOverlaps();
  work.boxes = static_cast<const float *>(boxes.data);
  work.scores = static_cast<const float *>(scores.data);
  work.classes = scores.shape[1];
  work.lines = scores.shape[0] * scores.shape[1];
  work.count = scores.shape[2];
  work.most = std::clamp(*wordsOf(call->inputs[2]), int64_t{0}, work.count);
  work.overlap = *static_cast<const float *>(call->inputs[3].data);
  work.bound = 0xffffffff;
  work.hasLeast = call->inputCount > 4;
  if (work.hasLeast) {
    uint32_t least;
    work.scan->makeKeys(PERPEND_F32, {call->inputs[4].data, 1, 1, 1, true}, &least);
    work.bound = least == 0 ? 0 : least - 1; // nothing is greater than NaN
  }
  work.isCentered = perpend_call_integer(call, "centered", 0) != 0;
  if (!allocateMemory(call, work))
    return PERPEND_OUT_OF_MEMORY;
  constexpr int64_t scoresOfGrain = 1 << 14;
  const int64_t scoresOfUnit = std::max(int64_t{1}, work.lines / work.units * work.count);
  perpend_call_parallel(call, runUnits, &work, work.units, std::max(int64_t{1}, scoresOfGrain / scoresOfUnit));
  return writeRows(call, work);
}
