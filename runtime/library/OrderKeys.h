// Keys are unsigned numbers in the order of sorting. A word is a key with its position, so no two words of a line are
// equal; a position has at most 32 bits.
#ifndef PERPEND_RUNTIME_LIBRARY_ORDERKEYS_H
#define PERPEND_RUNTIME_LIBRARY_ORDERKEYS_H
#include <cstdint>
#include <cstring>

namespace perpend::library {

// How the bits of a float become a number in its order, in which -0 is 0, and NaN, what is beyond the bits of infinity,
// the greatest. Greater numbers have lesser keys if all bits are `flipped`, but for NaN.
template <typename Word> struct FloatKeys {
  using Bits = Word;
  Bits flipped, infinity;
  [[gnu::always_inline]] inline Bits of(Bits x) const {
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)), ones = static_cast<Bits>(~Bits{0});
    const Bits magnitude = static_cast<Bits>(x & static_cast<Bits>(~sign));
    const Bits key = static_cast<Bits>((x & sign) != 0 ? sign - magnitude : sign + magnitude);
    return magnitude > infinity ? ones : static_cast<Bits>(key ^ flipped);
  }
};

// Of keys of at most 32 bits.
struct NarrowWord {
  using Key = uint32_t;
  uint64_t bits;

  static NarrowWord of(uint64_t key, int64_t position) { return {key << 32 | static_cast<uint64_t>(position)}; }
  uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
  int64_t position() const { return static_cast<int64_t>(bits & 0xffffffff); }
  bool operator<(const NarrowWord &other) const { return bits < other.bits; }
};

struct WideWord {
  using Key = uint64_t;
  uint64_t first;
  int64_t second;

  static WideWord of(uint64_t key, int64_t position) { return {key, position}; }
  uint64_t key() const { return first; }
  int64_t position() const { return second; }
  bool operator<(const WideWord &other) const {
    return first < other.first || (first == other.first && second < other.second);
  }
};

} // namespace perpend::library
#endif
