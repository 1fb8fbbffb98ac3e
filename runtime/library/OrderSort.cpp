// order.sort(x, first): of each line of x, [before, n, behind], the positions of the elements of the ranks
// [first, first + m) in sorted order; equal elements keep their order, NaN is the greatest, -0 is 0. The result is
// [before, m, behind] of i64. Parameter `descending`.
//
// The first few of many: a sample gives a bound that some more than these should reach. Keys that reach it are
// collected, and whenever these are too many, the bound becomes the greatest of the wanted ones so far. If a sample
// misleads, too few reach it, and the line is read again without a bound.
#include "library/Arguments.h"
#include "library/OrderScan.h"
#include "library/OrderWords.h"
#include <algorithm>
#include <cmath>

using namespace perpend::library;

namespace {

constexpr int64_t chunk = 1024; // keys that are marked together
constexpr int64_t fewWanted = 32, leastSampled = 256, mostSampled = 1024, groupLines = 16;

struct Order {
  const OrderScan *scan;
  perpend_type type;
  int64_t elementBytes, count, behind, first, wanted;
  bool isDescending;
};

// Words that are collected at once without a bound.
int64_t capacityOf(const Order &order) { return 4 * order.wanted + 4 * chunk; }

int64_t wordsOfLine(const Order &order) {
  return order.first == 0 ? std::max(order.count, capacityOf(order)) : order.count;
}

template <typename Key> void mark(const OrderScan &scan, const Key *keys, int64_t count, Key bound, uint8_t *marks) {
  if constexpr (sizeof(Key) == 4)
    scan.markNarrow(keys, count, bound, marks);
  else
    scan.markWide(keys, count, bound, marks);
}

// One line at a time. words and spare: room for all words, or for the capacity.
template <typename Word> class LineOrder {
public:
  using Key = typename Word::Key;

  LineOrder(const Order &order, Word *words, Word *spare) : order(order), words(words), spare(spare) {}

  // The words of the wanted ranks.
  const Word *run(const Key *keys) {
    const bool isFew = order.wanted < order.count / 4;
    if (isFew && order.first == 0 && order.count >= leastSampled)
      return selectFirst(keys);
    for (int64_t i = 0; i < order.count; ++i)
      words[i] = Word::of(keys[i], i);
    const int64_t end = order.first + order.wanted;
    if (!isFew || order.count <= fewWords)
      return sortWords(words, spare, order.count) + order.first;
    last = leastWords(words, spare, order.count, end);
    if (order.wanted == 1)
      return &last;
    return sortWords(spare, words, end) + order.first;
  }

private:
  const Word *selectFirst(const Key *keys) {
    Bound bound = sampledBound(keys);
    int64_t found = collect(keys, bound.key, std::max(2 * bound.expected, 2 * order.wanted));
    if (found < order.wanted)
      found = collect(keys, static_cast<Key>(~Key{0}), capacityOf(order));
    if (order.wanted <= fewWanted) {
      listLeast(words, found, spare, order.wanted);
      return spare;
    }
    if (found > 2 * order.wanted + chunk) {
      leastWords(words, spare, found, order.wanted);
      return sortWords(spare, words, order.wanted);
    }
    return sortWords(words, spare, found);
  }

  struct Bound {
    Key key;
    int64_t expected; // number of keys that do not exceed it
  };

  // A key that the wanted ones, and as many more as chance may add, should not exceed. Places in the sample are not
  // evenly spaced, since lines may repeat themselves.
  Bound sampledBound(const Key *keys) {
    const int64_t sampled = std::clamp(order.count / 16, int64_t{16}, mostSampled), spacing = order.count / sampled;
    const double rank = static_cast<double>(order.wanted * sampled) / static_cast<double>(order.count);
    const auto kept = std::min(sampled, static_cast<int64_t>(rank + 3 * std::sqrt(rank) + 3));
    uint64_t state = 0x9e3779b97f4a7c15;
    for (int64_t i = 0; i < sampled; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      words[i] = Word::of(keys[i * spacing + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(spacing))], i);
    }
    if (kept > fewWanted)
      return {leastWords(words, spare, sampled, kept).key(), kept * spacing};
    listLeast(words, sampled, spare, kept);
    return {spare[kept - 1].key(), kept * spacing};
  }

  // Collects, in order of positions, words that include the wanted ones if so many keys are at most `bound`. Returns
  // their number. `most`: beyond it, the wanted ones of what has been collected are kept.
  int64_t collect(const Key *keys, Key bound, int64_t most) {
    uint8_t marks[chunk];
    const int64_t full = std::min(most, wordsOfLine(order) - chunk);
    int64_t found = 0;
    for (int64_t start = 0; start < order.count; start += chunk) {
      const int64_t size = std::min(chunk, order.count - start);
      mark<Key>(*order.scan, keys + start, size, bound, marks);
      found = append(keys, start, size, marks, found);
      if (found <= full)
        continue;
      const Key greatest = keepWanted(found);
      std::swap(words, spare);
      found = order.wanted;
      if (greatest == 0)
        return found;
      bound = static_cast<Key>(greatest - 1); // equal ones come too late
    }
    return found;
  }

  // Moves the wanted ones to `spare`, and returns the greatest key of them.
  Key keepWanted(int64_t found) {
    if (order.wanted > fewWanted)
      return leastWords(words, spare, found, order.wanted).key();
    listLeast(words, found, spare, order.wanted);
    return spare[order.wanted - 1].key();
  }

  int64_t append(const Key *keys, int64_t start, int64_t size, uint8_t *marks, int64_t found) {
    for (int64_t i = size; i % 8; ++i)
      marks[i] = 0;
    for (int64_t i = 0; i < size; i += 8) {
      uint64_t eight;
      memcpy(&eight, marks + i, 8);
      for (; eight; eight &= eight - 1) { // one bit is set in each marked byte
        const int64_t position = start + i + __builtin_ctzll(eight) / 8;
        words[found++] = Word::of(keys[position], position);
      }
    }
    return found;
  }

  const Order &order;
  Word *words, *spare, last{};
};

// The units of work; each uses its own memory.
template <typename Word> struct Work {
  Order order;
  const char *input;
  int64_t *output;
  int64_t groups, groupsOfRow, groupSize, units, unitBytes;
  char *memory;
};

template <typename Word> void orderGroup(const Work<Word> &work, int64_t group, char *memory) {
  using Key = typename Word::Key;
  const Order &order = work.order;
  const int64_t row = group / work.groupsOfRow, line = group % work.groupsOfRow * work.groupSize;
  const int64_t lines = std::min(work.groupSize, order.behind - line), words = wordsOfLine(order);
  auto *first = reinterpret_cast<Word *>(memory);
  auto *keys = reinterpret_cast<Key *>(first + 2 * words);
  const char *elements = work.input + (row * order.count * order.behind + line) * order.elementBytes;
  order.scan->makeKeys(order.type, {elements, lines, order.count, order.behind, order.isDescending}, keys);
  int64_t *output = work.output + row * order.wanted * order.behind + line;
  for (int64_t i = 0; i < lines; ++i) {
    LineOrder<Word> sorter(order, first, first + words);
    const Word *result = sorter.run(keys + i * order.count);
    for (int64_t rank = 0; rank < order.wanted; ++rank)
      output[rank * order.behind + i] = result[rank].position();
  }
}

template <typename Word> void runUnits(void *context, int64_t begin, int64_t end) {
  const auto &work = *static_cast<Work<Word> *>(context);
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t group = unit * work.groups / work.units; group < (unit + 1) * work.groups / work.units; ++group)
      orderGroup(work, group, work.memory + unit * work.unitBytes);
}

template <typename Word> perpend_status orderLines(perpend_call *call, Work<Word> &work, int64_t before) {
  constexpr int64_t mostUnits = 64, mostBytes = 32 << 20, elementsOfGrain = 1024, line = 64;
  const Order &order = work.order;
  work.groupSize = std::min(order.behind, groupLines);
  work.groupsOfRow = (order.behind + work.groupSize - 1) / work.groupSize;
  work.groups = before * work.groupsOfRow;
  work.unitBytes = 2 * wordsOfLine(order) * static_cast<int64_t>(sizeof(Word)) +
                   work.groupSize * order.count * static_cast<int64_t>(sizeof(typename Word::Key));
  work.unitBytes = (work.unitBytes + line - 1) / line * line;
  work.units = std::max(int64_t{1}, std::min({work.groups, mostUnits, mostBytes / work.unitBytes}));
  work.memory = static_cast<char *>(perpend_call_scratch(call, work.units * work.unitBytes));
  if (!work.memory)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t elementsOfUnit = work.groups / work.units * work.groupSize * order.count;
  perpend_call_parallel(call, runUnits<Word>, &work, work.units,
                        std::max(int64_t{1}, elementsOfGrain / std::max(int64_t{1}, elementsOfUnit)));
  return PERPEND_OK;
}

int64_t bytesOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
  case PERPEND_I64:
  case PERPEND_U64:
    return 8;
  case PERPEND_F32:
  case PERPEND_I32:
  case PERPEND_U32:
    return 4;
  case PERPEND_F16:
  case PERPEND_BF16:
  case PERPEND_I16:
  case PERPEND_U16:
    return 2;
  default:
    return 1;
  }
}

} // namespace

extern "C" perpend_status perpend_order_sort(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  const int64_t *shape = perpend_call_expected_shape(call, 0);
  if (x.rank != 3 || !hasOrder(x.type) || call->inputs[1].type != PERPEND_I64)
    return perpend_call_fail(call,
                             "expected a tensor of numbers with 3 dimensions, and the first position as i64, got %d "
                             "dimensions of %s, and %s",
                             static_cast<int>(x.rank), perpend_type_name(x.type),
                             perpend_type_name(call->inputs[1].type));
  const int64_t first = *wordsOf(call->inputs[1]), wanted = shape[1];
  if (first < 0 || wanted > x.shape[1] - first || x.shape[0] != shape[0] || x.shape[2] != shape[2] ||
      x.shape[1] > 0xffffffff)
    return perpend_call_fail(call, "expected ranks within lines of less than 2^32 elements, got %lld from %lld of %lld",
                             static_cast<long long>(wanted), static_cast<long long>(first),
                             static_cast<long long>(x.shape[1]));
  auto *output = static_cast<int64_t *>(perpend_call_allocate(call, 0, shape, 3));
  if (!output)
    return PERPEND_OUT_OF_MEMORY;
  if (shape[0] * wanted * shape[2] == 0)
    return PERPEND_OK;
  const Order order = {&chooseOrderScan(), x.type, bytesOf(x.type), x.shape[1],
                       x.shape[2],         first,  wanted,          perpend_call_integer(call, "descending", 0) != 0};
  if (order.elementBytes == 8) {
    Work<WideWord> work{order, static_cast<const char *>(x.data), output, 0, 0, 0, 0, 0, nullptr};
    return orderLines(call, work, shape[0]);
  }
  Work<NarrowWord> work{order, static_cast<const char *>(x.data), output, 0, 0, 0, 0, 0, nullptr};
  return orderLines(call, work, shape[0]);
}
