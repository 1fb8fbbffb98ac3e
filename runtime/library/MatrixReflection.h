// Householder's reflections 1 - scale v v^T of f64, which make a vector a multiple of the first unit vector.
#ifndef PERPEND_RUNTIME_LIBRARY_MATRIXREFLECTION_H
#define PERPEND_RUNTIME_LIBRARY_MATRIXREFLECTION_H
#include "library/MatrixStack.h"
#include <cmath>

namespace perpend::library {

// Memory of a unit, handed out in lines.
class LineMemory {
public:
  explicit LineMemory(char *memory) : next(reinterpret_cast<double *>(memory)) {}

  double *take(int64_t numbers) {
    double *taken = next;
    next += padded<double>(numbers);
    return taken;
  }
  Rows<double> takeRows(int64_t rows, int64_t columns) {
    const int64_t stride = strideOf<double>(columns);
    return {take(rows * stride), stride};
  }
  static int64_t bytesOf(int64_t numbers) { return padded<double>(numbers) * 8; }
  static int64_t bytesOfRows(int64_t rows, int64_t columns) { return bytesOf(rows * strideOf<double>(columns)); }

private:
  double *next;
};

// The first column of a line that has this one.
inline int64_t lineStart(int64_t column) { return column / lineOf<double> * lineOf<double>; }

inline void fillRows(Rows<double> rows, int64_t count, int64_t columns) {
  for (int64_t i = 0; i < count; ++i)
    memset(rows[i], 0, static_cast<size_t>(padded<double>(columns)) * sizeof(double));
}

inline void makeUnit(Rows<double> rows, int64_t count, int64_t columns) {
  fillRows(rows, count, columns);
  for (int64_t i = 0; i < count && i < columns; ++i)
    rows[i][i] = 1;
}

inline void transpose(Rows<double> from, Rows<double> to, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[j][i] = from[i][j];
}

// Sums of squares that have all their digits.
constexpr double leastSum = 1e-280, mostSum = 1e280;

// sqrt(x^2 + y^2)
inline double lengthOf(double x, double y) {
  const double sum = x * x + y * y;
  if (sum > leastSum && sum < mostSum)
    return std::sqrt(sum);
  const double a = std::fabs(x), b = std::fabs(y), larger = a < b ? b : a, smaller = a < b ? a : b;
  return larger == 0 ? 0 : larger * std::sqrt(1 + smaller / larger * (smaller / larger));
}

// v has a 1 at `first`, and 0 before it and behind `count` elements; there is none if the scale is 0.
struct Reflection {
  double scale, image; // the first element of the reflected vector

  // Makes `vector` v.
  static Reflection of(double *vector, int64_t first, int64_t count) {
    for (int64_t i = 0; i < first; ++i)
      vector[i] = 0;
    double scale = 1, rest = squares(vector, first + 1, count), head = vector[first];
    vector[first] = 1;
    if (const double sum = head * head + rest; sum < leastSum || sum > mostSum) { // squares have lost their digits
      double largest = std::fabs(head);
      for (int64_t i = first + 1; i < count; ++i)
        largest = std::fabs(vector[i]) > largest ? std::fabs(vector[i]) : largest;
      scale = largest == 0 ? 1 : largest;
      for (int64_t i = first + 1; i < count; ++i)
        vector[i] /= scale;
      head /= scale;
      rest = squares(vector, first + 1, count);
    }
    if (rest == 0)
      return {0, head * scale};
    const double length = std::sqrt(head * head + rest), image = head < 0 ? length : -length;
    for (int64_t i = first + 1; i < count; ++i)
      vector[i] /= head - image;
    return {(image - head) / image, image * scale};
  }

private:
  static double squares(const double *vector, int64_t first, int64_t count) {
    double sum = 0;
    for (int64_t i = first; i < count; ++i)
      sum += vector[i] * vector[i];
    return sum;
  }
};

class Reflector {
public:
  // spare: as many numbers as a row has, and as there are rows.
  Reflector(double *sums, double *factors) : kernels(chooseMatrixKernels<double>()), sums(sums), factors(factors) {}

  // rows = (1 - scale v v^T) rows, of rows [first, count) and columns [start, columns), where start begins a line.
  void fromLeft(const double *vector, double scale, Rows<double> rows, int64_t first, int64_t count, int64_t start,
                int64_t columns) const {
    if (scale == 0)
      return;
    const int64_t width = padded<double>(columns) - start;
    kernels.combine(rows.at(first, start), vector + first, count - first, width, sums);
    for (int64_t i = first; i < count; ++i)
      factors[i] = scale * vector[i];
    kernels.subtractOuter(rows.at(first, start), factors + first, 1, sums, count - first, width);
  }

  // rows = rows (1 - scale v v^T)
  void fromRight(const double *vector, double scale, Rows<double> rows, int64_t first, int64_t count, int64_t start,
                 int64_t columns) const {
    if (scale == 0)
      return;
    const int64_t width = padded<double>(columns) - start;
    kernels.multiply(rows.at(first, start), vector + start, count - first, width, factors);
    for (int64_t i = 0; i < count - first; ++i)
      factors[i] *= scale;
    kernels.subtractOuter(rows.at(first, start), factors, 1, vector + start, count - first, width);
  }

  // The product of reflections with vectors[j], whose first element is at j + offset, as the first columns of a matrix.
  void product(Rows<double> vectors, const double *scales, int64_t offset, int64_t number, Rows<double> rows,
               int64_t count, int64_t columns) const {
    makeUnit(rows, count, columns);
    for (int64_t j = number - 1; j >= 0; --j)
      if (j + offset < columns)
        fromLeft(vectors[j], scales[j], rows, j + offset, count, lineStart(j + offset), columns);
  }

  const MatrixKernels<double> &kernels;

private:
  double *sums, *factors;
};

} // namespace perpend::library
#endif
