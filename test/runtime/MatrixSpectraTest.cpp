// QR, eigenvalues and singular values of the library: the factors are orthogonal, and their product is the matrix.
#include "Matrices.h"
#include <gtest/gtest.h>

using namespace perpend::testing;

namespace {

Matrix diagonalMatrix(const double *values, int64_t rows, int64_t columns) {
  Matrix diagonal(rows, columns);
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    diagonal(i, i) = values[i];
  return diagonal;
}

void expectOrthogonal(const Matrix &q) {
  EXPECT_LE(distance(product(transposed(q), q), unitMatrix(q.columns)), units<double>(q.rows)) << q.rows;
}

void checkQr(const Matrix &a, int64_t kept) {
  FakeCall call;
  ASSERT_EQ(
      call.run(perpend_matrix_qr, {stack<double>(call, {a, a})}, {PERPEND_F64, PERPEND_F64}, "{}", {2, a.rows, kept}),
      PERPEND_OK);
  Matrix q = unstack<double>(call.results[0])[1], r = unstack<double>(call.results[1])[1];
  expectOrthogonal(q);
  EXPECT_LE(distance(product(q, r), a), units<double>(a.rows) * (1 + largest(a))) << a.rows << " x " << a.columns;
  for (int64_t i = 0; i < r.rows; ++i)
    for (int64_t j = 0; j < std::min(i, r.columns); ++j)
      EXPECT_EQ(r(i, j), 0);
}

TEST(MatrixSpectraTest, OrthogonalAndTriangular) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {7, 3}, {3, 7}, {33, 33}, {64, 20}, {20, 65}})
    for (int64_t kept : {rows, std::min(rows, columns)}) {
      checkQr(randomMatrices<double>(1, rows, columns)[0], kept);
      checkQr(Matrix(rows, columns), kept); // zeros
      checkQr(diagonalMatrix(std::vector<double>(100, -3).data(), rows, columns), kept);
    }
}

void checkEigen(const Matrix &a) {
  FakeCall call;
  Matrix lower = a;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = i + 1; j < a.rows; ++j)
      lower(i, j) = std::nan(""); // not read
  FakeTensor given = stack<double>(call, {lower, lower});
  ASSERT_EQ(call.run(perpend_matrix_eigen, {given}, {PERPEND_F64, PERPEND_F64}), PERPEND_OK);
  std::vector<double> values = call.results[0].as<double>();
  Matrix vectors = unstack<double>(call.results[1])[1];
  const double *mine = values.data() + a.rows, unit = units<double>(a.rows) * (1 + largest(a) * 10);
  EXPECT_TRUE(std::is_sorted(mine, mine + a.rows));
  expectOrthogonal(vectors);
  EXPECT_LE(distance(product(a, vectors), product(vectors, diagonalMatrix(mine, a.rows, a.rows))), unit) << a.rows;
  ASSERT_EQ(call.run(perpend_matrix_eigen, {given}, {PERPEND_F64}), PERPEND_OK);
  std::vector<double> alone = call.results[0].as<double>();
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(alone[i], values[i], unit);
}

TEST(MatrixSpectraTest, EigenvaluesOfSymmetricMatrices) {
  for (int64_t size : {1, 2, 3, 5, 16, 31, 64, 100}) {
    Matrix a = randomMatrices<double>(1, size, size)[0];
    Matrix symmetric = product(a, unitMatrix(size));
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j)
        symmetric(i, j) = a(i, j) + a(j, i);
    checkEigen(symmetric);
    checkEigen(product(a, transposed(a)));
    checkEigen(unitMatrix(size));
    checkEigen(Matrix(size, size)); // zeros
    Matrix ones(size, size);        // all eigenvalues but one are 0
    std::fill(ones.numbers.begin(), ones.numbers.end(), 1);
    checkEigen(ones);
    Matrix wide = unitMatrix(size); // from 1e-12 to 1e12
    for (int64_t i = 0; i < size; ++i)
      wide(i, i) = std::pow(10, static_cast<double>(24 * i) / static_cast<double>(size) - 12);
    checkEigen(wide);
  }
}

void checkSingular(const Matrix &a, int64_t kept) {
  FakeCall call;
  FakeTensor given = stack<double>(call, {a, a});
  // FakeCall has one expected shape, of which the extents at 0 and 2 serve here.
  ASSERT_EQ(
      call.run(perpend_matrix_singular, {given}, {PERPEND_F64, PERPEND_F64, PERPEND_F64}, "{}", {2, a.rows, kept}),
      PERPEND_OK);
  std::vector<double> values = call.results[0].as<double>();
  Matrix left = unstack<double>(call.results[1])[1], right = unstack<double>(call.results[2])[1];
  const double *mine = values.data() + a.columns, unit = units<double>(a.rows) * (1 + largest(a) * 10);
  EXPECT_TRUE(std::is_sorted(mine, mine + a.columns, std::greater<>()) && (!a.columns || mine[a.columns - 1] >= 0));
  expectOrthogonal(left);
  expectOrthogonal(transposed(right));
  EXPECT_LE(distance(product(product(left, diagonalMatrix(mine, kept, a.columns)), right), a), unit)
      << a.rows << " x " << a.columns << ", " << kept;
  ASSERT_EQ(call.run(perpend_matrix_singular, {given}, {PERPEND_F64}), PERPEND_OK);
  std::vector<double> alone = call.results[0].as<double>();
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(alone[i], values[i], unit);
}

TEST(MatrixSpectraTest, SingularValues) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {3, 3}, {5, 1}, {9, 4}, {32, 32}, {64, 64}, {70, 33}})
    for (int64_t kept : {rows, columns}) {
      Matrix a = randomMatrices<double>(1, rows, columns)[0];
      checkSingular(a, kept);
      checkSingular(Matrix(rows, columns), kept); // zeros
      checkSingular(diagonalMatrix(std::vector<double>(100, -2).data(), rows, columns), kept);
      Matrix ones(rows, columns);
      std::fill(ones.numbers.begin(), ones.numbers.end(), 1);
      checkSingular(ones, kept);
      for (int64_t i = 0; i < rows; ++i)
        a(i, columns / 2) = 0; // one value is 0
      checkSingular(a, kept);
      Matrix chain(rows, columns); // bidiagonal, with a 0 on its diagonal
      for (int64_t i = 0; i < columns; ++i) {
        chain(i, i) = i == columns / 2 ? 0 : 1;
        if (i + 1 < columns)
          chain(i, i + 1) = 2;
      }
      checkSingular(chain, kept);
    }
}

TEST(MatrixSpectraTest, NaNEndsAndGivesNaN) {
  FakeCall call;
  Matrix a = unitMatrix(12);
  a(5, 3) = a(3, 5) = std::nan("");
  FakeTensor given = stack<double>(call, {a});
  ASSERT_EQ(call.run(perpend_matrix_eigen, {given}, {PERPEND_F64}), PERPEND_OK);
  EXPECT_TRUE(std::isnan(call.results[0].as<double>()[0]));
  ASSERT_EQ(call.run(perpend_matrix_singular, {given}, {PERPEND_F64}), PERPEND_OK);
  EXPECT_TRUE(std::isnan(call.results[0].as<double>()[0]));
}

TEST(MatrixSpectraTest, EmptyStacksAndWhatIsRefused) {
  FakeCall call;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{0, 3, 3}, {2, 0, 0}}) {
    FakeTensor a = call.tensor<double>(PERPEND_F64, shape, {});
    EXPECT_EQ(call.run(perpend_matrix_qr, {a}, {PERPEND_F64, PERPEND_F64}, "{}", shape), PERPEND_OK);
    EXPECT_EQ(call.run(perpend_matrix_eigen, {a}, {PERPEND_F64, PERPEND_F64}), PERPEND_OK);
    EXPECT_EQ(call.run(perpend_matrix_singular, {a}, {PERPEND_F64, PERPEND_F64, PERPEND_F64}, "{}", shape), PERPEND_OK);
  }
  FakeTensor single = call.tensor<float>(PERPEND_F32, {1, 1, 2}, {1, 2});
  for (perpend_operator function : {perpend_matrix_qr, perpend_matrix_eigen, perpend_matrix_singular})
    EXPECT_EQ(call.run(function, {single}, {PERPEND_F64, PERPEND_F64}, "{}", {1, 1, 2}), PERPEND_INVALID_DATA);
}

} // namespace
