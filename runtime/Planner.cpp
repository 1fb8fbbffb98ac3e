// Greedy offset assignment (Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): takes
// the buffers in some order and places each into the smallest gap between placed buffers whose lifetimes overlap its
// own.
#include "Planner.h"
#include <algorithm>
#include <cstdlib>

namespace perpend::runtime {
namespace {

struct Item {
  int64_t size, breadth, offset;      // size rounded up to the alignment; breadth: most bytes alive during the lifetime
  int32_t first, last, index, placed; // placed: scratch, the index of the k-th placed item in order of offsets
};

bool largestFirst(const Item &a, const Item &b) { return a.size != b.size ? a.size > b.size : a.index < b.index; }

bool broadestFirst(const Item &a, const Item &b) {
  return a.breadth != b.breadth ? a.breadth > b.breadth : largestFirst(a, b);
}

bool earliestFirst(const Item &a, const Item &b) { return a.first != b.first ? a.first < b.first : largestFirst(a, b); }

using Order = bool (*)(const Item &, const Item &);
#define PERPEND_ORDER(enumerator, name, order, help) order,
constexpr Order orders[] = {PERPEND_STRATEGIES(PERPEND_ORDER)};
#undef PERPEND_ORDER

bool liveTogether(const Item &a, const Item &b) { return a.first <= b.last && b.first <= a.last; }

bool readItems(const int64_t *sizes, const perpend_buffer_lifetime *lifetimes, int32_t count, Item *items) {
  int64_t total = 0;
  for (int32_t i = 0; i < count; ++i) {
    constexpr int64_t limit = int64_t{1} << 62;
    if (sizes[i] < 0 || sizes[i] > limit - int64_t{PERPEND_ALIGNMENT} || lifetimes[i].first > lifetimes[i].last)
      return false;
    int64_t size =
        (sizes[i] + int64_t{PERPEND_ALIGNMENT} - 1) / int64_t{PERPEND_ALIGNMENT} * int64_t{PERPEND_ALIGNMENT};
    if (total > limit - size)
      return false;
    total += size;
    items[i] = {size, 0, 0, lifetimes[i].first, lifetimes[i].last, i, 0};
  }
  return true;
}

// The number of live bytes changes only where a lifetime starts, so those points are the candidates.
int64_t measureBreadth(Item *items, int32_t count) {
  int64_t most = 0;
  for (int32_t i = 0; i < count; ++i) {
    int64_t alive = 0;
    for (int32_t j = 0; j < count; ++j)
      if (items[j].first <= items[i].first && items[i].first <= items[j].last)
        alive += items[j].size;
    for (int32_t j = 0; j < count; ++j)
      if (items[j].first <= items[i].first && items[i].first <= items[j].last)
        items[j].breadth = std::max(items[j].breadth, alive);
    most = std::max(most, alive);
  }
  return most;
}

// The offset of the smallest gap that fits items[next], given the items placed before it.
int64_t bestGap(const Item *items, int32_t next) {
  int64_t gapStart = 0, best = -1, bestSize = 0;
  for (int32_t k = 0; k < next; ++k) {
    const Item &other = items[items[k].placed];
    if (!liveTogether(other, items[next]))
      continue;
    int64_t gap = other.offset - gapStart;
    if (gap >= items[next].size && (best < 0 || gap < bestSize)) {
      best = gapStart;
      bestSize = gap;
    }
    gapStart = std::max(gapStart, other.offset + other.size);
  }
  return best < 0 ? gapStart : best;
}

// Without an order, one behind the other.
int64_t place(Item *items, int32_t count, Order order) {
  if (order) {
    std::make_heap(items, items + count, order); // a third of std::sort's code size
    std::sort_heap(items, items + count, order);
  }
  int64_t arena = 0;
  for (int32_t i = 0; i < count; ++i) {
    items[i].offset = !order ? arena : items[i].size ? bestGap(items, i) : 0;
    arena = std::max(arena, items[i].offset + items[i].size);
    int32_t k = i;
    for (; k > 0 && items[items[k - 1].placed].offset > items[i].offset; --k)
      items[k].placed = items[k - 1].placed;
    items[k].placed = i;
  }
  return arena;
}

} // namespace

int64_t planOffsets(const int64_t *sizes, const perpend_buffer_lifetime *lifetimes, int32_t count, int64_t *offsets,
                    Strategy strategy) {
  if (count <= 0)
    return 0;
  auto *items = static_cast<Item *>(malloc(static_cast<size_t>(count) * sizeof(Item)));
  int64_t best = -1;
  if (items && readItems(sizes, lifetimes, count, items)) {
    int64_t bound = measureBreadth(items, count);
    for (uint32_t number = 0; number < strategyCount; ++number) {
      const bool isTried = strategy == Strategy::Best ? orders[number] != nullptr : strategy == Strategy{number};
      if (!isTried)
        continue;
      int64_t arena = place(items, count, orders[number]);
      if (best < 0 || arena < best) {
        best = arena;
        for (int32_t i = 0; i < count; ++i)
          offsets[items[i].index] = items[i].offset;
      }
      if (best == bound)
        break;
    }
  }
  free(items);
  return best;
}

int64_t lowerBound(const int64_t *sizes, const perpend_buffer_lifetime *lifetimes, int32_t count) {
  if (count <= 0)
    return 0;
  auto *items = static_cast<Item *>(malloc(static_cast<size_t>(count) * sizeof(Item)));
  int64_t bound = items && readItems(sizes, lifetimes, count, items) ? measureBreadth(items, count) : -1;
  free(items);
  return bound;
}

} // namespace perpend::runtime
