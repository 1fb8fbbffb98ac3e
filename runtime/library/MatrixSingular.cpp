// matrix.singular(a): the descending singular values [n, k] of matrices [n, m, k] of f64 with m >= k and, if there are
// three results, orthogonal u [n, m, l], l = m or k, and v^T [n, k, k], with a = u diag(s) v^T. Reflections from both
// sides make a matrix bidiagonal; rotations (Golub, Reinsch 1970) make that diagonal. NaN if they do not.
#include "library/MatrixReflection.h"
#include <algorithm>
#include <limits>

using namespace perpend::library;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon(),
                 notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr int mostSweeps = 75; // for each singular value; two are usual

struct Problem {
  Matrices<const double> matrices;
  double *left, *values, *right; // left and right may be null
  int64_t kept;

  int64_t rows() const { return matrices.rows; }
  int64_t columns() const { return matrices.columns; }
  int64_t bytes() const {
    return LineMemory::bytesOfRows(rows(), columns()) + LineMemory::bytesOfRows(columns(), rows()) +
           LineMemory::bytesOfRows(columns(), columns()) * 3 + LineMemory::bytesOfRows(rows(), kept) +
           LineMemory::bytesOfRows(kept, rows()) + 8 * LineMemory::bytesOf(rows() + 1);
  }
};

struct Reflections {
  Rows<double> vectors;
  double *scales;
};

// diagonal[i], and beside[i] between i - 1 and i; beside[0] is 0.
struct Bidiagonal {
  double *diagonal, *beside;
  int64_t size;
};

void makeBidiagonal(Rows<double> a, int64_t rows, const Reflector &reflector, const Reflections &left,
                    const Reflections &right, const Bidiagonal &b) {
  const int64_t columns = b.size, width = padded<double>(columns);
  b.beside[0] = 0;
  for (int64_t j = 0; j < columns; ++j) {
    double *column = left.vectors[j];
    for (int64_t i = 0; i < rows; ++i)
      column[i] = a[i][j];
    const Reflection fromLeft = Reflection::of(column, j, rows);
    left.scales[j] = fromLeft.scale;
    b.diagonal[j] = fromLeft.image;
    reflector.fromLeft(column, fromLeft.scale, a, j, rows, lineStart(j), columns);
    if (j + 1 >= columns)
      continue;
    double *row = right.vectors[j];
    memcpy(row, a[j], static_cast<size_t>(width) * sizeof(double));
    const Reflection fromRight = Reflection::of(row, j + 1, columns);
    right.scales[j] = fromRight.scale;
    b.beside[j + 1] = fromRight.image;
    reflector.fromRight(row, fromRight.scale, a, j + 1, rows, lineStart(j + 1), columns);
  }
}

// Rows of u^T and v^T turn as columns of u and v do.
class Rotations {
public:
  Rotations(const Bidiagonal &b, const MatrixKernels<double> &kernels, Rows<double> left, int64_t leftColumns,
            Rows<double> right)
      : d(b.diagonal), e(b.beside), size(b.size), kernels(kernels), left(left), right(right),
        leftWidth(padded<double>(leftColumns)) {
    double largest = 0;
    for (int64_t i = 0; i < size; ++i)
      largest = std::max(largest, std::fabs(d[i]) + std::fabs(e[i]));
    least = epsilon * largest;
  }

  // Whether all of it became diagonal.
  bool run() {
    for (int64_t last = size - 1; last >= 0; --last)
      for (int sweeps = 0;; ++sweeps) {
        int64_t first = startOfBlock(last);
        if (first > 0 && !(std::fabs(e[first]) <= least)) {
          cancel(first, last);
          continue;
        }
        if (first == last)
          break;
        if (sweeps == mostSweeps)
          return false;
        sweep(first, last);
      }
    for (int64_t i = 0; i < size; ++i)
      makePositive(i);
    return true;
  }

private:
  // The first row of the block that ends here: what is beside it does not count, or the diagonal before it does not.
  int64_t startOfBlock(int64_t last) const {
    int64_t first = last;
    while (first > 0 && !(std::fabs(e[first]) <= least) && !(std::fabs(d[first - 1]) <= least))
      --first;
    return first;
  }

  // A diagonal element before `first` that is 0: what is beside it goes along the rows, and becomes 0.
  void cancel(int64_t first, int64_t last) {
    double cosine = 0, sine = 1;
    for (int64_t i = first; i <= last; ++i) {
      const double outside = sine * e[i];
      e[i] *= cosine;
      if (std::fabs(outside) <= least)
        break;
      const double length = lengthOf(outside, d[i]);
      cosine = d[i] / length;
      sine = -outside / length;
      d[i] = length;
      turn(left, first - 1, i, cosine, sine, leftWidth);
    }
    e[first] = 0;
  }

  void sweep(int64_t first, int64_t last) {
    const double end = d[last], before = d[last - 1], beside = e[last], farther = last - 1 > first ? e[last - 1] : 0;
    double x = d[first];
    double ratio = ((before - end) * (before + end) + (farther - beside) * (farther + beside)) / (2 * beside * before);
    const double root = std::sqrt(ratio * ratio + 1);
    ratio += ratio < 0 ? -root : root;
    double bulge = ((x - end) * (x + end) + beside * (before / ratio - beside)) / x, cosine = 1, sine = 1;
    for (int64_t i = first; i < last; ++i) {
      double outside = sine * e[i + 1], inside = cosine * e[i + 1], next = d[i + 1];
      double length = lengthOf(bulge, outside);
      e[i] = i > first ? length : e[i];
      cosine = length == 0 ? 1 : bulge / length;
      sine = length == 0 ? 0 : outside / length;
      bulge = x * cosine + inside * sine;
      inside = inside * cosine - x * sine;
      outside = next * sine;
      next *= cosine;
      turn(right, i, i + 1, cosine, sine, padded<double>(size));
      length = lengthOf(bulge, outside);
      d[i] = length;
      if (length != 0) {
        cosine = bulge / length;
        sine = outside / length;
      }
      bulge = cosine * inside + sine * next;
      x = cosine * next - sine * inside;
      turn(left, i, i + 1, cosine, sine, leftWidth);
    }
    e[last] = bulge;
    d[last] = x;
  }

  void makePositive(int64_t i) {
    if (!(d[i] < 0))
      return;
    d[i] = -d[i];
    for (int64_t j = 0; right.first && j < size; ++j)
      right[i][j] = -right[i][j];
  }

  void turn(Rows<double> rows, int64_t i, int64_t j, double cosine, double sine, int64_t width) const {
    if (rows.first)
      kernels.rotate(rows[i], rows[j], cosine, sine, width);
  }

  double *d, *e;
  int64_t size;
  const MatrixKernels<double> &kernels;
  Rows<double> left, right;
  int64_t leftWidth;
  double least;
};

struct Found {
  const double *values;
  Rows<double> left, right;
  bool isFound;
};

void storeSorted(const Problem &all, int64_t number, const Found &found, int64_t *order) {
  const int64_t rows = all.rows(), columns = all.columns();
  for (int64_t i = 0; i < columns; ++i)
    order[i] = i;
  if (found.isFound)
    std::sort(order, order + columns, [&](int64_t a, int64_t b) { return found.values[a] > found.values[b]; });
  auto valid = [&](double value) { return found.isFound ? value : notANumber; };
  for (int64_t i = 0; i < columns; ++i)
    all.values[number * columns + i] = valid(found.values[order[i]]);
  for (int64_t i = 0; all.left && i < rows; ++i)
    for (int64_t j = 0; j < all.kept; ++j)
      all.left[(number * rows + i) * all.kept + j] = valid(found.left[j < columns ? order[j] : j][i]);
  for (int64_t i = 0; all.right && i < columns; ++i)
    for (int64_t j = 0; j < columns; ++j)
      all.right[(number * columns + i) * columns + j] = valid(found.right[order[i]][j]);
}

void findSingularValues(const Problem &all, int64_t number, char *memory) {
  const int64_t rows = all.rows(), columns = all.columns();
  LineMemory room(memory);
  const Rows<double> a = room.takeRows(rows, columns);
  const Reflections left{room.takeRows(columns, rows), room.take(rows + 1)},
      right{room.takeRows(columns, columns), room.take(rows + 1)};
  const Bidiagonal b{room.take(rows + 1), room.take(rows + 1), columns};
  double *sums = room.take(rows + 1);
  const Reflector reflector(sums, room.take(rows + 1));
  auto *order = reinterpret_cast<int64_t *>(room.take(rows + 1));
  const double factor = moderatingFactor(largestOf(all.matrices[number], rows * columns, 0));
  for (int64_t i = 0; i < rows; ++i) {
    copyRow(a[i], all.matrices[number] + i * columns, columns, padded<double>(columns));
    for (int64_t j = 0; j < columns; ++j)
      a[i][j] *= factor;
  }
  makeBidiagonal(a, rows, reflector, left, right, b);
  Found found{b.diagonal, {nullptr, 0}, {nullptr, 0}, false};
  if (all.left) {
    const Rows<double> u = room.takeRows(rows, all.kept), v = room.takeRows(columns, columns);
    found.left = room.takeRows(all.kept, rows);
    found.right = room.takeRows(columns, columns);
    reflector.product(left.vectors, left.scales, 0, columns, u, rows, all.kept);
    reflector.product(right.vectors, right.scales, 1, columns - 1, v, columns, columns);
    transpose(u, found.left, rows, all.kept);
    transpose(v, found.right, columns, columns);
  }
  found.isFound = Rotations(b, reflector.kernels, found.left, rows, found.right).run();
  for (int64_t i = 0; i < columns; ++i) {
    found.isFound = found.isFound && b.diagonal[i] == b.diagonal[i];
    b.diagonal[i] /= factor;
  }
  storeSorted(all, number, found, order);
}

} // namespace

extern "C" perpend_status perpend_matrix_singular(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0];
  const bool hasVectors = call->outputCount > 1;
  if (!isStack(a) || a.type != PERPEND_F64 || a.shape[1] < a.shape[2])
    return refuseStack(call);
  const int64_t count = a.shape[0], rows = a.shape[1], columns = a.shape[2];
  const int64_t kept = hasVectors ? perpend_call_expected_shape(call, 1)[2] : columns;
  const int64_t values[] = {count, columns}, left[] = {count, rows, kept}, right[] = {count, columns, columns};
  if (kept != rows && kept != columns)
    return refuseStack(call);
  Problem all{matricesOf<double>(a), nullptr, nullptr, nullptr, kept};
  all.values = static_cast<double *>(perpend_call_allocate(call, 0, values, 2));
  if (hasVectors) {
    all.left = static_cast<double *>(perpend_call_allocate(call, 1, left, 3));
    all.right = static_cast<double *>(perpend_call_allocate(call, 2, right, 3));
  }
  if (!all.values || (hasVectors && (!all.left || !all.right)))
    return PERPEND_OUT_OF_MEMORY;
  if (columns == 0 && hasVectors) { // u is any orthogonal matrix
    for (int64_t i = 0; i < count * rows * kept; ++i)
      all.left[i] = i / kept % rows == i % kept;
    return PERPEND_OK;
  }
  if (columns == 0)
    return PERPEND_OK;
  return forEachMatrix(call, count, all.bytes(), 12 * rows * columns * columns,
                       [all](int64_t number, char *memory) { findSingularValues(all, number, memory); });
}
