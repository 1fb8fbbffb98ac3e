// Gaussian elimination with row exchanges, in blocks of columns: those of a block are eliminated one by one, and all
// columns behind it by one product.
#ifndef PERPEND_RUNTIME_LIBRARY_MATRIXELIMINATION_H
#define PERPEND_RUNTIME_LIBRARY_MATRIXELIMINATION_H
#include "library/MatrixStack.h"

namespace perpend::library {

template <typename T> class Elimination {
public:
  // The first `count` columns of `rows` are eliminated, and the others, up to `width`, changed with them.
  Elimination(Rows<T> rows, int64_t count, int64_t width) : Elimination(rows, count, count, width) {}
  // Of `height` rows, at least `count`.
  Elimination(Rows<T> rows, int64_t height, int64_t count, int64_t width)
      : kernels(chooseMatrixKernels<T>()), rows(rows), height(height), count(count), width(width) {}

  // Makes the rows those of L (without its diagonal) and U. pivots: if given, each with the sign of its exchange.
  // exchanges: if given, the row, from 1 on, that each pivot's row was exchanged with. Returns the number of the first
  // pivot that is 0, from 1 on, or 0.
  int32_t run(T *pivots, int32_t *exchanges = nullptr) {
    int32_t firstZero = 0;
    for (int64_t start = 0; start < count; start += block()) {
      const int64_t end = smaller(start + block(), count), behind = smaller(start + block(), width);
      for (int64_t column = start; column < end; ++column) {
        const int64_t leading = findPivot(column);
        if (leading != column)
          exchange(leading, column);
        const T pivot = rows[column][column];
        if (pivots)
          pivots[column] = leading == column ? pivot : -pivot;
        if (exchanges)
          exchanges[column] = static_cast<int32_t>(leading + 1);
        if (pivot == 0 && !firstZero)
          firstZero = static_cast<int32_t>(column + 1);
        if (pivot != 0)
          eliminate(column, start, behind - start);
      }
      if (behind < width)
        changeBehind(start, end, behind);
    }
    return firstZero;
  }

  // Solves U x = y in place: y are the columns from `first` on, a multiple of a line. Zero pivots divide.
  void substituteBack(int64_t first) {
    const int64_t columns = width - first;
    for (int64_t end = count; end > 0; end = (end - 1) / block() * block()) {
      const int64_t start = (end - 1) / block() * block();
      for (int64_t row = end - 1; row >= start; --row) {
        T *solved = rows[row] + first;
        const T pivot = rows[row][row];
        for (int64_t j = 0; j < columns; ++j)
          solved[j] /= pivot;
        kernels.subtractOuter(rows.at(start, first), rows[start] + row, rows.stride, solved, row - start, columns);
      }
      kernels.subtractProduct(rows.at(0, first), {rows[0] + start, rows.stride, 1}, rows.at(start, first), start,
                              columns, end - start);
    }
  }

private:
  static constexpr int64_t longest = 32;

  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  int64_t block() const { return count > 96 ? longest : longest / 2; }

  int64_t findPivot(int64_t column) const {
    int64_t leading = column;
    T largest = -1;
    for (int64_t i = column; i < height; ++i) {
      const T number = rows[i][column], size = number < 0 ? -number : number;
      leading = size > largest ? i : leading;
      largest = size > largest ? size : largest;
    }
    return leading;
  }

  void exchange(int64_t a, int64_t b) {
    T *first = rows[a], *second = rows[b];
    for (int64_t j = 0; j < width; ++j) {
      const T number = first[j];
      first[j] = second[j];
      second[j] = number;
    }
  }

  // Of the columns of the block.
  void eliminate(int64_t column, int64_t start, int64_t columns) {
    T row[longest];
    for (int64_t j = 0; j < columns; ++j)
      row[j] = start + j <= column ? T(0) : rows[column][start + j];
    const T pivot = rows[column][column];
    for (int64_t i = column + 1; i < height; ++i)
      rows[i][column] /= pivot;
    kernels.subtractOuter(rows.at(column + 1, start), rows[column + 1] + column, rows.stride, row, height - column - 1,
                          columns);
  }

  void changeBehind(int64_t start, int64_t end, int64_t behind) {
    const int64_t columns = width - behind;
    for (int64_t row = start; row + 1 < end; ++row)
      kernels.subtractOuter(rows.at(row + 1, behind), rows[row + 1] + row, rows.stride, rows[row] + behind,
                            end - row - 1, columns);
    kernels.subtractProduct(rows.at(end, behind), {rows[end] + start, rows.stride, 1}, rows.at(start, behind),
                            height - end, columns, end - start);
  }

  const MatrixKernels<T> &kernels;
  Rows<T> rows;
  int64_t height, count, width;
};

} // namespace perpend::library
#endif
