// Moves lines between the memory of tensors and the elements that are transformed.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERMOVEMENT_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERMOVEMENT_H
#include "library/FourierSpectra.h"

namespace perpend::library {
namespace {

// How the numbers of a line lie among elements.
struct Numbering {
  int64_t count;    // numbers in memory that are read or written
  bool arePaired;   // number i is a part of element i / 2; otherwise it is the real part of element i
  bool isExchanged; // real and imaginary parts are exchanged, which inverts the transform
  // The place in a list of real and imaginary parts.
  int64_t operator()(int64_t i) const { return (arePaired ? i : 2 * i) ^ (isExchanged ? 1 : 0); }
};

template <typename T> bool isExchanged(const FourierLines<T> &lines) {
  return lines.isInverse && lines.inputParts == 2 && lines.transform->pairs == FourierPairs::None;
}
template <typename T> Numbering inputNumbers(const FourierLines<T> &lines) {
  return {lines.given * lines.inputParts, lines.inputParts == 2 || lines.transform->pairs == FourierPairs::OfInput,
          isExchanged(lines)};
}
template <typename T> Numbering outputNumbers(const FourierLines<T> &lines) {
  return {lines.wanted * lines.outputParts, lines.outputParts == 2 || lines.transform->pairs == FourierPairs::OfOutput,
          isExchanged(lines)};
}

template <typename T> const T *inputOf(const FourierLines<T> &lines, int64_t line) {
  const int64_t step = lines.behind * lines.inputParts;
  return lines.input + line / lines.behind * lines.inputCount * step + line % lines.behind * lines.inputParts;
}
template <typename T> T *outputOf(const FourierLines<T> &lines, int64_t line) {
  const int64_t step = lines.behind * lines.outputParts;
  return lines.output + line / lines.behind * lines.outputCount * step + line % lines.behind * lines.outputParts;
}

// The elements that a transform reads.
template <typename T> int64_t elementsRead(const FourierTransform<T> &transform) {
  if (transform.pairs == FourierPairs::OfOutput)
    return transform.length + 1;
  return transform.isConvolution ? transform.inputs : transform.length;
}

// Whether the lines of a whole group lie side by side.
template <typename T, int64_t lanes> bool areNeighbours(const FourierLines<T> &lines, int64_t first, int64_t count) {
  return count == lanes && first % lines.behind + lanes <= lines.behind;
}

template <typename T, int64_t lanes>
void gatherRows(const FourierLines<T> &lines, int64_t first, int64_t count, const Numbering &place,
                Vector<T, lanes> *numbers) {
  using V = Vector<T, lanes>;
  const T *from[lanes];
  for (int64_t lane = 0; lane < lanes; ++lane)
    from[lane] = inputOf(lines, first + (lane < count ? lane : 0)); // unused lanes repeat a line
  auto block = [&](int64_t i) {
    V rows[lanes];
    unroll<lanes>([&](int64_t lane) { rows[lane] = loadAs<V>(from[lane] + i); });
    transpose<lanes>(rows);
    unroll<lanes>([&](int64_t lane) { numbers[place(i + lane)] = rows[lane]; });
  };
  int64_t i = 0;
  for (; i < place.count && place.count >= lanes; i += lanes)
    block(i + lanes <= place.count ? i : place.count - lanes);
  for (; i < place.count; ++i)
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers[place(i)][lane] = from[lane][i];
}

template <typename T, int64_t lanes>
void gatherNeighbours(const FourierLines<T> &lines, int64_t first, const Numbering &place, Vector<T, lanes> *numbers) {
  using V = Vector<T, lanes>;
  const T *from = inputOf(lines, first);
  const int64_t step = lines.behind * lines.inputParts;
  for (int64_t j = 0; j < lines.given; ++j, from += step)
    if (lines.inputParts == 1)
      numbers[place(j)] = loadAs<V>(from);
    else
      separateLanes(loadAs<V>(from), loadAs<V>(from + lanes), numbers[place(2 * j)], numbers[place(2 * j + 1)],
                    std::make_index_sequence<lanes>());
}

template <typename T, int64_t lanes>
void gatherScattered(const FourierLines<T> &lines, int64_t first, int64_t count, const Numbering &place,
                     Vector<T, lanes> *numbers) {
  const int64_t parts = lines.inputParts, step = lines.behind * parts;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const T *from = inputOf(lines, first + (lane < count ? lane : 0));
    for (int64_t i = 0; i < place.count; ++i)
      reinterpret_cast<T *>(numbers + place(i))[lane] = from[i / parts * step + i % parts];
  }
}

template <typename T, int64_t lanes>
void gather(const FourierLines<T> &lines, int64_t first, int64_t count, const Group<T, lanes> &group) {
  using V = Vector<T, lanes>;
  const Numbering place = inputNumbers(lines);
  auto *numbers = reinterpret_cast<V *>(group.data);
  if (lines.behind == 1)
    gatherRows<T, lanes>(lines, first, count, place, numbers);
  else if (areNeighbours<T, lanes>(lines, first, count))
    gatherNeighbours<T, lanes>(lines, first, place, numbers);
  else
    gatherScattered<T, lanes>(lines, first, count, place, numbers);
  const int64_t end = elementsRead(*lines.transform);
  for (int64_t i = 0; i < place.count && !place.arePaired; ++i)
    numbers[place(i) ^ 1] = V{};
  for (int64_t i = place.arePaired ? place.count : 2 * place.count; i < 2 * end; ++i)
    numbers[i] = V{};
}

template <typename T, int64_t lanes>
void gather(const FourierLines<T> &lines, int64_t first, int64_t, const Line<T, lanes> &line) {
  using V = Vector<T, lanes>;
  const Numbering place = inputNumbers(lines);
  const T *from = inputOf(lines, first);
  T *planes[] = {place.isExchanged ? line.imaginary : line.real, place.isExchanged ? line.real : line.imaginary};
  const int64_t parts = lines.inputParts, step = lines.behind * parts;
  int64_t i = 0;
  if (lines.behind == 1 && place.arePaired)
    for (; i + 2 * lanes <= place.count; i += 2 * lanes) {
      V real, imaginary;
      separateLanes(loadAs<V>(from + i), loadAs<V>(from + i + lanes), real, imaginary,
                    std::make_index_sequence<lanes>());
      storeAs(planes[0] + i / 2, real);
      storeAs(planes[1] + i / 2, imaginary);
    }
  for (; i < place.count; ++i)
    planes[place.arePaired ? i % 2 : 0][place.arePaired ? i / 2 : i] = from[i / parts * step + i % parts];
  const int64_t end = elementsRead(*lines.transform);
  for (int64_t k = place.arePaired ? (i + 1) / 2 : i; k < end; ++k)
    planes[0][k] = 0;
  for (int64_t k = place.arePaired ? i / 2 : 0; k < end; ++k)
    planes[1][k] = 0;
}

template <typename T, int64_t lanes>
void spreadRows(const FourierLines<T> &lines, int64_t first, int64_t count, const Numbering &place,
                const Vector<T, lanes> *numbers) {
  using V = Vector<T, lanes>;
  T *to[lanes];
  for (int64_t lane = 0; lane < lanes; ++lane)
    to[lane] = outputOf(lines, first + (lane < count ? lane : 0));
  const Factors<T> factors = factorsOf(lines);
  auto factorOf = [&](int64_t i) { return i % 2 && place.arePaired ? factors.imaginary : factors.real; };
  auto block = [&](int64_t i) {
    V rows[lanes];
    unroll<lanes>([&](int64_t lane) { rows[lane] = numbers[place(i + lane)] * factorOf(i + lane); });
    transpose<lanes>(rows);
    unroll<lanes>([&](int64_t lane) {
      if (lane < count)
        storeAs(to[lane] + i, rows[lane]);
    });
  };
  int64_t i = 0;
  for (; i < place.count && place.count >= lanes; i += lanes)
    block(i + lanes <= place.count ? i : place.count - lanes);
  for (; i < place.count; ++i)
    for (int64_t lane = 0; lane < count; ++lane)
      to[lane][i] = numbers[place(i)][lane] * factorOf(i);
}

template <typename T, int64_t lanes>
void spreadNeighbours(const FourierLines<T> &lines, int64_t first, const Numbering &place,
                      const Vector<T, lanes> *numbers) {
  using V = Vector<T, lanes>;
  T *to = outputOf(lines, first);
  const int64_t step = lines.behind * lines.outputParts;
  const Factors<T> factors = factorsOf(lines);
  for (int64_t k = 0; k < lines.wanted; ++k, to += step) {
    if (lines.outputParts == 1) {
      storeAs(to, numbers[place(k)] * (k % 2 && place.arePaired ? factors.imaginary : factors.real));
      continue;
    }
    V low, high;
    mergeLanes(numbers[place(2 * k)] * factors.real, numbers[place(2 * k + 1)] * factors.imaginary, low, high,
               std::make_index_sequence<lanes>());
    storeAs(to, low);
    storeAs(to + lanes, high);
  }
}

template <typename T, int64_t lanes>
void spreadScattered(const FourierLines<T> &lines, int64_t first, int64_t count, const Numbering &place,
                     const Vector<T, lanes> *numbers) {
  const int64_t parts = lines.outputParts, step = lines.behind * parts;
  const Factors<T> factors = factorsOf(lines);
  for (int64_t lane = 0; lane < count; ++lane) {
    T *to = outputOf(lines, first + lane);
    for (int64_t i = 0; i < place.count; ++i)
      to[i / parts * step + i % parts] = reinterpret_cast<const T *>(numbers + place(i))[lane] *
                                         (i % 2 && place.arePaired ? factors.imaginary : factors.real);
  }
}

template <typename T, int64_t lanes>
void spread(const FourierLines<T> &lines, int64_t first, int64_t count, const Group<T, lanes> &group) {
  const Numbering place = outputNumbers(lines);
  auto *numbers = reinterpret_cast<const Vector<T, lanes> *>(group.data);
  if (lines.behind == 1)
    spreadRows<T, lanes>(lines, first, count, place, numbers);
  else if (areNeighbours<T, lanes>(lines, first, count))
    spreadNeighbours<T, lanes>(lines, first, place, numbers);
  else
    spreadScattered<T, lanes>(lines, first, count, place, numbers);
}

template <typename T, int64_t lanes>
void spread(const FourierLines<T> &lines, int64_t first, int64_t, const Line<T, lanes> &line) {
  using V = Vector<T, lanes>;
  const Numbering place = outputNumbers(lines);
  T *to = outputOf(lines, first);
  const T *planes[] = {place.isExchanged ? line.imaginary : line.real, place.isExchanged ? line.real : line.imaginary};
  const int64_t parts = lines.outputParts, step = lines.behind * parts;
  const Factors<T> factors = factorsOf(lines);
  int64_t i = 0;
  if (lines.behind == 1 && place.arePaired)
    for (; i + 2 * lanes <= place.count; i += 2 * lanes) {
      V low, high;
      mergeLanes(loadAs<V>(planes[0] + i / 2) * factors.real, loadAs<V>(planes[1] + i / 2) * factors.imaginary, low,
                 high, std::make_index_sequence<lanes>());
      storeAs(to + i, low);
      storeAs(to + i + lanes, high);
    }
  for (; i < place.count; ++i) {
    const bool isImaginary = place.arePaired && i % 2;
    to[i / parts * step + i % parts] =
        planes[isImaginary][place.arePaired ? i / 2 : i] * (isImaginary ? factors.imaginary : factors.real);
  }
}

// Elements of results that are not computed are 0.
template <typename T> void clearRest(const FourierLines<T> &lines, int64_t first, int64_t count) {
  const int64_t parts = lines.outputParts, step = lines.behind * parts;
  for (int64_t line = first; line < first + count && lines.wanted < lines.outputCount; ++line) {
    T *to = outputOf(lines, line);
    for (int64_t k = lines.wanted; k < lines.outputCount; ++k)
      for (int64_t part = 0; part < parts; ++part)
        to[k * step + part] = 0;
  }
}

// Applies the first pass to a line where it lies; false: it has to be gathered.
template <typename T, int64_t lanes>
bool gatherTransformed(const FourierLines<T> &lines, int64_t first, const Line<T, lanes> &line) {
  const FourierTransform<T> &transform = *lines.transform;
  const Numbering place = inputNumbers(lines);
  const bool isWhole = place.arePaired && place.count == 2 * transform.length && !transform.isConvolution;
  if (!isWhole || lines.behind != 1 || place.isExchanged || transform.pairs == FourierPairs::OfOutput ||
      lines.halves == FourierHalves::OfInput)
    return false;
  return applyFirstPass(transform.plan, Interleaved<T, lanes>{inputOf(lines, first)}, line);
}
template <typename T, int64_t lanes> bool gatherTransformed(const FourierLines<T> &, int64_t, const Group<T, lanes> &) {
  return false;
}

// Separates the pairs of a real line into its result; false: that is not a contiguous half or whole of a spectrum.
template <typename T, int64_t lanes>
bool spreadSeparated(const FourierLines<T> &lines, int64_t first, const Line<T, lanes> &line) {
  const FourierTransform<T> &transform = *lines.transform;
  const int64_t length = transform.length, elements = transform.elements, begin = length + 1;
  if (transform.pairs != FourierPairs::OfInput || lines.behind != 1 || lines.outputParts != 2 || lines.wanted < begin)
    return false;
  T *to = outputOf(lines, first);
  const Factors<T> factors = factorsOf(lines);
  separatePairs(transform, line, InterleavedResult<T, lanes>{to, factors.real, factors.imaginary}, edgeFactor(lines));
  const InterleavedResult<T, lanes> others{to, 1, -1};
  auto store = [&](int64_t k) {
    const auto x = Interleaved<T, lanes>{to}.load(elements - k - lanes + 1);
    others.store(k, {reversed(x.real, std::make_index_sequence<lanes>()),
                     reversed(x.imaginary, std::make_index_sequence<lanes>())});
  };
  if (lines.wanted - begin >= lanes)
    for (int64_t k = begin; k < lines.wanted; k += lanes)
      store(k + lanes <= lines.wanted ? k : lines.wanted - lanes);
  else
    for (int64_t k = begin; k < lines.wanted; ++k)
      others.single().store(k, {to[2 * (elements - k)], to[2 * (elements - k) + 1]});
  return true;
}
template <typename T, int64_t lanes> bool spreadSeparated(const FourierLines<T> &, int64_t, const Group<T, lanes> &) {
  return false;
}

// Number of passes that write a line where it lies: 0 or 1.
template <typename T, int64_t lanes> int32_t passesToSpread(const FourierLines<T> &lines, const Line<T, lanes> &) {
  const FourierTransform<T> &transform = *lines.transform;
  const Numbering place = outputNumbers(lines);
  const bool isWhole = place.arePaired && place.count == 2 * transform.length && !transform.isConvolution;
  if (!isWhole || lines.behind != 1 || place.isExchanged || lines.inputParts == 1 ||
      lines.halves == FourierHalves::OfOutput || transform.plan.passCount < 2)
    return 0;
  const int64_t radix = transform.plan.passes[transform.plan.passCount - 1].radix;
  return radix == 4 || radix == 8 ? 1 : 0;
}
template <typename T, int64_t lanes> int32_t passesToSpread(const FourierLines<T> &, const Group<T, lanes> &) {
  return 0;
}
template <typename T, int64_t lanes>
bool spreadTransformed(const FourierLines<T> &lines, int64_t first, const Line<T, lanes> &line, int32_t passes) {
  const Factors<T> factors = factorsOf(lines);
  return passes && applyLastPass(lines.transform->plan, line,
                                 InterleavedResult<T, lanes>{outputOf(lines, first), factors.real, factors.imaginary});
}
template <typename T, int64_t lanes>
bool spreadTransformed(const FourierLines<T> &, int64_t, const Group<T, lanes> &, int32_t) {
  return false;
}

template <typename T, typename Access>
void runAs(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory, int64_t groupLines) {
  const int64_t room = roomOf(lines);
  Access data(memory, room), spare(memory + 2 * room * groupLines, room);
  const bool isBegun = gatherTransformed(lines, first, data);
  if (!isBegun)
    gather(lines, first, count, data);
  const int32_t passes = lines.transform->plan.passCount, toSpread = passesToSpread(lines, data);
  transformElements(lines, data, spare, isBegun ? 1 : 0, passes - toSpread);
  if (!spreadTransformed(lines, first, data, toSpread) && !spreadSeparated(lines, first, data)) {
    finishElements(lines, data, spare);
    spread(lines, first, count, data);
  }
  clearRest(lines, first, count);
}

template <typename T> void runGroup(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory) {
  runAs<T, Group<T, lanesOf<T>>>(lines, first, count, memory, lanesOf<T>);
}

template <typename T> [[maybe_unused]] void runLine(const FourierLines<T> &lines, int64_t first, int64_t, T *memory) {
  runAs<T, Line<T, lanesOf<T>>>(lines, first, 1, memory, 1);
}

} // namespace
} // namespace perpend::library
#endif
