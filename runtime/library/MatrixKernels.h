// What factorisations do with rows of matrices, in wide registers. A row begins anywhere; kernels read and write whole
// vectors, so numbers of columns are multiples of `lineOf<T>`, which rows are padded to.
#ifndef PERPEND_RUNTIME_LIBRARY_MATRIXKERNELS_H
#define PERPEND_RUNTIME_LIBRARY_MATRIXKERNELS_H
#include <cstdint>

namespace perpend::library {

template <typename T> constexpr int64_t lineOf = 64 / static_cast<int64_t>(sizeof(T));

template <typename T> constexpr int64_t padded(int64_t columns) {
  return (columns + lineOf<T> - 1) / lineOf<T> * lineOf<T>;
}

// Rows of numbers, `stride` apart.
template <typename T> struct Rows {
  T *first;
  int64_t stride;

  T *operator[](int64_t row) const { return first + row * stride; }
  Rows at(int64_t row, int64_t column) const { return {first + row * stride + column, stride}; }
};

// A factor of a product: element (i, k) is first[i * row + k * column].
template <typename T> struct Factor {
  const T *first;
  int64_t row, column;
};

// The code for this processor.
template <typename T> struct MatrixKernels {
  // c -= a b, of rows x depth and depth x columns.
  void (*subtractProduct)(Rows<T> c, Factor<T> a, Rows<T> b, int64_t rows, int64_t columns, int64_t depth);
  // rows[i] -= factors[i * step] times `row`, of one line of columns or several.
  void (*subtractOuter)(Rows<T> rows, const T *factors, int64_t step, const T *row, int64_t count, int64_t columns);
  // sums = vector^T rows, of `count` rows.
  void (*combine)(Rows<T> rows, const T *vector, int64_t count, int64_t columns, T *sums);
  // products[i] = rows[i] . vector
  void (*multiply)(Rows<T> rows, const T *vector, int64_t count, int64_t columns, T *products);
  // (x, y) = (cosine x + sine y, cosine y - sine x)
  void (*rotate)(T *x, T *y, T cosine, T sine, int64_t columns);
};

template <typename T> const MatrixKernels<T> &chooseMatrixKernels();

} // namespace perpend::library
#endif
