// Systems of equations and Cholesky factors of the library: what they return fulfils the equation that defines it, in
// the precision of the type.
#include "Matrices.h"
#include <gtest/gtest.h>

using namespace perpend::testing;

namespace {

constexpr int64_t sizes[] = {1, 2, 3, 8, 9, 16, 17, 31, 48, 97, 130};

template <typename T> void checkSolutions() {
  FakeCall call;
  for (int64_t size : sizes)
    for (int64_t columns : {1, 5, 40}) {
      std::vector<Matrix> a = randomMatrices<T>(3, size, size), b = randomMatrices<T>(3, size, columns);
      ASSERT_EQ(call.run(perpend_matrix_solve, {stack<T>(call, a), stack<T>(call, b)}, {typeOf<T>, PERPEND_I32}),
                PERPEND_OK);
      EXPECT_EQ(call.results[1].template as<int32_t>(), (std::vector<int32_t>{0, 0, 0}));
      std::vector<Matrix> x = unstack<T>(call.results[0]);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(distance(product(a[i], x[i]), b[i]), units<T>(size) * (1 + largest(x[i]))) << size << " " << columns;
      ASSERT_EQ(call.run(perpend_matrix_inverse, {stack<T>(call, a)}, {typeOf<T>, PERPEND_I32}), PERPEND_OK);
      x = unstack<T>(call.results[0]);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(distance(product(a[i], x[i]), unitMatrix(size)), units<T>(size) * (1 + largest(x[i]))) << size;
    }
}

TEST(MatrixTest, SolutionsAndInverses) {
  checkSolutions<float>();
  checkSolutions<double>();
}

TEST(MatrixTest, RowsAreExchanged) {
  FakeCall call;
  for (int64_t size : {2, 5, 20, 100}) {
    Matrix a(size, size); // the unit matrix from right to left
    for (int64_t i = 0; i < size; ++i)
      a(i, size - 1 - i) = static_cast<double>(i + 1);
    ASSERT_EQ(call.run(perpend_matrix_inverse, {stack<float>(call, {a})}, {PERPEND_F32, PERPEND_I32}), PERPEND_OK);
    EXPECT_LE(distance(product(a, unstack<float>(call.results[0])[0]), unitMatrix(size)), 1e-6) << size;
  }
}

TEST(MatrixTest, SingularMatricesGiveNaN) {
  FakeCall call;
  for (int64_t size : {2, 8, 30}) {
    std::vector<Matrix> a = randomMatrices<float>(2, size, size);
    for (int64_t i = 0; i < size; ++i)
      a[1](i, size - 1) = 0;
    ASSERT_EQ(call.run(perpend_matrix_inverse, {stack<float>(call, a)}, {PERPEND_F32, PERPEND_I32}), PERPEND_OK);
    EXPECT_EQ(call.results[1].as<int32_t>(), (std::vector<int32_t>{0, static_cast<int32_t>(size)}));
    std::vector<Matrix> x = unstack<float>(call.results[0]);
    EXPECT_FALSE(std::isnan(largest(x[0])));
    EXPECT_TRUE(std::all_of(x[1].numbers.begin(), x[1].numbers.end(), [](double n) { return std::isnan(n); }));
  }
}

TEST(MatrixTest, PivotsMultiplyToTheDeterminant) {
  FakeCall call;
  const Matrix a = [] {
    Matrix m(3, 3);
    m.numbers = {0, 2, 1, 1, -1, 3, 4, 0, 5};
    return m;
  }();
  ASSERT_EQ(call.run(perpend_matrix_pivots, {stack<double>(call, {a})}, {PERPEND_F64}), PERPEND_OK);
  EXPECT_EQ(call.results[0].shape, (std::vector<int64_t>{1, 3}));
  double determinant = 1;
  for (double pivot : call.results[0].as<double>())
    determinant *= pivot;
  EXPECT_NEAR(determinant, 18, 1e-12);
  for (int64_t size : {20, 101}) {
    Matrix exchanged(size, size); // one exchange of rows: -1
    for (int64_t i = 0; i < size; ++i)
      exchanged(i, i == 0 ? size - 1 : i == size - 1 ? 0 : i) = 1;
    ASSERT_EQ(call.run(perpend_matrix_pivots, {stack<float>(call, {exchanged})}, {PERPEND_F32}), PERPEND_OK);
    float sign = 1;
    for (float pivot : call.results[0].as<float>())
      sign *= pivot;
    EXPECT_EQ(sign, -1) << size;
  }
}

template <typename T> void checkTriangles() {
  FakeCall call;
  for (int64_t size : sizes)
    for (int64_t columns : {1, 16, 33})
      for (bool isUpper : {false, true})
        for (bool isUnit : {false, true}) {
          std::vector<Matrix> a = randomMatrices<T>(2, size, size), b = randomMatrices<T>(2, size, columns);
          std::vector<Matrix> triangles = a;
          for (size_t n = 0; n < a.size(); ++n)
            for (int64_t i = 0; i < size; ++i)
              for (int64_t j = 0; j < size; ++j) {
                const bool isOther = isUpper ? j < i : j > i;
                if (!isOther && i != j)
                  a[n](i, j) = static_cast<T>(a[n](i, j) / static_cast<double>(size));
                if (i == j)
                  a[n](i, j) = isUnit ? 7 : 1.5;
                triangles[n](i, j) = isOther ? 0 : i == j && isUnit ? 1 : a[n](i, j);
              }
          const std::string parameters =
              std::string(R"({"upper":)") + (isUpper ? "1" : "0") + R"(,"unit":)" + (isUnit ? "1}" : "0}");
          ASSERT_EQ(
              call.run(perpend_matrix_substitute, {stack<T>(call, a), stack<T>(call, b)}, {typeOf<T>}, parameters),
              PERPEND_OK);
          std::vector<Matrix> x = unstack<T>(call.results[0]);
          for (size_t n = 0; n < x.size(); ++n)
            EXPECT_LE(distance(product(triangles[n], x[n]), b[n]), units<T>(size) * (1 + largest(x[n])))
                << size << " " << columns << (isUpper ? " upper" : " lower") << (isUnit ? " unit" : "");
        }
}

TEST(MatrixTest, Triangles) {
  checkTriangles<float>();
  checkTriangles<double>();
}

template <typename T> void checkCholesky() {
  FakeCall call;
  for (int64_t size : sizes) {
    std::vector<Matrix> a = randomMatrices<T>(2, size, size);
    for (Matrix &matrix : a) {
      matrix = product(matrix, transposed(matrix));
      for (int64_t i = 0; i < size; ++i)
        matrix(i, i) += 1;
      for (double &number : matrix.numbers)
        number = static_cast<T>(number);
    }
    std::vector<Matrix> lower = a;
    for (Matrix &matrix : lower)
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = i + 1; j < size; ++j)
          matrix(i, j) = std::nan(""); // not read
    ASSERT_EQ(call.run(perpend_matrix_cholesky, {stack<T>(call, lower)}, {typeOf<T>, PERPEND_I32}), PERPEND_OK);
    EXPECT_EQ(call.results[1].template as<int32_t>(), (std::vector<int32_t>{0, 0}));
    std::vector<Matrix> factors = unstack<T>(call.results[0]);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_LE(distance(product(factors[i], transposed(factors[i])), a[i]), units<T>(size) * largest(a[i])) << size;
  }
}

TEST(MatrixTest, Cholesky) {
  checkCholesky<float>();
  checkCholesky<double>();
  FakeCall call;
  Matrix a = unitMatrix(20);
  a(16, 16) = -1;
  ASSERT_EQ(call.run(perpend_matrix_cholesky, {stack<float>(call, {a})}, {PERPEND_F32, PERPEND_I32}), PERPEND_OK);
  EXPECT_EQ(call.results[1].as<int32_t>(), (std::vector<int32_t>{17}));
  EXPECT_EQ(unstack<float>(call.results[0])[0](15, 15), 1);
  EXPECT_TRUE(std::isnan(unstack<float>(call.results[0])[0](16, 16)));
}

TEST(MatrixTest, EmptyStacksAndWhatIsRefused) {
  FakeCall call;
  FakeTensor none = call.tensor<float>(PERPEND_F32, {0, 3, 3}, {}),
             empty = call.tensor<float>(PERPEND_F32, {2, 0, 0}, {});
  for (const FakeTensor &a : {none, empty}) {
    EXPECT_EQ(call.run(perpend_matrix_inverse, {a}, {PERPEND_F32, PERPEND_I32}), PERPEND_OK);
    EXPECT_EQ(call.run(perpend_matrix_cholesky, {a}, {PERPEND_F32, PERPEND_I32}), PERPEND_OK);
    EXPECT_EQ(call.run(perpend_matrix_pivots, {a}, {PERPEND_F32}), PERPEND_OK);
  }
  FakeTensor wide = call.tensor<float>(PERPEND_F32, {1, 1, 2}, {1, 2});
  for (perpend_operator function : {perpend_matrix_inverse, perpend_matrix_cholesky, perpend_matrix_pivots}) {
    EXPECT_EQ(call.run(function, {wide}, {PERPEND_F32, PERPEND_I32}), PERPEND_INVALID_DATA);
    EXPECT_EQ(call.message, "expected stacks of matrices [n, rows, columns] of f32 or f64 that fit each other");
  }
  for (perpend_operator function : {perpend_matrix_solve, perpend_matrix_substitute})
    EXPECT_EQ(call.run(function, {none, empty}, {PERPEND_F32, PERPEND_I32}), PERPEND_INVALID_DATA);
}

} // namespace
