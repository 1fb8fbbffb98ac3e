// fourier.transform(x, length): y[k] = sum over j of x[j] e^(-2 pi i j k / length), or e^(+...) with the parameter
// `inverse`; divided by length with `scaled`. x: [before, j, behind, parts] of f32 or f64, parts: real, or real and
// imaginary; y likewise. Elements of x from length on are ignored, and those of y are 0. With `half` = 1, elements of x
// between 0 and length / 2 count twice and later ones are ignored, so that the real part of y is the inverse of half a
// spectrum; with `half` = 2, the same is done to elements of y.
#include "Isa.h"
#include "library/Arguments.h"
#include "library/FourierLines.h"
#include <atomic>

using namespace perpend::library;

namespace {

template <typename T> struct Codes;
template <> struct Codes<float> {
  static constexpr const FourierCode<float> &base = fourierCodeOfFloats, &avx2 = fourierCodeOfFloatsAvx2,
                                            &avx512 = fourierCodeOfFloatsAvx512;
};
template <> struct Codes<double> {
  static constexpr const FourierCode<double> &base = fourierCodeOfDoubles, &avx2 = fourierCodeOfDoublesAvx2,
                                             &avx512 = fourierCodeOfDoublesAvx512;
};

#if defined(__x86_64__)
enum Level : int32_t { Unknown, Base, Avx2, Avx512 };

Level levelOfProcessor() {
  auto hasAll = [](auto... names) { return (perpend::runtime::hasInstructionSet(names) && ...); };
  static std::atomic<Level> answer{Unknown};
  Level known = answer.load(std::memory_order_relaxed);
  if (known == Unknown) {
    known = hasAll("avx512f", "avx512vl", "avx512dq", "avx512bw", "fma") ? Avx512 : hasAll("avx2", "fma") ? Avx2 : Base;
    answer.store(known, std::memory_order_relaxed);
  }
  return known;
}
#endif

template <typename T> const FourierCode<T> &codeOfProcessor() {
#if defined(__x86_64__)
  if (Level level = levelOfProcessor(); level != Base)
    return level == Avx512 ? Codes<T>::avx512 : Codes<T>::avx2;
#endif
  return Codes<T>::base;
}

// The units of work; each thread uses its own memory.
template <typename T> struct Work {
  FourierLines<T> lines;
  const FourierCode<T> *code;
  int64_t groupSize, groups, units, unitNumbers;
  T *memory;
};

template <typename T> void runUnits(void *context, int64_t begin, int64_t end) {
  auto &work = *static_cast<Work<T> *>(context);
  auto run = work.groupSize == 1 ? work.code->runLine : work.code->runGroup;
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t group = unit * work.groups / work.units; group < (unit + 1) * work.groups / work.units; ++group) {
      int64_t first = group * work.groupSize, left = work.lines.count - first;
      run(work.lines, first, left < work.groupSize ? left : work.groupSize, work.memory + unit * work.unitNumbers);
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

// Groups of lines use wide registers. A contiguous line may do so alone and stays in the cache.
template <typename T> int64_t chooseGroupSize(const Work<T> &work) {
  constexpr int64_t cacheBytes = 768 << 10;
  const int64_t lanes = work.code->groupLines;
  int64_t groupBytes = workingNumbers(work.lines) * lanes * static_cast<int64_t>(sizeof(T));
  const Use use = useOfVectors(work.lines.transform->plan, lanes);
  if (use == Use::Impossible)
    return lanes;
  bool isAlone = work.lines.behind == 1 && (use == Use::Good || groupBytes > cacheBytes);
  return isAlone || work.lines.count < lanes / 2 ? 1 : lanes;
}

template <typename T> void divide(Work<T> &work) {
  constexpr int64_t mostUnits = 64, mostBytes = 32 << 20;
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

template <typename T> perpend_status transformLines(perpend_call *call, Work<T> &work) {
  divide(work);
  work.memory = static_cast<T *>(perpend_call_scratch(call, work.unitNumbers * work.units * int64_t{sizeof(T)}));
  if (!work.memory)
    return PERPEND_OUT_OF_MEMORY;
  perpend_call_parallel(call, runUnits<T>, &work, work.units, grainOf(work));
  return PERPEND_OK;
}

template <typename T> perpend_status transform(perpend_call *call, const int64_t *shape, int64_t length) {
  const perpend_tensor &x = call->inputs[0];
  auto *output = static_cast<T *>(perpend_call_allocate(call, 0, shape, 4));
  if (!output)
    return PERPEND_OUT_OF_MEMORY;
  const auto halves = static_cast<FourierHalves>(perpend_call_integer(call, "half", 0));
  auto within = [&](int64_t count, FourierHalves side) {
    return smaller(count, side == halves ? length / 2 + 1 : length);
  };
  const FourierForm form = {length,
                            within(x.shape[1], FourierHalves::OfInput),
                            within(shape[1], FourierHalves::OfOutput),
                            static_cast<int32_t>(x.shape[3]),
                            static_cast<int32_t>(shape[3]),
                            static_cast<int32_t>(sizeof(T)),
                            halves};
  if (length == 0) // empty sums
    memset(output, 0, static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof(T));
  if (length == 0 || shape[0] * shape[2] == 0 || shape[1] == 0)
    return PERPEND_OK;
  Work<T> work{};
  work.code = &codeOfProcessor<T>();
  T scale = perpend_call_integer(call, "scaled", 0) ? static_cast<T>(1 / static_cast<double>(length)) : 1;
  bool isInverse = perpend_call_integer(call, "inverse", 0) != 0;
  work.lines = {planOf(call, form, *work.code),
                static_cast<const T *>(x.data),
                output,
                shape[0] * shape[2],
                shape[2],
                x.shape[1],
                shape[1],
                x.shape[3],
                shape[3],
                form.inputs,
                form.outputs,
                isInverse,
                halves,
                scale};
  return work.lines.transform ? transformLines(call, work) : PERPEND_OUT_OF_MEMORY;
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
