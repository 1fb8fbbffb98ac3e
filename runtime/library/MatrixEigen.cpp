// matrix.eigen(a): the ascending eigenvalues [n, m] of symmetric matrices [n, m, m] of f64, of which the lower triangle
// is read, and, if there is a second result, the eigenvectors as columns. Reflections make a matrix tridiagonal;
// rotations (the implicit QL method: Bowdler, Martin, Reinsch, Wilkinson 1968) make that diagonal. NaN if they do not.
#include "library/MatrixReflection.h"
#include <algorithm>
#include <limits>

using namespace perpend::library;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon(),
                 notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr int mostSweeps = 60; // for each eigenvalue; two are usual

struct Problem {
  Matrices<const double> matrices;
  double *values, *vectors; // vectors may be null

  int64_t size() const { return matrices.rows; }
  int64_t bytes() const {
    return 3 * LineMemory::bytesOfRows(size(), size()) + 6 * LineMemory::bytesOf(size() + 1) +
           LineMemory::bytesOf(size());
  }
};

struct Tridiagonal {
  double *diagonal, *beside; // beside[i] stands between i and i + 1
  int64_t size;
};

// a = q t q^T; the reflections of q are in `vectors`.
void makeTridiagonal(Rows<double> a, const Reflector &reflector, Rows<double> vectors, double *scales, double *products,
                     const Tridiagonal &t) {
  const int64_t size = t.size, width = padded<double>(size);
  for (int64_t k = 0; k + 2 < size; ++k) {
    double *vector = vectors[k];
    memcpy(vector, a[k], static_cast<size_t>(width) * sizeof(double));
    const Reflection reflection = Reflection::of(vector, k + 1, size);
    t.diagonal[k] = a[k][k];
    t.beside[k] = reflection.image;
    scales[k] = reflection.scale;
    if (reflection.scale == 0)
      continue;
    // a - v w^T - w v^T with w = p - (scale / 2) (p . v) v and p = scale a v
    const int64_t first = k + 1, start = lineStart(first), count = size - first;
    memset(products, 0, static_cast<size_t>(width) * sizeof(double));
    reflector.kernels.multiply(a.at(first, start), vector + start, count, width - start, products + first);
    double shared = 0;
    for (int64_t i = first; i < size; ++i) {
      products[i] *= reflection.scale;
      shared += products[i] * vector[i];
    }
    for (int64_t i = first; i < size; ++i)
      products[i] -= reflection.scale / 2 * shared * vector[i];
    reflector.kernels.subtractOuter(a.at(first, start), vector + first, 1, products + start, count, width - start);
    reflector.kernels.subtractOuter(a.at(first, start), products + first, 1, vector + start, count, width - start);
  }
  for (int64_t k = size < 2 ? 0 : size - 2; k < size; ++k)
    t.diagonal[k] = a[k][k];
  if (size > 1)
    t.beside[size - 2] = a[size - 2][size - 1];
}

// Rotates rows of `vectors`, if there are any, as it does with the matrix. Whether all of it became diagonal.
class Rotations {
public:
  Rotations(const Tridiagonal &t, const MatrixKernels<double> &kernels, Rows<double> vectors)
      : d(t.diagonal), e(t.beside), size(t.size), kernels(kernels), vectors(vectors) {
    if (size > 0)
      e[size - 1] = 0;
    double largest = 0;
    for (int64_t i = 0; i < size; ++i)
      largest = std::max(largest, std::fabs(d[i]) + std::fabs(e[i]));
    least = epsilon / 4 * largest;
  }

  bool run() {
    for (int64_t first = 0; first < size; ++first)
      for (int sweeps = 0; int64_t last = endOfBlock(first) - first; ++sweeps) {
        if (sweeps == mostSweeps)
          return false;
        sweep(first, first + last);
      }
    return true;
  }

private:
  // The last row of the block that begins here: what is beside it does not count.
  int64_t endOfBlock(int64_t first) const {
    int64_t last = first;
    while (last + 1 < size && !(std::fabs(e[last]) <= least))
      ++last;
    return last;
  }

  // From the last rows of the block to the first ones, with the shift of the first eigenvalue.
  void sweep(int64_t first, int64_t last) {
    double half = (d[first + 1] - d[first]) / (2 * e[first]), root = std::sqrt(half * half + 1);
    double bulge = d[last] - d[first] + e[first] / (half + (half < 0 ? -root : root));
    double sine = 1, cosine = 1, moved = 0;
    for (int64_t i = last - 1; i >= first; --i) {
      const double beside = cosine * e[i], outside = sine * e[i];
      const double length = lengthOf(outside, bulge);
      e[i + 1] = length;
      if (length == 0) { // the block splits
        d[i + 1] -= moved;
        e[last] = 0;
        return;
      }
      sine = outside / length;
      cosine = bulge / length;
      const double kept = d[i + 1] - moved, turn = (d[i] - kept) * sine + 2 * cosine * beside;
      moved = sine * turn;
      d[i + 1] = kept + moved;
      bulge = cosine * turn - beside;
      if (vectors.first)
        kernels.rotate(vectors[i + 1], vectors[i], cosine, sine, padded<double>(size));
    }
    d[first] -= moved;
    e[first] = bulge;
    e[last] = 0;
  }

  double *d, *e;
  int64_t size;
  const MatrixKernels<double> &kernels;
  Rows<double> vectors;
  double least;
};

void storeSorted(const Problem &all, int64_t number, const double *values, Rows<double> vectors, int64_t *order,
                 bool isFound) {
  const int64_t size = all.size();
  for (int64_t i = 0; i < size; ++i)
    order[i] = i;
  if (isFound)
    std::sort(order, order + size, [=](int64_t a, int64_t b) { return values[a] < values[b]; });
  for (int64_t i = 0; i < size; ++i) {
    all.values[number * size + i] = isFound ? values[order[i]] : notANumber;
    for (int64_t j = 0; all.vectors && j < size; ++j)
      all.vectors[(number * size + j) * size + i] = isFound ? vectors[order[i]][j] : notANumber;
  }
}

void findEigenvalues(const Problem &all, int64_t number, char *memory) {
  const int64_t size = all.size();
  LineMemory room(memory);
  Rows<double> a = room.takeRows(size, size), reflections = room.takeRows(size, size), q = room.takeRows(size, size);
  double *scales = room.take(size + 1), *products = room.take(size + 1), *sums = room.take(size + 1);
  const Reflector reflector(sums, room.take(size + 1));
  const Tridiagonal t{room.take(size + 1), room.take(size + 1), size};
  const double *given = all.matrices[number];
  double largest = 0;
  for (int64_t i = 0; i < size; ++i)
    largest = largestOf(given + i * size, i + 1, largest);
  const double factor = moderatingFactor(largest);
  fillRows(a, size, size);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j <= i; ++j)
      a[i][j] = a[j][i] = factor * given[i * size + j];
  makeTridiagonal(a, reflector, reflections, scales, products, t);
  Rows<double> vectors{nullptr, a.stride};
  if (all.vectors) {
    reflector.product(reflections, scales, 1, size < 2 ? 0 : size - 2, q, size, size);
    vectors.first = a.first;
    transpose(q, vectors, size, size);
  }
  bool isFound = Rotations(t, reflector.kernels, vectors).run();
  for (int64_t i = 0; i < size; ++i) {
    isFound = isFound && t.diagonal[i] == t.diagonal[i];
    t.diagonal[i] /= factor;
  }
  storeSorted(all, number, t.diagonal, vectors, reinterpret_cast<int64_t *>(room.take(size)), isFound);
}

} // namespace

extern "C" perpend_status perpend_matrix_eigen(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  if (!isStack(a) || a.type != PERPEND_F64 || a.shape[1] != a.shape[2])
    return refuseStack(call);
  const bool hasVectors = call->outputCount > 1;
  Problem all{matricesOf<double>(a), nullptr, nullptr};
  all.values = static_cast<double *>(perpend_call_allocate(call, 0, a.shape, 2));
  all.vectors = hasVectors ? allocateLike<double>(call, 1, a) : nullptr;
  if (!all.values || (hasVectors && !all.vectors))
    return PERPEND_OUT_OF_MEMORY;
  return forEachMatrix(call, all.matrices.count, all.bytes(), 6 * a.shape[1] * a.shape[1] * a.shape[1],
                       [all](int64_t number, char *memory) { findEigenvalues(all, number, memory); });
}
