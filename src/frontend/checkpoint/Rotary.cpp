//===- Rotary.cpp - frequencies of rotary embeddings ----------------------===//
//
// Numbers are rounded to f32 in the same places as in the library transformers. Otherwise results would differ at far
// positions, because an angle is a frequency times a position. Sources: linear (kaiokendev), dynamic NTK (bloc97,
// emozilla), YaRN (arXiv 2309.00071), LongRoPE (arXiv 2402.13753), Llama 3.1.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Rotary.h"
#include "graph/composites/Formulas.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace perpend::checkpoint {
using graph::Builder;
using graph::Scalar;
using graph::SymbolicInt;
using Frequencies = std::vector<float>;
using Scaling = RotaryForm::Scaling;

static float powerOf(const RotaryForm &form, size_t pair) {
  float exponent = static_cast<float>(2 * pair) / static_cast<float>(form.size);
  return static_cast<float>(std::pow(form.base, static_cast<double>(exponent)));
}

/// One over what the divisors and the powers of the base give.
static Frequencies inverses(const RotaryForm &form, const std::vector<double> &divisors) {
  Frequencies result(form.size / 2);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = 1 / (divisors.empty() ? powerOf(form, i) : static_cast<float>(divisors[i]) * powerOf(form, i));
  return result;
}

static void scaleLlama3(const RotaryForm &form, Frequencies &frequencies) {
  double original = static_cast<double>(form.originalPositions);
  auto factor = static_cast<float>(form.factor);
  for (float &frequency : frequencies) {
    double length = 2 * std::numbers::pi / frequency;
    auto share = static_cast<float>((original / length - form.lowFactor) / (form.highFactor - form.lowFactor));
    if (length > original / form.lowFactor)
      frequency /= factor;
    else if (length >= original / form.highFactor)
      frequency = (1 - share) * frequency / factor + share * frequency;
  }
}

static void scaleYarn(const RotaryForm &form, Frequencies &frequencies) {
  auto pairOf = [&](double turns) {
    return static_cast<double>(form.size) *
           std::log(static_cast<double>(form.originalPositions) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(form.base));
  };
  double low = pairOf(form.betaFast), high = pairOf(form.betaSlow);
  if (form.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(form.size - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    auto ramp = static_cast<float>(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
    float kept = 1 - ramp, scaled = 1 / (static_cast<float>(form.factor) * powerOf(form, i));
    frequencies[i] = scaled * (1 - kept) + frequencies[i] * kept;
  }
}

static Value vectorOf(Builder &b, const Frequencies &frequencies) {
  auto type = RankedTensorType::get({static_cast<int64_t>(frequencies.size())}, b.f32());
  return b.constant(DenseElementsAttr::get(type, ArrayRef<float>(frequencies)));
}

/// base' = base (s L / max - (s - 1))^(d / (d - 2)) with L = max(length, max), in f64: powers of a number that only
/// the run knows.
static Value dynamicFrequencies(Builder &b, const RotaryForm &form, const SymbolicInt &extent) {
  Type f64 = b.operations.getF64Type();
  Value length = graph::number(b, max(extent, SymbolicInt(form.positions)), f64);
  double size = static_cast<double>(form.size), longest = static_cast<double>(form.positions);
  auto doubles = [&](llvm::function_ref<double(int64_t)> element) {
    SmallVector<double> values;
    for (int64_t i = 0; i < form.size / 2; ++i)
      values.push_back(element(i));
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, f64);
    return b.constant(DenseElementsAttr::get(type, ArrayRef<double>(values)));
  };
  Value exponents = doubles([&](int64_t i) { return static_cast<double>(2 * i) / size; });
  Value frequencies = graph::pointwise(b, {exponents, length}, [&](ArrayRef<Scalar> v) {
    Scalar grown = v[1] * (form.factor / longest) - (form.factor - 1);
    Scalar base = form.base * graph::pow(grown, v[1].constant(size / (size - 2)));
    return 1.0 / graph::pow(base, v[0]);
  });
  return frequencies ? b.cast(frequencies, b.f32()) : frequencies;
}

/// The frequencies [pairs]; those of long sequences where the sequence is one.
static Value frequenciesOf(Builder &b, const RotaryForm &form, const SymbolicInt &extent) {
  if (form.scaling == Scaling::Dynamic)
    return dynamicFrequencies(b, form, extent);
  Frequencies frequencies = inverses(form, form.divisors);
  if (form.scaling == Scaling::Linear)
    for (float &frequency : frequencies)
      frequency /= static_cast<float>(form.factor);
  if (form.scaling == Scaling::Llama3)
    scaleLlama3(form, frequencies);
  if (form.scaling == Scaling::Yarn)
    scaleYarn(form, frequencies);
  Value result = vectorOf(b, frequencies);
  if (form.longDivisors.empty())
    return result;
  Value length = graph::number(b, extent, b.i64()),
        original = b.scalar(static_cast<double>(form.originalPositions), b.i64());
  Value isLong = graph::call(b, "greater", {length, original});
  return graph::where(b, isLong, vectorOf(b, inverses(form, form.longDivisors)), result);
}

RotaryTables rotaryTables(Builder &b, const RotaryForm &form, Value positions, const SymbolicInt &extent) {
  Value frequencies = frequenciesOf(b, form, extent);
  if (!frequencies || !positions)
    return {};
  Value angles = graph::mul(b, b.unsqueeze(b.cast(positions, b.f32()), {0, 2}), frequencies);
  auto table = [&](StringRef function) {
    Value values = graph::call(b, function, angles);
    return form.attention == 1 || !values ? values : graph::mul(b, values, b.scalar(form.attention, b.f32()));
  };
  return {table("cos"), table("sin")};
}
} // namespace perpend::checkpoint
