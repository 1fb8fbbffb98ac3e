// matrix.lu(a): L (below its diagonal of ones) and U in one matrix like a; for each pivot the row, from 1 on, that its
// row was exchanged with, [n, least of m and k] of i32; and the number of the first pivot that is 0, from 1 on, or 0.
// a: [n, m, k] of f32 or f64.
#include "library/MatrixElimination.h"

using namespace perpend::library;

template <typename T> static perpend_status factor(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  const Matrices<const T> matrices = matricesOf<T>(a);
  const int64_t height = matrices.rows, columns = matrices.columns, count = height < columns ? height : columns;
  const int64_t width = padded<T>(columns), steps[] = {a.shape[0], count};
  T *factors = allocateLike<T>(call, 0, a);
  auto *exchanges = static_cast<int32_t *>(perpend_call_allocate(call, 1, steps, 2));
  auto *info = static_cast<int32_t *>(perpend_call_allocate(call, 2, steps, 1));
  if (!factors || !exchanges || !info)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t bytes = height * strideOf<T>(width) * static_cast<int64_t>(sizeof(T));
  return forEachMatrix(call, matrices.count, bytes, count * height * columns, [=](int64_t number, char *memory) {
    const Rows<T> rows{reinterpret_cast<T *>(memory), strideOf<T>(width)};
    for (int64_t i = 0; i < height; ++i)
      copyRow(rows[i], matrices[number] + i * columns, columns, width);
    info[number] = Elimination<T>(rows, height, count, width).run(nullptr, exchanges + number * count);
    for (int64_t i = 0; i < height; ++i)
      memcpy(factors + (number * height + i) * columns, rows[i], static_cast<size_t>(columns) * sizeof(T));
  });
}

extern "C" perpend_status perpend_matrix_lu(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  if (!isStack(a))
    return refuseStack(call);
  return a.type == PERPEND_F64 ? factor<double>(call) : factor<float>(call);
}
