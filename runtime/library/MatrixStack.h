// Stacks of matrices, [n, rows, columns], and the memory in which one at a time is factored.
#ifndef PERPEND_RUNTIME_LIBRARY_MATRIXSTACK_H
#define PERPEND_RUNTIME_LIBRARY_MATRIXSTACK_H
#include "library/Arguments.h"
#include "library/MatrixKernels.h"

namespace perpend::library {

template <typename T> struct Matrices {
  T *numbers;
  int64_t count, rows, columns;

  T *operator[](int64_t number) const { return numbers + number * rows * columns; }
};

template <typename T> Matrices<const T> matricesOf(const perpend_tensor &x) {
  return {static_cast<const T *>(x.data), x.shape[0], x.shape[1], x.shape[2]};
}

inline bool isStack(const perpend_tensor &x) { return x.rank == 3 && (x.type == PERPEND_F32 || x.type == PERPEND_F64); }

inline perpend_status refuseStack(perpend_call *call) {
  return perpend_call_fail(call, "expected stacks of matrices [n, rows, columns] of f32 or f64 that fit each other");
}

// The work on each matrix of a stack. Units of matrices use memory of their own.
template <typename Body> struct StackWork {
  Body body;
  int64_t count, units, unitBytes;
  char *memory;

  static void run(void *context, int64_t begin, int64_t end) {
    auto &work = *static_cast<StackWork *>(context);
    for (int64_t unit = begin; unit < end; ++unit)
      for (int64_t i = unit * work.count / work.units; i < (unit + 1) * work.count / work.units; ++i)
        work.body(i, work.memory + unit * work.unitBytes);
  }
};

// body(number of the matrix, memory of `bytes`), for each of `count`; one takes about so many operations.
template <typename Body>
perpend_status forEachMatrix(perpend_call *call, int64_t count, int64_t bytes, int64_t operations, Body body) {
  constexpr int64_t mostUnits = 64, line = 64, operationsOfGrain = 20000;
  if (count == 0)
    return PERPEND_OK;
  StackWork<Body> work{body, count, count < mostUnits ? count : mostUnits, (bytes / line + 1) * line, nullptr};
  work.memory = static_cast<char *>(perpend_call_scratch(call, work.units * work.unitBytes));
  if (!work.memory)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t grain = operationsOfGrain / (operations * (count / work.units) + 1);
  perpend_call_parallel(call, StackWork<Body>::run, &work, work.units, grain < 1 ? 1 : grain);
  return PERPEND_OK;
}

// The power of two by which a matrix is multiplied so that no fourth power of its largest number overflows or vanishes.
inline double moderatingFactor(double largest) {
  if (largest >= 1e70)
    return largest < 3e205 ? 0x1p-450 : 0x1p-900;
  return largest < 3e-202 ? 0x1p900 : largest < 1e-66 ? 0x1p450 : 1;
}

// The largest magnitude among numbers and `least`; NaN does not count.
inline double largestOf(const double *numbers, int64_t count, double least) {
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = numbers[i] < 0 ? -numbers[i] : numbers[i];
    least = magnitude > least ? magnitude : least;
  }
  return least;
}

// Rows in memory that begin with a line, not all in the same sets of a cache.
template <typename T> int64_t strideOf(int64_t columns) {
  int64_t stride = padded<T>(columns);
  return stride * static_cast<int64_t>(sizeof(T)) % 1024 ? stride : stride + lineOf<T>;
}

template <typename T> void copyRow(T *to, const T *from, int64_t count, int64_t room) {
  memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  memset(to + count, 0, static_cast<size_t>(room - count) * sizeof(T));
}

} // namespace perpend::library
#endif
