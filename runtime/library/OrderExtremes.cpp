// order.extremes(x): along the middle dimension of x, [before, n, behind], the greatest element up to each one, and its
// position as i64; of equal elements the last one. Each NaN is beyond all numbers. Parameter `minimum`: the least.
//
// The same templates are compiled once for each instruction set, into functions of it.
#include "Isa.h"
#include "library/Arguments.h"
#include "library/OrderKeys.h"
#include <algorithm>

using namespace perpend::library;

namespace {

constexpr int64_t linesOfUnit = 512; // side by side

struct Work {
  perpend_type type;
  const void *elements;
  void *values;
  int64_t *positions;
  int64_t count, behind, unitsOfRow;
  bool isMinimum;
};

// How an integer becomes a number that is greater, the more extreme it is: by `flipped` bits.
template <typename Word> struct Keys {
  using Bits = Word;
  Bits flipped;
  [[gnu::always_inline]] inline Bits of(Bits x) const { return static_cast<Bits>(x ^ flipped); }
};

// One line, whose elements are adjacent.
template <typename Keys, typename Bits = typename Keys::Bits>
[[gnu::always_inline]] inline void scanLine(const Work &work, Keys keysOf, const Bits *x, Bits *values,
                                            int64_t *positions) {
  constexpr int64_t chunk = 16; // few chunks reach it: code for their elements is short, not fast
  Bits value = x[0], key = keysOf.of(value);
  int64_t position = 0, i = 1;
  values[0] = value;
  positions[0] = 0;
  auto next = [&](Bits own) {
    const bool isReached = own >= key;
    key = isReached ? own : key;
    value = isReached ? x[i] : value;
    position = isReached ? i : position;
    values[i] = value;
    positions[i] = position;
  };
  while (i + chunk <= work.count) { // most chunks do not reach the extremum
    Bits keys[chunk], most = 0;
    for (int64_t place = 0; place < chunk; ++place)
      keys[place] = keysOf.of(x[i + place]);
    for (Bits each : keys)
      most = std::max(most, each);
    if (most < key) {
      std::fill_n(values + i, chunk, value);
      std::fill_n(positions + i, chunk, position);
      i += chunk;
      continue;
    }
    Bits falls = 0;
    for (int64_t place = 0; place < chunk; ++place)
      falls |= static_cast<Bits>(keysOf.of(x[i + place - 1]) > keys[place] ? 1 : 0);
    if (falls == 0 && keys[0] >= key) { // in sorted and equal elements, each one is reached
      std::copy_n(x + i, chunk, values + i);
      for (int64_t place = 0; place < chunk; ++place)
        positions[i + place] = i + place;
      i += chunk;
      key = keys[chunk - 1];
      value = x[i - 1];
      position = i - 1;
      continue;
    }
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
    for (Bits each : keys) {
      next(each);
      ++i;
    }
  }
  for (; i < work.count; ++i)
    next(keysOf.of(x[i]));
}

// Lines side by side: what is known of each stands in the results of the elements before.
template <typename Keys, typename Bits = typename Keys::Bits>
[[gnu::always_inline]] inline void scanLines(const Work &work, Keys keysOf, const Bits *x, Bits *values,
                                             int64_t *positions, int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    values[line] = x[line];
    positions[line] = 0;
  }
  for (int64_t i = 1; i < work.count; ++i) {
    const Bits *own = x + i * work.behind, *before = values + (i - 1) * work.behind;
    const int64_t *known = positions + (i - 1) * work.behind;
    Bits *__restrict value = values + i * work.behind;
    int64_t *__restrict position = positions + i * work.behind;
    for (int64_t line = 0; line < lines; ++line) {
      const bool isReached = keysOf.of(own[line]) >= keysOf.of(before[line]);
      value[line] = isReached ? own[line] : before[line];
      position[line] = isReached ? i : known[line];
    }
  }
}

template <typename Keys, typename Bits = typename Keys::Bits>
[[gnu::always_inline]] inline void scanUnits(const Work &work, Keys keysOf, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t line = unit % work.unitsOfRow * linesOfUnit;
    const int64_t first = unit / work.unitsOfRow * work.count * work.behind + line;
    const Bits *x = static_cast<const Bits *>(work.elements) + first;
    Bits *values = static_cast<Bits *>(work.values) + first;
    if (work.behind == 1)
      scanLine(work, keysOf, x, values, work.positions + first);
    else
      scanLines(work, keysOf, x, values, work.positions + first, std::min(linesOfUnit, work.behind - line));
  }
}

template <typename Bits>
[[gnu::always_inline]] inline void scanIntegers(const Work &work, bool isSigned, int64_t begin, int64_t end) {
  const auto sign = static_cast<Bits>(Bits{isSigned} << (8 * sizeof(Bits) - 1));
  scanUnits(work, Keys<Bits>{static_cast<Bits>(work.isMinimum ? ~sign : sign)}, begin, end);
}

template <typename Bits>
[[gnu::always_inline]] inline void scanFloats(const Work &work, Bits infinity, int64_t begin, int64_t end) {
  const auto flipped = static_cast<Bits>(work.isMinimum ? ~Bits{0} : Bits{0});
  scanUnits(work, FloatKeys<Bits>{flipped, infinity}, begin, end);
}

[[gnu::always_inline]] inline void scan(const Work &work, int64_t begin, int64_t end) {
  const perpend_type type = work.type;
  switch (type) {
  case PERPEND_F32:
    return scanFloats<uint32_t>(work, 0x7f800000, begin, end);
  case PERPEND_F64:
    return scanFloats<uint64_t>(work, 0x7ff0000000000000, begin, end);
  case PERPEND_F16:
  case PERPEND_BF16:
    return scanFloats<uint16_t>(work, type == PERPEND_F16 ? 0x7c00 : 0x7f80, begin, end);
  case PERPEND_I32:
  case PERPEND_U32:
    return scanIntegers<uint32_t>(work, type == PERPEND_I32, begin, end);
  default:
    return scanIntegers<uint64_t>(work, type == PERPEND_I64, begin, end);
  }
}

#if defined(__x86_64__)
#if defined(__clang__)
#define SMALL [[clang::minsize]] // for processors without AVX2
#else
#define SMALL
#endif
SMALL void scanOnBase(void *context, int64_t begin, int64_t end) {
  scan(*static_cast<const Work *>(context), begin, end);
}

[[gnu::target("avx2")]] void scanOnAvx2(void *context, int64_t begin, int64_t end) {
  scan(*static_cast<const Work *>(context), begin, end);
}

perpend_call_body chooseScan() { return perpend::runtime::hasInstructionSet("avx2") ? scanOnAvx2 : scanOnBase; }
#else
void scanOnBase(void *context, int64_t begin, int64_t end) { scan(*static_cast<const Work *>(context), begin, end); }
perpend_call_body chooseScan() { return scanOnBase; }
#endif

bool isScanned(perpend_type type) {
  switch (type) {
  case PERPEND_F16:
  case PERPEND_BF16:
  case PERPEND_F32:
  case PERPEND_F64:
  case PERPEND_I32:
  case PERPEND_U32:
  case PERPEND_I64:
  case PERPEND_U64:
    return true;
  default:
    return false;
  }
}

} // namespace

extern "C" perpend_status perpend_order_extremes(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  if (x.rank != 3 || !isScanned(x.type))
    return perpend_call_fail(call,
                             "expected a tensor of floats of 16 bits or more, or of integers of 32 or 64 bits, with 3 "
                             "dimensions, got %d dimensions of %s",
                             static_cast<int>(x.rank), perpend_type_name(x.type));
  void *values = perpend_call_allocate(call, 0, x.shape, 3);
  auto *positions = static_cast<int64_t *>(perpend_call_allocate(call, 1, x.shape, 3));
  if (!values || !positions)
    return PERPEND_OUT_OF_MEMORY;
  if (elementCount(x) == 0)
    return PERPEND_OK;
  const int64_t unitsOfRow = (x.shape[2] + linesOfUnit - 1) / linesOfUnit;
  Work work{x.type,     x.data,     values,     positions,
            x.shape[1], x.shape[2], unitsOfRow, perpend_call_integer(call, "minimum", 0) != 0};
  constexpr int64_t elementsOfGrain = 4096;
  const int64_t elementsOfUnit = std::min(linesOfUnit, work.behind) * work.count;
  perpend_call_parallel(call, chooseScan(), &work, x.shape[0] * unitsOfRow,
                        std::max(int64_t{1}, elementsOfGrain / elementsOfUnit));
  return PERPEND_OK;
}
