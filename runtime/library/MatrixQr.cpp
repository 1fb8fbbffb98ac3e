// matrix.qr(a): orthogonal q [n, m, l] and upper triangular r [n, l, k] with q r = a [n, m, k], l = m or min(m, k); of
// f64. The signs are LAPACK's: a column's image has the opposite sign of its first element.
#include "library/MatrixReflection.h"

using namespace perpend::library;

namespace {

struct Factors {
  Matrices<const double> matrices;
  double *q, *r;
  int64_t kept;

  int64_t reflections() const { return matrices.rows < matrices.columns ? matrices.rows : matrices.columns; }
  int64_t longest() const {
    const int64_t most = matrices.rows > matrices.columns ? matrices.rows : matrices.columns;
    return most > kept ? most : kept;
  }
  int64_t bytes() const {
    return LineMemory::bytesOfRows(matrices.rows, matrices.columns) +
           LineMemory::bytesOfRows(reflections(), matrices.rows) + LineMemory::bytesOfRows(matrices.rows, kept) +
           3 * LineMemory::bytesOf(longest());
  }
};

void factor(const Factors &all, int64_t number, char *memory) {
  const int64_t rows = all.matrices.rows, columns = all.matrices.columns, steps = all.reflections();
  LineMemory room(memory);
  const Rows<double> a = room.takeRows(rows, columns), vectors = room.takeRows(steps, rows),
                     q = room.takeRows(rows, all.kept);
  double *scales = room.take(all.longest()), *sums = room.take(all.longest());
  const Reflector reflector(sums, room.take(all.longest()));
  for (int64_t i = 0; i < rows; ++i)
    copyRow(a[i], all.matrices[number] + i * columns, columns, padded<double>(columns));
  for (int64_t j = 0; j < steps; ++j) {
    double *vector = vectors[j];
    for (int64_t i = 0; i < rows; ++i)
      vector[i] = a[i][j];
    const Reflection reflection = Reflection::of(vector, j, rows);
    scales[j] = reflection.scale;
    reflector.fromLeft(vector, reflection.scale, a, j, rows, lineStart(j), columns);
    a[j][j] = reflection.image;
    for (int64_t i = j + 1; i < rows; ++i)
      a[i][j] = 0;
  }
  reflector.product(vectors, scales, 0, steps, q, rows, all.kept);
  for (int64_t i = 0; i < rows; ++i)
    memcpy(all.q + (number * rows + i) * all.kept, q[i], static_cast<size_t>(all.kept) * sizeof(double));
  for (int64_t i = 0; i < all.kept; ++i)
    memcpy(all.r + (number * all.kept + i) * columns, a[i], static_cast<size_t>(columns) * sizeof(double));
}

} // namespace

extern "C" perpend_status perpend_matrix_qr(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  const int64_t *qShape = perpend_call_expected_shape(call, 0);
  if (!isStack(a) || a.type != PERPEND_F64)
    return refuseStack(call);
  const int64_t kept = qShape[2], rShape[] = {a.shape[0], kept, a.shape[2]};
  const int64_t least = a.shape[1] < a.shape[2] ? a.shape[1] : a.shape[2];
  if (qShape[0] != a.shape[0] || qShape[1] != a.shape[1] || (kept != least && kept != a.shape[1]))
    return refuseStack(call);
  Factors all{matricesOf<double>(a), nullptr, nullptr, kept};
  all.q = static_cast<double *>(perpend_call_allocate(call, 0, qShape, 3));
  all.r = static_cast<double *>(perpend_call_allocate(call, 1, rShape, 3));
  if (!all.q || !all.r)
    return PERPEND_OUT_OF_MEMORY;
  return forEachMatrix(call, all.matrices.count, all.bytes(), 4 * a.shape[1] * a.shape[2] * least,
                       [all](int64_t number, char *memory) { factor(all, number, memory); });
}
