// The same templates are compiled once for each instruction set, into functions of it.
#include "library/MatrixKernels.h"
#include "Isa.h"
#include <atomic>

namespace perpend::library {
namespace {

// A vector of `bytes` that may lie anywhere.
template <typename T, int bytes> struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
  typedef T Anywhere __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
};

// `count` rows of c and `vectors` vectors of each.
template <typename T, int bytes, int count, int vectors>
[[gnu::always_inline]] inline void subtractBlock(Rows<T> c, Factor<T> a, Rows<T> b, int64_t depth) {
  using Vector = typename VectorOf<T, bytes>::Type;
  using Anywhere = typename VectorOf<T, bytes>::Anywhere;
  Vector sums[count][vectors];
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = reinterpret_cast<const Anywhere *>(c[i])[j];
  for (int64_t k = 0; k < depth; ++k) {
    const auto *row = reinterpret_cast<const Anywhere *>(b[k]);
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] -= a.first[i * a.row + k * a.column] * row[j];
  }
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < vectors; ++j)
      reinterpret_cast<Anywhere *>(c[i])[j] = sums[i][j];
}

template <typename T, int bytes, int vectors>
[[gnu::always_inline]] inline void subtractColumns(Rows<T> c, Factor<T> a, Rows<T> b, int64_t rows, int64_t depth) {
  constexpr int together = 6;
  int64_t i = 0;
  auto rest = [&] { return Factor<T>{a.first + i * a.row, a.row, a.column}; };
  for (; i + together <= rows; i += together)
    subtractBlock<T, bytes, together, vectors>(c.at(i, 0), rest(), b, depth);
  if (rows - i >= 3) {
    subtractBlock<T, bytes, 3, vectors>(c.at(i, 0), rest(), b, depth);
    i += 3;
  }
  if (rows - i == 2)
    subtractBlock<T, bytes, 2, vectors>(c.at(i, 0), rest(), b, depth);
  if (rows - i == 1)
    subtractBlock<T, bytes, 1, vectors>(c.at(i, 0), rest(), b, depth);
}

template <typename T, int bytes>
[[gnu::always_inline]] inline void subtractProduct(Rows<T> c, Factor<T> a, Rows<T> b, int64_t rows, int64_t columns,
                                                   int64_t depth) {
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T)), deepest = 128;
  for (int64_t k = 0; k < depth; k += deepest) { // what is read of b stays in the first cache
    const int64_t part = depth - k < deepest ? depth - k : deepest;
    const Factor<T> factor{a.first + k * a.column, a.row, a.column};
    int64_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes)
      subtractColumns<T, bytes, 2>(c.at(0, j), factor, b.at(k, j), rows, part);
    for (; j < columns; j += lanes)
      subtractColumns<T, bytes, 1>(c.at(0, j), factor, b.at(k, j), rows, part);
  }
}

template <typename T, int bytes>
[[gnu::always_inline]] inline void subtractOuter(Rows<T> rows, const T *factors, int64_t step, const T *row,
                                                 int64_t count, int64_t columns) {
  using Anywhere = typename VectorOf<T, bytes>::Anywhere;
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
  const auto *subtracted = reinterpret_cast<const Anywhere *>(row);
  for (int64_t i = 0; i < count; ++i) {
    auto *changed = reinterpret_cast<Anywhere *>(rows[i]);
    const T factor = factors[i * step];
    for (int64_t j = 0; j < columns / lanes; ++j)
      changed[j] -= factor * subtracted[j];
  }
}

template <typename T, int bytes>
[[gnu::always_inline]] inline void combine(Rows<T> rows, const T *vector, int64_t count, int64_t columns, T *sums) {
  using Vector = typename VectorOf<T, bytes>::Type;
  using Anywhere = typename VectorOf<T, bytes>::Anywhere;
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t j = 0; j < columns; j += lanes) {
    Vector even{}, odd{};
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
      even += vector[i] * *reinterpret_cast<const Anywhere *>(rows[i] + j);
      odd += vector[i + 1] * *reinterpret_cast<const Anywhere *>(rows[i + 1] + j);
    }
    if (i < count)
      even += vector[i] * *reinterpret_cast<const Anywhere *>(rows[i] + j);
    *reinterpret_cast<Anywhere *>(sums + j) = even + odd;
  }
}

template <typename T, int bytes>
[[gnu::always_inline]] inline void multiply(Rows<T> rows, const T *vector, int64_t count, int64_t columns,
                                            T *products) {
  using Vector = typename VectorOf<T, bytes>::Type;
  using Anywhere = typename VectorOf<T, bytes>::Anywhere;
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
  const auto *other = reinterpret_cast<const Anywhere *>(vector);
  for (int64_t i = 0; i < count; ++i) {
    const auto *row = reinterpret_cast<const Anywhere *>(rows[i]);
    Vector sums{};
    for (int64_t j = 0; j < columns / lanes; ++j)
      sums += row[j] * other[j];
    T total = 0;
    for (int64_t lane = 0; lane < lanes; ++lane)
      total += sums[lane];
    products[i] = total;
  }
}

template <typename T, int bytes>
[[gnu::always_inline]] inline void rotate(T *x, T *y, T cosine, T sine, int64_t columns) {
  using Vector = typename VectorOf<T, bytes>::Type;
  using Anywhere = typename VectorOf<T, bytes>::Anywhere;
  constexpr int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
  auto *first = reinterpret_cast<Anywhere *>(x), *second = reinterpret_cast<Anywhere *>(y);
  for (int64_t j = 0; j < columns / lanes; ++j) {
    const Vector a = first[j], b = second[j];
    first[j] = cosine * a + sine * b;
    second[j] = cosine * b - sine * a;
  }
}

#define MATRIX_KERNELS(NAME, BYTES, ATTRIBUTES)                                                                        \
  template <typename T>                                                                                                \
  ATTRIBUTES void subtractProduct##NAME(Rows<T> c, Factor<T> a, Rows<T> b, int64_t rows, int64_t columns,              \
                                        int64_t depth) {                                                               \
    subtractProduct<T, BYTES>(c, a, b, rows, columns, depth);                                                          \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  ATTRIBUTES void subtractOuter##NAME(Rows<T> rows, const T *factors, int64_t step, const T *row, int64_t count,       \
                                      int64_t columns) {                                                               \
    subtractOuter<T, BYTES>(rows, factors, step, row, count, columns);                                                 \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  ATTRIBUTES void combine##NAME(Rows<T> rows, const T *vector, int64_t count, int64_t columns, T *sums) {              \
    combine<T, BYTES>(rows, vector, count, columns, sums);                                                             \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  ATTRIBUTES void multiply##NAME(Rows<T> rows, const T *vector, int64_t count, int64_t columns, T *products) {         \
    multiply<T, BYTES>(rows, vector, count, columns, products);                                                        \
  }                                                                                                                    \
  template <typename T> ATTRIBUTES void rotate##NAME(T *x, T *y, T cosine, T sine, int64_t columns) {                  \
    rotate<T, BYTES>(x, y, cosine, sine, columns);                                                                     \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  const MatrixKernels<T> kernels##NAME = {subtractProduct##NAME<T>, subtractOuter##NAME<T>, combine##NAME<T>,          \
                                          multiply##NAME<T>, rotate##NAME<T>};

MATRIX_KERNELS(OnBase, 16, )
#if defined(__x86_64__)
#define MATRIX_AVX2 [[gnu::target("avx2,fma")]]
#define MATRIX_AVX512 [[gnu::target("avx512f,avx512vl,avx512dq,avx512bw")]]
MATRIX_KERNELS(OnAvx2, 32, MATRIX_AVX2)
MATRIX_KERNELS(OnAvx512, 64, MATRIX_AVX512)

// 0: not yet determined, then the bytes of the widest registers.
int32_t registerBytes() {
  static std::atomic<int32_t> answer{0};
  int32_t known = answer.load(std::memory_order_relaxed);
  if (known)
    return known;
  known = 16;
  auto has = [](const char *name) { return runtime::hasInstructionSet(name); };
  if (has("avx2") && has("fma"))
    known = has("avx512f") && has("avx512vl") && has("avx512dq") && has("avx512bw") ? 64 : 32;
  answer.store(known, std::memory_order_relaxed);
  return known;
}
#endif

} // namespace

template <typename T> const MatrixKernels<T> &chooseMatrixKernels() {
#if defined(__x86_64__)
  if (registerBytes() == 64)
    return kernelsOnAvx512<T>;
  if (registerBytes() == 32)
    return kernelsOnAvx2<T>;
#endif
  return kernelsOnBase<T>;
}

template const MatrixKernels<float> &chooseMatrixKernels();
template const MatrixKernels<double> &chooseMatrixKernels();

} // namespace perpend::library
