// Vectors of numbers, for the code of one instruction set: everything here is local to the file that includes it.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERVECTORS_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERVECTORS_H
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace perpend::library {
namespace {

#if defined(__AVX512F__)
constexpr int64_t registerBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t registerBytes = 32;
#else
constexpr int64_t registerBytes = 16;
#endif

template <typename T> constexpr int64_t lanesOf = registerBytes / static_cast<int64_t>(sizeof(T));

template <typename T, int64_t lanes> struct VectorOf {
  typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T> struct VectorOf<T, 1> {
  using Type = T;
};
template <typename T, int64_t lanes> using Vector = typename VectorOf<T, lanes>::Type;

template <typename V, typename T> V loadAs(const T *from) {
  V result;
  memcpy(&result, from, sizeof result);
  return result;
}

template <typename V, typename T> void storeAs(T *to, V value) { memcpy(to, &value, sizeof value); }

// The number in every lane.
template <typename V, typename T> V splat(T value) { return value - V{}; }

// a b + c, rounded once where the processor can.
template <typename V> V fused(V a, V b, V c) {
#if defined(__FMA__) && __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Calls body(0), body(1), .. in straight code.
template <typename Body, size_t... i> [[gnu::always_inline]] inline void unroll(Body body, std::index_sequence<i...>) {
  (body(static_cast<int64_t>(i)), ...);
}
template <int64_t count, typename Body> [[gnu::always_inline]] inline void unroll(Body body) {
  unroll(body, std::make_index_sequence<count>());
}

// Moves lane l of row r to lane r of row l in the bit `distance` of both.
template <int64_t distance, typename V, size_t... lane>
[[gnu::always_inline]] inline void exchange(V &low, V &high, std::index_sequence<lane...>) {
  constexpr int64_t lanes = sizeof...(lane);
  V first = __builtin_shufflevector(low, high, (lane & distance ? lanes + lane - distance : lane)...);
  high = __builtin_shufflevector(low, high, (lane & distance ? lanes + lane : lane + distance)...);
  low = first;
}

// A matrix of lanes x lanes numbers.
template <int64_t lanes, int64_t distance = lanes / 2, typename V>
[[gnu::always_inline]] inline void transpose(V *rows) {
  if constexpr (distance >= 1) {
    unroll<lanes>([&](int64_t row) __attribute__((always_inline)) {
      if (!(row & distance))
        exchange<distance>(rows[row], rows[row | distance], std::make_index_sequence<lanes>());
    });
    transpose<lanes, distance / 2>(rows);
  }
}

// The lanes at even places of two vectors, and those at odd places.
template <typename V, size_t... lane> void separateLanes(V a, V b, V &even, V &odd, std::index_sequence<lane...>) {
  even = __builtin_shufflevector(a, b, (2 * lane)...);
  odd = __builtin_shufflevector(a, b, (2 * lane + 1)...);
}

// The inverse.
template <typename V, size_t... lane> void mergeLanes(V even, V odd, V &a, V &b, std::index_sequence<lane...>) {
  constexpr size_t lanes = sizeof...(lane);
  a = __builtin_shufflevector(even, odd, (lane / 2 + (lane % 2 ? lanes : 0))...);
  b = __builtin_shufflevector(even, odd, (lanes / 2 + lane / 2 + (lane % 2 ? lanes : 0))...);
}

template <typename V, size_t... lane> V reversed(V value, std::index_sequence<lane...>) {
  return __builtin_shufflevector(value, value, (sizeof...(lane) - 1 - lane)...);
}

// Vector j holds number j, count + j, 2 count + j, .. of those in the given ones. count: a power of two.
template <int64_t count, int64_t lanes, typename V> [[gnu::always_inline]] inline void distribute(V *vectors) {
  if constexpr (count > 1) {
    V even[count / 2], odd[count / 2];
    for (int64_t i = 0; i < count / 2; ++i)
      separateLanes(vectors[2 * i], vectors[2 * i + 1], even[i], odd[i], std::make_index_sequence<lanes>());
    distribute<count / 2, lanes>(even);
    distribute<count / 2, lanes>(odd);
    for (int64_t i = 0; i < count / 2; ++i) {
      vectors[2 * i] = even[i];
      vectors[2 * i + 1] = odd[i];
    }
  }
}

template <typename H, size_t... lane> auto concatenated(H low, H high, std::index_sequence<lane...>) {
  return __builtin_shufflevector(low, high, lane...);
}

// Pieces of consecutive numbers, `stride` apart.
template <typename T, int64_t lanes, int64_t piece> Vector<T, lanes> loadPieces(const T *from, int64_t stride) {
  if constexpr (piece >= lanes)
    return loadAs<Vector<T, lanes>>(from);
  else
    return concatenated(loadPieces<T, lanes / 2, piece>(from, stride),
                        loadPieces<T, lanes / 2, piece>(from + lanes / 2 / piece * stride, stride),
                        std::make_index_sequence<lanes>());
}

} // namespace
} // namespace perpend::library
#endif
