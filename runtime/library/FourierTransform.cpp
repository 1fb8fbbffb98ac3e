// fourier.transform(x, length): y[k] = sum over j of x[j] e^(-2 pi i j k / length), or e^(+...) with the parameter
// `inverse`; divided by length with `scaled`. x: [before, j, behind, parts] of f32 or f64, parts: real, or real and
// imaginary; y likewise. Elements of x from length on are ignored, and those of y are not computed.
#include "library/Arguments.h"
#include "library/FourierLines.h"

using namespace perpend::library;

namespace {

// The units of work; each thread uses its own memory.
template <typename T> struct Work {
  FourierLines<T> lines;
  FourierRun<T> run;
  int64_t groupSize, groups, units, unitNumbers;
  T *memory;
};

template <typename T> void runUnits(void *context, int64_t begin, int64_t end) {
  auto &work = *static_cast<Work<T> *>(context);
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t group = unit * work.groups / work.units; group < (unit + 1) * work.groups / work.units; ++group) {
      int64_t first = group * work.groupSize, left = work.lines.count - first;
      work.run(work.lines, first, left < work.groupSize ? left : work.groupSize, work.memory + unit * work.unitNumbers);
    }
}

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }

// Groups of lines use wide registers. A long contiguous line does so alone and stays in the cache.
template <typename T> int64_t chooseGroupSize(const FourierLines<T> &lines) {
  constexpr int64_t cacheBytes = 768 << 10;
  int64_t groupBytes = workingNumbers(lines.transform) * groupLines<T> * static_cast<int64_t>(sizeof(T));
  bool isLong = lines.behind == 1 && groupBytes > cacheBytes;
  return isLong || lines.count < groupLines<T> / 2 ? 1 : groupLines<T>;
}

template <typename T> void divide(Work<T> &work) {
  constexpr int64_t mostUnits = 64, mostBytes = 32 << 20;
  work.groupSize = chooseGroupSize(work.lines);
  work.groups = (work.lines.count + work.groupSize - 1) / work.groupSize;
  work.unitNumbers = workingNumbers(work.lines.transform) * work.groupSize;
  int64_t unitBytes = work.unitNumbers * static_cast<int64_t>(sizeof(T));
  work.units = larger(1, smaller(smaller(work.groups, mostUnits), mostBytes / larger(unitBytes, 1)));
}

// Number of units that take at least 4 microseconds, assuming four elements and levels per nanosecond.
template <typename T> int64_t grainOf(const Work<T> &work) {
  int64_t levels = 1, length = larger(work.lines.transform.plan.length, work.lines.transform.length);
  while (length >> levels)
    ++levels;
  return larger(1, 16000 / larger(1, work.lines.count / work.units * length * levels));
}

template <typename T> perpend_status transformLines(perpend_call *call, Work<T> &work, int64_t length) {
  FourierTransform<T> &transform = work.lines.transform;
  if (!planTransform(call, length, work.lines.inputParts == 1, transform))
    return PERPEND_OUT_OF_MEMORY;
  divide(work);
  int64_t numbers = larger(work.unitNumbers * work.units, workingNumbers(transform));
  work.memory = static_cast<T *>(perpend_call_scratch(call, numbers * static_cast<int64_t>(sizeof(T))));
  if (!work.memory)
    return PERPEND_OUT_OF_MEMORY;
  if (transform.isConvolution)
    fillFilter(transform, work.memory);
  work.run = chooseFourierRun<T>();
  perpend_call_parallel(call, runUnits<T>, &work, work.units, grainOf(work));
  return PERPEND_OK;
}

template <typename T> perpend_status transform(perpend_call *call, const int64_t *shape, int64_t length) {
  const perpend_tensor &x = call->inputs[0];
  auto *output = static_cast<T *>(perpend_call_allocate(call, 0, shape, 4));
  if (!output)
    return PERPEND_OUT_OF_MEMORY;
  Work<T> work{};
  T scale = perpend_call_integer(call, "scaled", 0) ? static_cast<T>(1 / static_cast<double>(length)) : 1;
  work.lines = {{},       static_cast<const T *>(x.data),
                output,   shape[0] * shape[2],
                shape[2], x.shape[1],
                shape[1], x.shape[3],
                shape[3], perpend_call_integer(call, "inverse", 0) != 0,
                scale};
  if (length == 0) // empty sums
    memset(output, 0, static_cast<size_t>(work.lines.count * shape[1] * shape[3]) * sizeof(T));
  if (length == 0 || work.lines.count == 0 || shape[1] == 0)
    return PERPEND_OK;
  return transformLines(call, work, length);
}

} // namespace

extern "C" perpend_status perpend_fourier_transform(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  const int64_t *shape = perpend_call_expected_shape(call, 0);
  if (x.rank != 4 || (x.type != PERPEND_F32 && x.type != PERPEND_F64) || call->inputs[1].type != PERPEND_I64)
    return perpend_call_fail(call, "expected four dimensions of f32 or f64 and a length of i64, got %d of %s",
                             static_cast<int>(x.rank), perpend_type_name(x.type));
  int64_t length = *wordsOf(call->inputs[1]), longest = int64_t{1} << 40;
  if (length < 0 || length > longest)
    return perpend_call_fail(call, "expected a length from 0 to %lld, got %lld", static_cast<long long>(longest),
                             static_cast<long long>(length));
  bool hasParts = (x.shape[3] == 1 || x.shape[3] == 2) && (shape[3] == 1 || shape[3] == 2);
  if (!hasParts || x.shape[0] != shape[0] || x.shape[2] != shape[2])
    return perpend_call_fail(call, "expected [before, j, behind, 1 or 2] and a result with other extents in between");
  return x.type == PERPEND_F64 ? transform<double>(call, shape, length) : transform<float>(call, shape, length);
}
