// Matrices in f64, and stacks of them as operands of library calls.
#ifndef PERPEND_TEST_MATRICES_H
#define PERPEND_TEST_MATRICES_H
#include "FakeCall.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace perpend::testing {

template <typename T> constexpr perpend_type typeOf = sizeof(T) == 4 ? PERPEND_F32 : PERPEND_F64;

// [rows, columns] in f64.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> numbers;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), numbers(static_cast<size_t>(rows * columns)) {}
  double &operator()(int64_t i, int64_t j) { return numbers[static_cast<size_t>(i * columns + j)]; }
  double operator()(int64_t i, int64_t j) const { return numbers[static_cast<size_t>(i * columns + j)]; }
};

inline Matrix product(const Matrix &a, const Matrix &b) {
  Matrix c(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k)
        c(i, j) += a(i, k) * b(k, j);
  return c;
}

inline Matrix transposed(const Matrix &a) {
  Matrix b(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j)
      b(j, i) = a(i, j);
  return b;
}

inline Matrix unitMatrix(int64_t size) {
  Matrix unit(size, size);
  for (int64_t i = 0; i < size; ++i)
    unit(i, i) = 1;
  return unit;
}

inline double largest(const Matrix &a) {
  double most = 0;
  for (double number : a.numbers)
    most = std::isnan(number) ? number : std::max(most, std::abs(number));
  return most;
}

inline double distance(const Matrix &a, const Matrix &b) {
  Matrix difference = a;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    difference.numbers[i] -= b.numbers[i];
  return largest(difference);
}

// Matrices of a stack; random numbers that T has.
template <typename T> std::vector<Matrix> randomMatrices(int64_t count, int64_t rows, int64_t columns) {
  std::mt19937 random(static_cast<unsigned>(rows * 100 + columns));
  std::normal_distribution<double> normal;
  std::vector<Matrix> matrices(static_cast<size_t>(count), Matrix(rows, columns));
  for (Matrix &matrix : matrices)
    for (double &number : matrix.numbers)
      number = static_cast<T>(normal(random));
  return matrices;
}

template <typename T> FakeTensor stack(const FakeCall &call, const std::vector<Matrix> &matrices) {
  std::vector<T> numbers;
  for (const Matrix &matrix : matrices)
    for (double number : matrix.numbers)
      numbers.push_back(static_cast<T>(number));
  return call.tensor(typeOf<T>, {static_cast<int64_t>(matrices.size()), matrices[0].rows, matrices[0].columns},
                     numbers);
}

template <typename T> std::vector<Matrix> unstack(const FakeTensor &tensor) {
  std::vector<T> numbers = tensor.as<T>();
  const int64_t rows = tensor.shape[1], columns = tensor.shape[2];
  std::vector<Matrix> matrices(static_cast<size_t>(tensor.shape[0]), Matrix(rows, columns));
  size_t next = 0;
  for (Matrix &matrix : matrices)
    for (double &number : matrix.numbers)
      number = static_cast<double>(numbers[next++]);
  return matrices;
}

// Units of the last place of T in a sum over `size` numbers.
template <typename T> double units(int64_t size) {
  return std::numeric_limits<T>::epsilon() * 8 * static_cast<double>(size + 4);
}

} // namespace perpend::testing
#endif
