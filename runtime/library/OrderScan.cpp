// The same templates are compiled once for each instruction set, into functions of it.
#include "library/OrderScan.h"
#include "Isa.h"
#include "library/OrderKeys.h"
#include <atomic>

namespace perpend::library {
namespace {

enum class KeyKind { Unsigned, Signed, Float };

// Bits: the unsigned integer of an element's size. infinity: its bits.
template <typename Bits, KeyKind kind, uint64_t infinity>
[[gnu::always_inline]] inline Bits keyOf(Bits x, Bits reversed) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if constexpr (kind == KeyKind::Signed)
    x = static_cast<Bits>(x ^ sign);
  if constexpr (kind == KeyKind::Float)
    x = FloatKeys<Bits>{0, static_cast<Bits>(infinity)}.of(x);
  return static_cast<Bits>(x ^ reversed);
}

template <typename Key, typename Bits, KeyKind kind, uint64_t infinity = 0>
[[gnu::always_inline]] inline void makeKeysOf(const OrderLines &lines, void *result) {
  auto *keys = static_cast<Key *>(result);
  const auto *elements = static_cast<const Bits *>(lines.elements);
  const Bits reversed = lines.isDescending ? static_cast<Bits>(~Bits{0}) : Bits{0};
  if (lines.lines == 1 && lines.step == 1) {
    for (int64_t i = 0; i < lines.count; ++i)
      keys[i] = keyOf<Bits, kind, infinity>(elements[i], reversed);
    return;
  }
  for (int64_t i = 0; i < lines.count; ++i)
    for (int64_t line = 0; line < lines.lines; ++line)
      keys[line * lines.count + i] = keyOf<Bits, kind, infinity>(elements[i * lines.step + line], reversed);
}

[[gnu::always_inline]] inline void makeKeys(perpend_type type, const OrderLines &lines, void *keys) {
  constexpr KeyKind Float = KeyKind::Float, Signed = KeyKind::Signed, Unsigned = KeyKind::Unsigned;
  switch (type) {
  case PERPEND_F32:
    return makeKeysOf<uint32_t, uint32_t, Float, 0x7f800000>(lines, keys);
  case PERPEND_F64:
    return makeKeysOf<uint64_t, uint64_t, Float, 0x7ff0000000000000>(lines, keys);
  case PERPEND_F16:
    return makeKeysOf<uint32_t, uint16_t, Float, 0x7c00>(lines, keys);
  case PERPEND_BF16:
    return makeKeysOf<uint32_t, uint16_t, Float, 0x7f80>(lines, keys);
  case PERPEND_I8:
    return makeKeysOf<uint32_t, uint8_t, Signed>(lines, keys);
  case PERPEND_I16:
    return makeKeysOf<uint32_t, uint16_t, Signed>(lines, keys);
  case PERPEND_I32:
    return makeKeysOf<uint32_t, uint32_t, Signed>(lines, keys);
  case PERPEND_I64:
    return makeKeysOf<uint64_t, uint64_t, Signed>(lines, keys);
  case PERPEND_U8:
  case PERPEND_BOOL:
    return makeKeysOf<uint32_t, uint8_t, Unsigned>(lines, keys);
  case PERPEND_U16:
    return makeKeysOf<uint32_t, uint16_t, Unsigned>(lines, keys);
  case PERPEND_U32:
    return makeKeysOf<uint32_t, uint32_t, Unsigned>(lines, keys);
  default:
    return makeKeysOf<uint64_t, uint64_t, Unsigned>(lines, keys);
  }
}

template <typename Key>
[[gnu::always_inline]] inline void mark(const Key *keys, int64_t count, Key bound, uint8_t *marks) {
  for (int64_t i = 0; i < count; ++i)
    marks[i] = keys[i] <= bound;
}

#define ORDER_SCAN(NAME, ATTRIBUTES)                                                                                   \
  ATTRIBUTES void makeKeys##NAME(perpend_type type, const OrderLines &lines, void *keys) {                             \
    makeKeys(type, lines, keys);                                                                                       \
  }                                                                                                                    \
  ATTRIBUTES void markNarrow##NAME(const uint32_t *keys, int64_t count, uint32_t bound, uint8_t *marks) {              \
    mark(keys, count, bound, marks);                                                                                   \
  }                                                                                                                    \
  ATTRIBUTES void markWide##NAME(const uint64_t *keys, int64_t count, uint64_t bound, uint8_t *marks) {                \
    mark(keys, count, bound, marks);                                                                                   \
  }                                                                                                                    \
  const OrderScan scan##NAME = {makeKeys##NAME, markNarrow##NAME, markWide##NAME};

#if defined(__x86_64__) && defined(__clang__)
#define ORDER_BASE [[clang::minsize]] // for processors without AVX2
#else
#define ORDER_BASE
#endif
ORDER_SCAN(OnBase, ORDER_BASE)
#if defined(__x86_64__)
#define ORDER_AVX2 [[gnu::target("avx2")]]
#define ORDER_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
ORDER_SCAN(OnAvx2, ORDER_AVX2)
ORDER_SCAN(OnAvx512, ORDER_AVX512)

const OrderScan &findOrderScan() {
  constexpr const char *avx512[] = {"avx512f", "avx512bw", "avx512dq", "avx512vl"};
  bool hasAvx512 = true;
  for (const char *name : avx512)
    hasAvx512 = hasAvx512 && runtime::hasInstructionSet(name);
  if (hasAvx512)
    return scanOnAvx512;
  if (runtime::hasInstructionSet("avx2"))
    return scanOnAvx2;
  return scanOnBase;
}
#endif

} // namespace

const OrderScan &chooseOrderScan() {
#if defined(__x86_64__)
  static std::atomic<const OrderScan *> chosen{nullptr};
  const OrderScan *known = chosen.load(std::memory_order_relaxed);
  if (!known)
    chosen.store(known = &findOrderScan(), std::memory_order_relaxed);
  return *known;
#else
  return scanOnBase;
#endif
}

bool hasOrder(perpend_type type) { return type <= PERPEND_BOOL; }

} // namespace perpend::library
