// matrix.solve(a, b): x with a x = b, and the number of the first pivot that is 0, from 1 on, or 0; x is NaN then.
// matrix.inverse(a): likewise of the unit matrix. matrix.pivots(a): the pivots of Gaussian elimination, [n, m], each
// with the sign of its exchange of rows: their product is the determinant.
// a: [n, m, m], b: [n, m, k] of f32 or f64.
#include "library/MatrixElimination.h"
#include <limits>

using namespace perpend::library;

namespace {

template <typename T> struct System {
  Matrices<const T> matrices;
  const T *right; // null: the unit matrix
  int64_t columns;
  T *solutions;
  int32_t *info;

  int64_t size() const { return matrices.rows; }
  T rightAt(int64_t number, int64_t row, int64_t column) const {
    return right ? right[(number * size() + row) * columns + column] : T(row == column);
  }
  void fail(int64_t number) const {
    for (int64_t i = 0; i < size() * columns; ++i)
      solutions[number * size() * columns + i] = std::numeric_limits<T>::quiet_NaN();
  }
};

// Few numbers: no blocks, and `width` columns of both matrices together.
template <int width, typename T> void solveSmall(const System<T> &system, int64_t number) {
  constexpr int most = 8;
  const auto size = static_cast<int>(system.size()), columns = static_cast<int>(system.columns);
  T rows[most][width] = {};
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j)
      rows[i][j] = system.matrices[number][i * size + j];
    for (int j = 0; j < columns; ++j)
      rows[i][size + j] = system.rightAt(number, i, j);
  }
  int32_t firstZero = 0;
  for (int column = 0; column < size; ++column) {
    int leading = column;
    for (int i = column + 1; i < size; ++i) {
      const T a = rows[i][column], b = rows[leading][column];
      leading = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? i : leading;
    }
    T row[width];
    const T pivot = rows[leading][column];
    if (pivot == 0 && !firstZero)
      firstZero = column + 1;
    for (int j = 0; j < width; ++j) {
      row[j] = rows[leading][j] / pivot;
      rows[leading][j] = rows[column][j];
      rows[column][j] = row[j];
    }
    for (int i = 0; i < size; ++i) {
      const T factor = i == column ? T(0) : rows[i][column];
      for (int j = 0; j < width; ++j)
        rows[i][j] -= factor * row[j];
    }
  }
  system.info[number] = firstZero;
  T *solution = system.solutions + number * size * columns;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < columns; ++j)
      solution[i * columns + j] = rows[i][size + j];
  if (firstZero)
    system.fail(number);
}

template <typename T> void solveLarge(const System<T> &system, int64_t number, char *memory) {
  const int64_t size = system.size(), columns = system.columns, first = padded<T>(size);
  const int64_t width = first + padded<T>(columns);
  const Rows<T> rows{reinterpret_cast<T *>(memory), strideOf<T>(width)};
  for (int64_t i = 0; i < size; ++i) {
    copyRow(rows[i], system.matrices[number] + i * size, size, width);
    for (int64_t j = 0; j < columns; ++j)
      rows[i][first + j] = system.rightAt(number, i, j);
  }
  Elimination<T> elimination(rows, size, width);
  system.info[number] = elimination.run(nullptr);
  if (system.info[number])
    return system.fail(number);
  elimination.substituteBack(first);
  for (int64_t i = 0; i < size; ++i)
    memcpy(system.solutions + (number * size + i) * columns, rows[i] + first, static_cast<size_t>(columns) * sizeof(T));
}

template <typename T> perpend_status solveAll(perpend_call *call, const System<T> &system) {
  const int64_t size = system.size(), together = size + system.columns;
  const int64_t operations = size * size * (size + 2 * system.columns);
  if (size <= 8 && together <= 16)
    return forEachMatrix(call, system.matrices.count, 1, operations, [system, together](int64_t number, char *) {
      if (together <= 4)
        solveSmall<4>(system, number);
      else if (together <= 8)
        solveSmall<8>(system, number);
      else
        solveSmall<16>(system, number);
    });
  const int64_t width = padded<T>(size) + padded<T>(system.columns);
  return forEachMatrix(call, system.matrices.count, size * strideOf<T>(width) * static_cast<int64_t>(sizeof(T)),
                       operations, [system](int64_t number, char *memory) { solveLarge(system, number, memory); });
}

template <typename T> perpend_status solve(perpend_call *call, const perpend_tensor *right) {
  const perpend_tensor &a = call->inputs[0];
  const int64_t columns = right ? right->shape[2] : a.shape[1], shape[] = {a.shape[0], a.shape[1], columns};
  const T *numbers = right ? static_cast<const T *>(right->data) : nullptr;
  System<T> system{matricesOf<T>(a), numbers, columns, nullptr, nullptr};
  system.solutions = static_cast<T *>(perpend_call_allocate(call, 0, shape, 3));
  system.info = static_cast<int32_t *>(perpend_call_allocate(call, 1, shape, 1));
  return system.solutions && system.info ? solveAll(call, system) : PERPEND_OUT_OF_MEMORY;
}

template <typename T> perpend_status findPivots(perpend_call *call) {
  const Matrices<const T> matrices = matricesOf<T>(call->inputs[0]);
  const int64_t size = matrices.rows, width = padded<T>(size);
  auto *pivots = static_cast<T *>(perpend_call_allocate(call, 0, call->inputs[0].shape, 2));
  if (!pivots)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t operations = size * size * size;
  return forEachMatrix(call, matrices.count, size * strideOf<T>(width) * static_cast<int64_t>(sizeof(T)), operations,
                       [=](int64_t number, char *memory) {
                         const Rows<T> rows{reinterpret_cast<T *>(memory), strideOf<T>(width)};
                         for (int64_t i = 0; i < size; ++i)
                           copyRow(rows[i], matrices[number] + i * size, size, width);
                         Elimination<T>(rows, size, width).run(pivots + number * size);
                       });
}

bool isSquare(const perpend_tensor &a) { return isStack(a) && a.shape[1] == a.shape[2]; }

} // namespace

extern "C" perpend_status perpend_matrix_solve(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0], &b = call->inputs[1];
  if (!isSquare(a) || !isStack(b) || b.type != a.type || b.shape[0] != a.shape[0] || b.shape[1] != a.shape[1])
    return refuseStack(call);
  return a.type == PERPEND_F64 ? solve<double>(call, &b) : solve<float>(call, &b);
}

extern "C" perpend_status perpend_matrix_inverse(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  if (!isSquare(a))
    return refuseStack(call);
  return a.type == PERPEND_F64 ? solve<double>(call, nullptr) : solve<float>(call, nullptr);
}

extern "C" perpend_status perpend_matrix_pivots(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  if (!isSquare(a))
    return refuseStack(call);
  return a.type == PERPEND_F64 ? findPivots<double>(call) : findPivots<float>(call);
}
