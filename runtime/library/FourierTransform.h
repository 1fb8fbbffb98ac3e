// A call of fourier.transform for one element type, by the code for an instruction set.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERTRANSFORM_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERTRANSFORM_H
#include "library/Arguments.h"
#include "library/FourierLines.h"

namespace perpend::library {
namespace {

// The units of work; each thread uses its own memory.
template <typename T> struct Work {
  FourierLines<T> lines;
  const FourierCode<T> *code;
  int64_t groupSize, groups, units, unitNumbers;
  bool allowsLines; // of which each uses vectors
  T *memory;
};

// A small rest of a group takes less time line by line.
template <typename T> void runGroup(const Work<T> &work, int64_t first, int64_t count, T *memory) {
  if (work.groupSize > 1 && !(work.allowsLines && count < work.groupSize / 4))
    return work.code->runGroup(work.lines, first, count, memory);
  for (int64_t line = first; line < first + count; ++line)
    work.code->runLine(work.lines, line, 1, memory);
}

template <typename T> void runUnits(void *context, int64_t begin, int64_t end) {
  auto &work = *static_cast<Work<T> *>(context);
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t group = unit * work.groups / work.units; group < (unit + 1) * work.groups / work.units; ++group) {
      int64_t first = group * work.groupSize, left = work.lines.count - first;
      runGroup(work, first, left < work.groupSize ? left : work.groupSize, work.memory + unit * work.unitNumbers);
    }
}

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }

// How well the passes of one line use vectors.
enum class Use { Impossible, Poor, Good };
template <typename T> Use useOfVectors(const FourierPlan<T> &plan, int64_t lanes) {
  Use use = Use::Good;
  for (int32_t i = 0; i < plan.passCount; ++i) {
    const FourierPass<T> &pass = plan.passes[i];
    const int64_t all = pass.before * pass.inner, run = pass.inner < lanes ? all : pass.inner;
    if (all < lanes)
      return Use::Impossible;
    const bool isScattered = pass.inner < lanes && pass.radix % 2;
    if (isScattered || (run + lanes - 1) / lanes * lanes > run + run / 8)
      use = Use::Poor;
  }
  return use;
}

// Groups of lines use wide registers. A contiguous line may do so alone and stays in the cache, unless it has to share
// that with the tables of a convolution.
template <typename T> int64_t chooseGroupSize(const Work<T> &work) {
  constexpr int64_t cacheBytes = 768 << 10;
  const FourierTransform<T> &transform = *work.lines.transform;
  const int64_t lanes = work.code->groupLines, count = work.lines.count;
  if (!work.allowsLines)
    return lanes;
  const int64_t groupBytes = workingNumbers(work.lines) * lanes * static_cast<int64_t>(sizeof(T));
  const bool isGood = useOfVectors(transform.plan, lanes) == Use::Good && (!transform.isConvolution || count < lanes);
  const bool isAlone = work.lines.behind == 1 && (isGood || groupBytes > cacheBytes);
  return isAlone || count < lanes / 2 ? 1 : lanes;
}

template <typename T> void divide(Work<T> &work) {
  constexpr int64_t mostUnits = 64, mostBytes = 32 << 20;
  const Use use = useOfVectors(work.lines.transform->plan, work.code->groupLines);
  work.allowsLines = use != Use::Impossible && work.code->runLine;
  work.groupSize = chooseGroupSize(work);
  work.groups = (work.lines.count + work.groupSize - 1) / work.groupSize;
  work.unitNumbers = workingNumbers(work.lines) * work.groupSize;
  int64_t unitBytes = work.unitNumbers * static_cast<int64_t>(sizeof(T));
  work.units = larger(1, smaller(smaller(work.groups, mostUnits), mostBytes / larger(unitBytes, 1)));
}

// Number of units that take at least 4 microseconds, assuming four elements and levels per nanosecond.
template <typename T> int64_t grainOf(const Work<T> &work) {
  const FourierTransform<T> &transform = *work.lines.transform;
  int64_t levels = 1, length = larger(transform.plan.length, transform.length);
  while (length >> levels)
    ++levels;
  return larger(1, 16000 / larger(1, work.lines.count / work.units * length * levels));
}

// The plan of a form, which the session keeps from run to run; null: out of memory.
template <typename T>
const FourierTransform<T> *planOf(perpend_call *call, const FourierForm &form, const FourierCode<T> &code) {
  FourierTransform<T> counted;
  FourierTables sizes(nullptr);
  sizes.allocate<FourierTransform<T>>(1);
  planTransform(form, sizes, counted);
  int32_t isNew = 0;
  void *memory = perpend_call_keep(call, &form, sizeof form, sizes.bytes(), &isNew);
  auto *transform = static_cast<FourierTransform<T> *>(memory);
  if (!memory || !isNew)
    return transform;
  FourierTables tables(memory);
  tables.allocate<FourierTransform<T>>(1);
  planTransform(form, tables, *transform);
  if (transform->isConvolution) {
    FourierLines<T> lines{};
    lines.transform = transform;
    auto *working =
        static_cast<T *>(perpend_call_scratch(call, workingNumbers(lines) * code.groupLines * int64_t{sizeof(T)}));
    if (!working)
      return nullptr;
    code.fillFilter(*transform, working);
  }
  return transform;
}

// One transform of every line of [before, j, behind, parts], with its plan.
struct Extents {
  int64_t before, inputs, outputs, behind;
  int32_t inputParts, outputParts;
};
template <typename T>
bool describe(perpend_call *call, const Extents &extents, int64_t length, FourierHalves halves,
              const FourierCode<T> &code, Work<T> &work) {
  auto within = [&](int64_t count, FourierHalves side) {
    return smaller(count, side == halves ? length / 2 + 1 : length);
  };
  const FourierForm form = {length,
                            within(extents.inputs, FourierHalves::OfInput),
                            within(extents.outputs, FourierHalves::OfOutput),
                            extents.inputParts,
                            extents.outputParts,
                            static_cast<int32_t>(sizeof(T)),
                            halves};
  FourierLines<T> &lines = work.lines;
  lines.count = extents.before * extents.behind;
  lines.behind = extents.behind;
  lines.inputCount = extents.inputs;
  lines.outputCount = extents.outputs;
  lines.inputParts = extents.inputParts;
  lines.outputParts = extents.outputParts;
  lines.given = form.inputs;
  lines.wanted = form.outputs;
  lines.halves = halves;
  lines.isInverse = perpend_call_integer(call, "inverse", 0) != 0;
  lines.scale = perpend_call_integer(call, "scaled", 0) ? static_cast<T>(1 / static_cast<double>(length)) : 1;
  work.code = &code;
  lines.transform = planOf(call, form, *work.code);
  if (lines.transform)
    divide(work);
  return lines.transform;
}

template <typename T> int64_t numbersOf(const Work<T> &work) { return work.unitNumbers * work.units; }

template <typename T> T *scratch(perpend_call *call, int64_t count) {
  return static_cast<T *>(perpend_call_scratch(call, count * int64_t{sizeof(T)}));
}

// Transforms as many lines of the work from another place.
template <typename T> void run(perpend_call *call, Work<T> work, const T *input, T *output, int64_t lines, T *memory) {
  work.lines.input = input;
  work.lines.output = output;
  work.lines.count = lines;
  work.memory = memory;
  divide(work);
  perpend_call_parallel(call, runUnits<T>, &work, work.units, grainOf(work));
}

template <typename T>
perpend_status transformLines(perpend_call *call, const Extents &extents, int64_t length, FourierHalves halves,
                              const FourierCode<T> &code, const T *input, T *output) {
  Work<T> work{};
  if (!describe(call, extents, length, halves, code, work))
    return PERPEND_OUT_OF_MEMORY;
  T *memory = scratch<T>(call, numbersOf(work));
  if (!memory)
    return PERPEND_OUT_OF_MEMORY;
  run(call, work, input, output, work.lines.count, memory);
  return PERPEND_OK;
}

// Transforms both dimensions of images [rows, extents.inputs, behind, parts], a few of them at once, so that they stay
// in the cache from one to the other. Rows come first unless results are real: then columns do, into other memory.
template <typename T>
perpend_status transformImages(perpend_call *call, const Extents &extents, int64_t rows, int64_t length,
                               FourierHalves halves, const FourierCode<T> &code, const T *input, T *output) {
  constexpr int64_t cacheBytes = 512 << 10;
  const bool areReal = extents.outputParts == 1;
  const int64_t inputNumbers = rows * extents.inputs * extents.behind * extents.inputParts;
  const int64_t outputNumbers = rows * extents.outputs * extents.behind * extents.outputParts;
  const int64_t bytes = larger(inputNumbers, outputNumbers) * int64_t{sizeof(T)};
  const int64_t images = smaller(extents.before, larger(1, cacheBytes / bytes));
  const int64_t across = (areReal ? extents.inputs : extents.outputs) * extents.behind;
  Work<T> rowWork{}, columnWork{};
  Extents rowExtents = extents;
  rowExtents.before = images * rows;
  rowExtents.inputParts = areReal ? 2 : extents.inputParts;
  const Extents columnExtents = {images, rows, rows, across, areReal ? extents.inputParts : 2, 2};
  if (!describe(call, rowExtents, length, halves, code, rowWork) ||
      !describe(call, columnExtents, rows, FourierHalves::None, code, columnWork))
    return PERPEND_OUT_OF_MEMORY;
  T *memory = scratch<T>(call, larger(numbersOf(rowWork), numbersOf(columnWork)));
  T *between = areReal ? scratch<T>(call, images * rows * across * 2) : output;
  if (!memory || !between)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t image = 0; image < extents.before; image += images) {
    const int64_t count = smaller(images, extents.before - image);
    const T *from = input + image * inputNumbers;
    T *to = output + image * outputNumbers;
    if (areReal) {
      run(call, columnWork, from, between, count * across, memory);
      run<T>(call, rowWork, between, to, count * rows * extents.behind, memory);
    } else {
      run(call, rowWork, from, to, count * rows * extents.behind, memory);
      run<T>(call, columnWork, to, to, count * across, memory);
    }
  }
  return PERPEND_OK;
}

template <typename T>
perpend_status transform(perpend_call *call, const int64_t *shape, int64_t length, const FourierCode<T> &code) {
  const perpend_tensor &x = call->inputs[0];
  auto *output = static_cast<T *>(perpend_call_allocate(call, 0, shape, x.rank));
  if (!output)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t *given = x.shape + (x.rank - 3), *wanted = shape + (x.rank - 3);
  const int64_t rows = x.rank == 5 ? shape[1] : 1;
  const Extents extents = {
      shape[0], given[0], wanted[0], given[1], static_cast<int32_t>(given[2]), static_cast<int32_t>(wanted[2])};
  const int64_t lines = extents.before * rows * extents.behind;
  if (length == 0 || given[0] == 0) // empty sums
    memset(output, 0, static_cast<size_t>(lines * wanted[0] * wanted[2]) * sizeof(T));
  if (length == 0 || given[0] == 0 || lines == 0 || wanted[0] == 0)
    return PERPEND_OK;
  const auto halves = static_cast<FourierHalves>(perpend_call_integer(call, "half", 0));
  const auto *input = static_cast<const T *>(x.data);
  if (x.rank == 4)
    return transformLines(call, extents, length, halves, code, input, output);
  return transformImages(call, extents, rows, length, halves, code, input, output);
}

template <typename T> perpend_status runCall(perpend_call *call, const FourierCode<T> &code) {
  constexpr perpend_type type = sizeof(T) == sizeof(float) ? PERPEND_F32 : PERPEND_F64;
  const perpend_tensor &x = call->inputs[0];
  const int64_t *shape = perpend_call_expected_shape(call, 0);
  if ((x.rank != 4 && x.rank != 5) || (x.type != type) || call->inputs[1].type != PERPEND_I64)
    return perpend_call_fail(call, "expected four or five dimensions of %s and a length of i64, got %d of %s",
                             perpend_type_name(type), static_cast<int>(x.rank), perpend_type_name(x.type));
  int64_t length = *wordsOf(call->inputs[1]), longest = int64_t{1} << 40;
  if (length < 0 || length > longest)
    return perpend_call_fail(call, "expected a length from 0 to %lld, got %lld", static_cast<long long>(longest),
                             static_cast<long long>(length));
  const int32_t last = x.rank - 1;
  bool fits = (x.shape[last] == 1 || x.shape[last] == 2) && (shape[last] == 1 || shape[last] == 2);
  for (int32_t dim = 0; dim < last; ++dim)
    fits &= dim == last - 2 || x.shape[dim] == shape[dim];
  if (!fits)
    return perpend_call_fail(call, "expected [before, j, behind, 1 or 2] and a result with other extents in between");
  return transform(call, shape, length, code);
}

} // namespace
} // namespace perpend::library
#endif
