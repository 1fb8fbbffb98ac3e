// order.extremes(x): along the middle dimension of x, [before, n, behind], the greatest element up to each one, and its
// position as i64; of equal elements the last one. Each NaN is beyond all numbers. Parameter `minimum`: the least.
//
// The same templates are compiled once for each instruction set, into functions of it.
#include "Isa.h"
#include "library/Arguments.h"
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

enum class KeyKind { Unsigned, Signed, Float };

// A number that is greater, the more extreme the element is. infinity: its bits.
template <typename Bits, KeyKind kind, uint64_t infinity>
[[gnu::always_inline]] inline Bits keyOf(Bits x, Bits reversed) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)), ones = static_cast<Bits>(~Bits{0});
  if constexpr (kind == KeyKind::Signed)
    x = static_cast<Bits>(x ^ sign);
  if constexpr (kind == KeyKind::Float) {
    const Bits magnitude = static_cast<Bits>(x & static_cast<Bits>(~sign));
    const bool isNegative = (x & sign) != 0;
    const Bits key = isNegative ? static_cast<Bits>(sign - magnitude) : static_cast<Bits>(sign + magnitude);
    return magnitude > static_cast<Bits>(infinity) ? ones : static_cast<Bits>(key ^ reversed);
  }
  return static_cast<Bits>(x ^ reversed);
}

// One line, whose elements are adjacent.
template <typename Bits, KeyKind kind, uint64_t infinity>
[[gnu::always_inline]] inline void scanLine(const Work &work, const Bits *x, Bits *values, int64_t *positions) {
  constexpr int64_t chunk = 16;
  const Bits reversed = work.isMinimum ? static_cast<Bits>(~Bits{0}) : Bits{0};
  Bits value = x[0], key = keyOf<Bits, kind, infinity>(value, reversed);
  int64_t position = 0, i = 0;
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
      keys[place] = keyOf<Bits, kind, infinity>(x[i + place], reversed);
    for (Bits each : keys)
      most = std::max(most, each);
    if (most < key) {
      std::fill_n(values + i, chunk, value);
      std::fill_n(positions + i, chunk, position);
      i += chunk;
      continue;
    }
    for (Bits each : keys) {
      next(each);
      ++i;
    }
  }
  for (; i < work.count; ++i)
    next(keyOf<Bits, kind, infinity>(x[i], reversed));
}

// Lines side by side: what is known of each stands in the results of the elements before.
template <typename Bits, KeyKind kind, uint64_t infinity>
[[gnu::always_inline]] inline void scanLines(const Work &work, const Bits *x, Bits *values, int64_t *positions,
                                             int64_t lines) {
  const Bits reversed = work.isMinimum ? static_cast<Bits>(~Bits{0}) : Bits{0};
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
      const bool isReached =
          keyOf<Bits, kind, infinity>(own[line], reversed) >= keyOf<Bits, kind, infinity>(before[line], reversed);
      value[line] = isReached ? own[line] : before[line];
      position[line] = isReached ? i : known[line];
    }
  }
}

template <typename Bits, KeyKind kind, uint64_t infinity = 0>
[[gnu::always_inline]] inline void scanUnits(const Work &work, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t line = unit % work.unitsOfRow * linesOfUnit;
    const int64_t first = unit / work.unitsOfRow * work.count * work.behind + line;
    const Bits *x = static_cast<const Bits *>(work.elements) + first;
    Bits *values = static_cast<Bits *>(work.values) + first;
    if (work.behind == 1)
      scanLine<Bits, kind, infinity>(work, x, values, work.positions + first);
    else
      scanLines<Bits, kind, infinity>(work, x, values, work.positions + first,
                                      std::min(linesOfUnit, work.behind - line));
  }
}

[[gnu::always_inline]] inline void scan(const Work &work, int64_t begin, int64_t end) {
  constexpr KeyKind Float = KeyKind::Float, Signed = KeyKind::Signed, Unsigned = KeyKind::Unsigned;
  switch (work.type) {
  case PERPEND_F32:
    return scanUnits<uint32_t, Float, 0x7f800000>(work, begin, end);
  case PERPEND_F64:
    return scanUnits<uint64_t, Float, 0x7ff0000000000000>(work, begin, end);
  case PERPEND_F16:
    return scanUnits<uint16_t, Float, 0x7c00>(work, begin, end);
  case PERPEND_BF16:
    return scanUnits<uint16_t, Float, 0x7f80>(work, begin, end);
  case PERPEND_I8:
    return scanUnits<uint8_t, Signed>(work, begin, end);
  case PERPEND_I16:
    return scanUnits<uint16_t, Signed>(work, begin, end);
  case PERPEND_I32:
    return scanUnits<uint32_t, Signed>(work, begin, end);
  case PERPEND_I64:
    return scanUnits<uint64_t, Signed>(work, begin, end);
  case PERPEND_U16:
    return scanUnits<uint16_t, Unsigned>(work, begin, end);
  case PERPEND_U32:
    return scanUnits<uint32_t, Unsigned>(work, begin, end);
  case PERPEND_U64:
    return scanUnits<uint64_t, Unsigned>(work, begin, end);
  default:
    return scanUnits<uint8_t, Unsigned>(work, begin, end);
  }
}

void scanOnBase(void *context, int64_t begin, int64_t end) { scan(*static_cast<const Work *>(context), begin, end); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void scanOnAvx2(void *context, int64_t begin, int64_t end) {
  scan(*static_cast<const Work *>(context), begin, end);
}

perpend_call_body chooseScan() { return perpend::runtime::hasInstructionSet("avx2") ? scanOnAvx2 : scanOnBase; }
#else
perpend_call_body chooseScan() { return scanOnBase; }
#endif

} // namespace

extern "C" perpend_status perpend_order_extremes(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  if (x.rank != 3 || x.type > PERPEND_BOOL)
    return perpend_call_fail(call, "expected a tensor of numbers with 3 dimensions, got %d dimensions of %s",
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
