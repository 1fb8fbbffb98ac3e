// matrix.substitute(a, b): x with a x = b, of the lower or (parameter `upper`) the upper triangle of a, with ones on
// its diagonal with `unit`. matrix.cholesky(a): lower l with l l^T = a, of the lower triangle of a, and the number of
// the first minor that is not positive, from 1 on, or 0; l is NaN from there on. a: [n, m, m], b: [n, m, k] of f32 or
// f64.
#include "library/MatrixStack.h"
#include <cmath>

using namespace perpend::library;

namespace {

constexpr int64_t block = 16;

template <typename T> struct Substitution {
  const MatrixKernels<T> *kernels;
  const T *matrix; // of one triangle
  int64_t size;
  bool isUpper, isUnit;
  Rows<T> rows; // of right-hand sides, which become the solutions
  int64_t columns;

  const T *at(int64_t row, int64_t column) const { return matrix + row * size + column; }

  void divide(int64_t row) const {
    for (int64_t j = 0; j < columns && !isUnit; ++j)
      rows[row][j] /= *at(row, row);
  }

  // Subtracts what the solved rows [start, end) contribute to rows [first, last).
  void subtract(int64_t first, int64_t last, int64_t start, int64_t end) const {
    kernels->subtractProduct(rows.at(first, 0), {at(first, start), size, 1}, rows.at(start, 0), last - first, columns,
                             end - start);
  }

  void run() const {
    for (int64_t done = 0; done < size; done += block) {
      const int64_t more = done + block < size ? done + block : size;
      for (int64_t k = done; k < more; ++k) {
        const int64_t row = isUpper ? size - 1 - k : k, left = more - k - 1, next = isUpper ? row - left : row + 1;
        divide(row);
        kernels->subtractOuter(rows.at(next, 0), at(next, row), size, rows[row], left, columns);
      }
      if (isUpper)
        subtract(0, size - more, size - more, size - done);
      else
        subtract(more, size, done, more);
    }
  }
};

template <typename T> perpend_status substitute(perpend_call *call) {
  const Matrices<const T> matrices = matricesOf<T>(call->inputs[0]), right = matricesOf<T>(call->inputs[1]);
  auto *solutions = allocateLike<T>(call, 0, call->inputs[1]);
  if (!solutions)
    return PERPEND_OUT_OF_MEMORY;
  Substitution<T> all{&chooseMatrixKernels<T>(),
                      nullptr,
                      matrices.rows,
                      perpend_call_integer(call, "upper", 0) != 0,
                      perpend_call_integer(call, "unit", 0) != 0,
                      {},
                      padded<T>(right.columns)};
  const int64_t stride = strideOf<T>(right.columns), size = matrices.rows, columns = right.columns;
  return forEachMatrix(call, matrices.count, size * stride * static_cast<int64_t>(sizeof(T)), size * size * columns,
                       [=](int64_t number, char *memory) {
                         Substitution<T> one = all;
                         one.matrix = matrices[number];
                         one.rows = {reinterpret_cast<T *>(memory), stride};
                         for (int64_t i = 0; i < size; ++i)
                           copyRow(one.rows[i], right[number] + i * columns, columns, one.columns);
                         one.run();
                         for (int64_t i = 0; i < size; ++i)
                           memcpy(solutions + (number * size + i) * columns, one.rows[i],
                                  static_cast<size_t>(columns) * sizeof(T));
                       });
}

// u^T u = a in place, of the upper triangle; what stands below the diagonal has no meaning.
template <typename T> int32_t factorUpper(const MatrixKernels<T> &kernels, Rows<T> rows, int64_t size) {
  constexpr int64_t together = 48;
  const int64_t width = padded<T>(size);
  int32_t wrong = 0;
  for (int64_t start = 0; start < size; start += block) {
    const int64_t end = start + block < size ? start + block : size;
    for (int64_t row = start; row < end; ++row) {
      const T pivot = rows[row][row];
      if (!(pivot > 0) && !wrong)
        wrong = static_cast<int32_t>(row + 1);
      const T root = std::sqrt(pivot);
      for (int64_t j = start; j < width; ++j)
        rows[row][j] /= root;
      kernels.subtractOuter(rows.at(row + 1, start), rows[row] + row + 1, 1, rows[row] + start, end - row - 1,
                            width - start);
    }
    for (int64_t row = end; row < size; row += together) {
      const int64_t first = row / lineOf<T> * lineOf<T>, left = size - row;
      kernels.subtractProduct(rows.at(row, first), {rows[start] + row, 1, rows.stride}, rows.at(start, first),
                              left < together ? left : together, width - first, end - start);
    }
  }
  return wrong;
}

template <typename T> perpend_status factor(perpend_call *call) {
  const Matrices<const T> matrices = matricesOf<T>(call->inputs[0]);
  const int64_t size = matrices.rows, stride = strideOf<T>(size);
  auto *factors = allocateLike<T>(call, 0, call->inputs[0]);
  auto *info = static_cast<int32_t *>(perpend_call_allocate(call, 1, call->inputs[0].shape, 1));
  if (!factors || !info)
    return PERPEND_OUT_OF_MEMORY;
  const MatrixKernels<T> &kernels = chooseMatrixKernels<T>();
  return forEachMatrix(call, matrices.count, size * stride * static_cast<int64_t>(sizeof(T)), size * size * size / 3,
                       [=, &kernels](int64_t number, char *memory) {
                         const Rows<T> rows{reinterpret_cast<T *>(memory), stride};
                         const T *given = matrices[number];
                         T *result = factors + number * size * size;
                         for (int64_t i = 0; i < size; ++i)
                           for (int64_t j = 0; j < stride; ++j)
                             rows[i][j] = j >= i && j < size ? given[j * size + i] : T(0);
                         info[number] = factorUpper(kernels, rows, size);
                         for (int64_t i = 0; i < size; ++i)
                           for (int64_t j = 0; j < size; ++j)
                             result[i * size + j] = j <= i ? rows[j][i] : T(0);
                       });
}

bool isSquare(const perpend_tensor &a) { return isStack(a) && a.shape[1] == a.shape[2]; }

} // namespace

extern "C" perpend_status perpend_matrix_substitute(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0], &b = call->inputs[1];
  if (!isSquare(a) || !isStack(b) || b.type != a.type || b.shape[0] != a.shape[0] || b.shape[1] != a.shape[1])
    return refuseStack(call);
  return a.type == PERPEND_F64 ? substitute<double>(call) : substitute<float>(call);
}

extern "C" perpend_status perpend_matrix_cholesky(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  if (!isSquare(a))
    return refuseStack(call);
  return a.type == PERPEND_F64 ? factor<double>(call) : factor<float>(call);
}
