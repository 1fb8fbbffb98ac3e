//===- RotarySettings.cpp - settings of rotary embeddings -----------------===//
//
// config.json has either `rope_parameters` (transformers 5), which may have an entry for each type of layer, or
// `rope_theta` and `rope_scaling`. GGUF files have other keys, and tensors with divisors of the frequencies.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

#include <cmath>

namespace perpend::checkpoint {
namespace json = llvm::json;
using Scaling = RotaryForm::Scaling;

static std::optional<Scaling> scalingOf(StringRef name) {
  static constexpr std::pair<StringRef, Scaling> known[] = {
      {"", Scaling::None},         {"none", Scaling::None},         {"default", Scaling::None},
      {"linear", Scaling::Linear}, {"dynamic", Scaling::Dynamic},   {"llama3", Scaling::Llama3},
      {"yarn", Scaling::Yarn},     {"longrope", Scaling::LongRope}, {"su", Scaling::LongRope}};
  for (auto [each, scaling] : known)
    if (name == each)
      return scaling;
  return std::nullopt;
}

static bool failScaling(Settings &settings, StringRef name) {
  return settings.fail("the rotary embedding's type '" + name +
                       "' is not supported\nhint: default, linear, dynamic, llama3, yarn and longrope are");
}

/// 0.1 m ln s + 1, YaRN's factor of attention.
static double yarnAttention(double factor, double scale = 1) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

/// Of scores: once for queries, once for keys.
static double yarnScores(double factor, double scale) {
  return yarnAttention(factor, scale) * yarnAttention(factor, scale);
}

static double longRopeAttention(double factor, int64_t original) {
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original)));
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

namespace {
/// The object that describes the scaling; numbers in it.
class Parameters {
public:
  Parameters(Settings &settings, const json::Object *object) : settings(settings), object(object) {}

  std::optional<double> number(StringRef name) {
    const json::Value *value = object ? object->get(name) : nullptr;
    if (!value || value->kind() == json::Value::Null)
      return std::nullopt;
    std::optional<double> number = value->getAsNumber();
    if (!number || !std::isfinite(*number))
      settings.fail("'" + name + "' of the rotary embedding: expected a number, got " + shortText(*value));
    return number;
  }
  double required(StringRef name) {
    std::optional<double> value = number(name);
    if (!value)
      settings.fail("'" + name + "' of the rotary embedding is missing");
    return value.value_or(1);
  }
  StringRef text(StringRef name) { return object ? object->getString(name).value_or("") : ""; }
  bool flag(StringRef name, bool otherwise) {
    return object ? object->getBoolean(name).value_or(otherwise) : otherwise;
  }
  std::vector<double> numbers(StringRef name, size_t count) {
    const json::Array *list = object ? object->getArray(name) : nullptr;
    std::vector<double> values;
    for (const json::Value &element : list ? *list : json::Array())
      if (std::optional<double> value = element.getAsNumber())
        values.push_back(*value);
    if (values.size() != count || (list && list->size() != count))
      settings.fail("'" + name + "' of the rotary embedding: expected " + std::to_string(count) + " numbers, got " +
                    std::to_string(list ? list->size() : 0));
    values.resize(count, 1);
    return values;
  }

private:
  Settings &settings;
  const json::Object *object;
};
} // namespace

/// The object for layers of a type.
static const json::Object *parametersOf(Settings &settings, StringRef type) {
  const json::Object *parameters = settings.object(Key::RotaryParameters);
  if (parameters && !type.empty())
    if (const json::Object *own = parameters->getObject(type))
      return own;
  return parameters ? parameters : type == "sliding_attention" ? nullptr : settings.object(Key::RotaryScaling);
}

static int64_t originalPositions(Settings &settings, Parameters &parameters, int64_t positions) {
  if (std::optional<int64_t> own = settings.integer(Key::OriginalPositions))
    return *own;
  return static_cast<int64_t>(
      parameters.number("original_max_position_embeddings").value_or(static_cast<double>(positions)));
}

static void readYarn(Parameters &parameters, RotaryForm &form) {
  double ratio = static_cast<double>(form.positions) / static_cast<double>(form.originalPositions);
  form.factor = parameters.number("factor").value_or(ratio);
  double scale = parameters.number("mscale").value_or(0), all = parameters.number("mscale_all_dim").value_or(0);
  double attention = scale != 0 && all != 0 ? yarnAttention(form.factor, scale) / yarnAttention(form.factor, all)
                                            : yarnAttention(form.factor);
  form.attention = parameters.number("attention_factor").value_or(attention);
  auto turns = [&](StringRef name, double otherwise) {
    double value = parameters.number(name).value_or(otherwise);
    return value == 0 ? otherwise : value;
  };
  form.betaFast = turns("beta_fast", form.betaFast);
  form.betaSlow = turns("beta_slow", form.betaSlow);
  form.truncate = parameters.flag("truncate", true);
}

static void readLongRope(Parameters &parameters, RotaryForm &form) {
  double ratio = static_cast<double>(form.positions) / static_cast<double>(form.originalPositions);
  form.factor = parameters.number("factor").value_or(ratio);
  form.attention =
      parameters.number("attention_factor").value_or(longRopeAttention(form.factor, form.originalPositions));
  form.divisors = parameters.numbers("short_factor", form.size / 2);
  form.longDivisors = parameters.numbers("long_factor", form.size / 2);
}

static void readConfig(Settings &settings, const Form &decoder, StringRef type, RotaryForm &form) {
  Parameters parameters(settings, parametersOf(settings, type));
  form.base = parameters.number("rope_theta").value_or(settings.number(Key::RotaryBase, form.base));
  double part = parameters.number("partial_rotary_factor").value_or(settings.number(Key::RotaryPart, 1));
  form.size = static_cast<int64_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(decoder.headSize));
  StringRef name = parameters.text("rope_type");
  name = name.empty() ? parameters.text("type") : name;
  std::optional<Scaling> scaling = scalingOf(name);
  if (!scaling) {
    failScaling(settings, name);
    return;
  }
  form.scaling = *scaling;
  form.originalPositions = originalPositions(settings, parameters, form.positions);
  bool needsFactor =
      form.scaling == Scaling::Linear || form.scaling == Scaling::Dynamic || form.scaling == Scaling::Llama3;
  if (needsFactor)
    form.factor = parameters.required("factor");
  if (form.scaling == Scaling::Llama3) {
    form.lowFactor = parameters.required("low_freq_factor");
    form.highFactor = parameters.required("high_freq_factor");
  }
  if (form.scaling == Scaling::Yarn)
    readYarn(parameters, form);
  if (form.scaling == Scaling::LongRope)
    readLongRope(parameters, form);
  if (double all = parameters.number("mscale_all_dim").value_or(0); all != 0 && form.scaling != Scaling::None)
    form.scores = yarnScores(form.factor, all);
}

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

static std::vector<double> divisorsOf(Weights &weights, StringRef role, int64_t pairs) {
  return weights.numbers({role}, pairs).value_or(std::vector<double>());
}

/// Files have a tenth of the factor, `mscale_all_dim`, for scores; that of cosines and sines is the same in the models
/// that they are made of, so that both make cosines and sines as large as without a scaling.
static void readLatentYarn(Settings &settings, RotaryForm &form) {
  std::optional<double> tenth = settings.number(Key::YarnLogMultiplier);
  if (!tenth)
    settings.fail("'" + settings.nameOf(Key::YarnLogMultiplier) +
                  "' is missing\nhint: convert the model again; without it, the scale of attention is not known");
  form.scores = yarnScores(form.factor, 10 * tenth.value_or(0));
}

static void readGgufSettings(Settings &settings, Weights &weights, const Form &decoder, RotaryForm &form) {
  form.base = settings.number(Key::RotaryBase, form.base);
  form.size = settings.integer(Key::RotarySize, decoder.headSize);
  std::string name = settings.text(Key::ScalingType);
  std::optional<Scaling> scaling = scalingOf(name);
  if (!scaling) {
    failScaling(settings, name);
    return;
  }
  form.scaling = *scaling;
  form.originalPositions = settings.integer(Key::OriginalPositions, form.positions);
  form.factor = settings.number(Key::ScalingFactor, settings.number(Key::OldScalingFactor, 1));
  form.attention = settings.number(Key::ScalingAttention, 1);
  if (form.scaling == Scaling::None && form.factor != 1 && !settings.has(Key::ScalingType))
    form.scaling = Scaling::Linear;
  if (form.scaling == Scaling::Yarn) {
    form.attention *= settings.number(Key::YarnAttention, 1);
    if (decoder.latent)
      readLatentYarn(settings, form);
    else
      form.attention *= yarnAttention(form.factor);
    form.betaFast = settings.number(Key::YarnBetaFast, form.betaFast);
    form.betaSlow = settings.number(Key::YarnBetaSlow, form.betaSlow);
    if (settings.number(Key::YarnExtension, 1) != 1)
      settings.fail("'" + settings.nameOf(Key::YarnExtension) + "': only 1 is supported");
  }
  if (weights.has({"rope_factors_short"})) {
    form.scaling = Scaling::LongRope;
    form.divisors = divisorsOf(weights, "rope_factors_short", form.size / 2);
    form.longDivisors = divisorsOf(weights, "rope_factors_long", form.size / 2);
  } else if (weights.has({"rope_freqs"})) {
    form.divisors = divisorsOf(weights, "rope_freqs", form.size / 2);
  }
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

static void checkRotary(Settings &settings, const Form &decoder, const RotaryForm &form) {
  auto isPositive = [](double value) { return value > 0 && std::isfinite(value); };
  bool needsLengths = form.scaling != Scaling::None && form.scaling != Scaling::Linear;
  if (form.size < 2 || form.size % 2 || form.size > decoder.headSize)
    settings.fail("expected rotary embeddings of an even number of elements, from 2 to the size of a head, " +
                  std::to_string(decoder.headSize) + ", got " + std::to_string(form.size));
  else if (!isPositive(form.base) || !isPositive(form.factor) || !isPositive(form.attention))
    settings.fail("expected a base and factors of rotary embeddings above 0");
  else if (needsLengths && (form.positions < 2 || form.originalPositions < 2))
    settings.fail("'" + settings.nameOf(Key::Positions) + "': scaled rotary embeddings need at least 2 positions");
  else if (form.scaling == Scaling::Dynamic && form.size < 4)
    settings.fail("dynamic rotary embeddings need at least 4 elements of a head, got " + std::to_string(form.size));
}

RotaryForm readRotary(Settings &settings, Weights &weights, const Form &decoder, double base, StringRef type) {
  RotaryForm form;
  form.base = base;
  form.positions = settings.integer(Key::Positions, 0);
  if (settings.isGguf())
    readGgufSettings(settings, weights, decoder, form);
  else
    readConfig(settings, decoder, type, form);
  if (!settings.hasFailed())
    checkRotary(settings, decoder, form);
  return form;
}
} // namespace perpend::checkpoint
