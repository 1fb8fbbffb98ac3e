//===- Sampling.cpp - Python bindings of decoding strategies --------------===//
//
// perpend/sampling.py has the classes that users see. Calls hold the interpreter lock, because two threads must not
// use an object at once; their results are copied before any Python object is made.
//
//===----------------------------------------------------------------------===//

#include "python/Sampling.h"

#include "python/Arrays.h"
#include "support/ReadableText.h"

#include "perpend_sampling.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
static void check(perpend_status status) {
  if (status == PERPEND_OK)
    return;
  PyErr_SetString(status == PERPEND_OUT_OF_MEMORY ? PyExc_MemoryError : PyExc_ValueError,
                  support::readable(perpend_error_message(), "\n\t").c_str());
  throw nb::python_error();
}

/// Errors: TypeError for another type or rank.
static void requireArray(const InputArray &array, const std::string &what, perpend_type type, int32_t rank) {
  if (array.type == type && array.rank == rank)
    return;
  std::string expected = rank == 1 ? "a vector" : "a matrix";
  throw nb::type_error((what + ": expected " + expected + " of " + perpend_type_name(type) + ", got rank " +
                        std::to_string(array.rank) + " and " + perpend_type_name(array.type))
                           .c_str());
}

/// Token ids of any integer type.
static std::vector<int32_t> tokensOf(nb::handle object, const std::string &what) {
  InputArray array;
  array.read(object, what.c_str(), PERPEND_I64);
  if (array.type != PERPEND_I32)
    requireArray(array, what, PERPEND_I64, 1);
  int64_t count = countOf(array.tensor());
  std::vector<int32_t> tokens(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t token = array.type == PERPEND_I32 ? static_cast<const int32_t *>(array.data)[i]
                                              : static_cast<const int64_t *>(array.data)[i];
    tokens[i] = static_cast<int32_t>(token);
    if (tokens[i] != token)
      throw nb::value_error((what + ": expected token ids, got " + std::to_string(token)).c_str());
  }
  return tokens;
}

template <typename T> static nb::object arrayOf(perpend_type type, const std::vector<T> &values) {
  int64_t count = static_cast<int64_t>(values.size());
  OutputArray array(nullptr, type, &count, 1);
  std::copy(values.begin(), values.end(), static_cast<T *>(array.data));
  return array.take();
}

//===----------------------------------------------------------------------===//
// Sampler
//===----------------------------------------------------------------------===//

namespace {
/// The input of a choice, with its memory.
struct Choice {
  Choice(nb::handle logits, nb::handle text, int64_t promptCount, uint32_t choice, uint64_t position,
         nb::handle allowed) {
    array.read(logits, "logits", PERPEND_F32);
    requireArray(array, "logits", PERPEND_F32, 1);
    if (!text.is_none())
      tokens = tokensOf(text, "tokens");
    input.logits = static_cast<const float *>(array.data);
    input.count = array.extents[0];
    input.tokens = tokens.data();
    input.tokenCount = static_cast<int64_t>(tokens.size());
    input.promptCount = promptCount;
    input.choice = choice;
    input.position = position;
    if (!allowed.is_none())
      readAllowed(allowed);
  }
  void readAllowed(nb::handle allowed) {
    InputArray mask;
    mask.read(allowed, "allowed", PERPEND_BOOL);
    requireArray(mask, "allowed", PERPEND_BOOL, 1);
    if (mask.extents[0] != input.count)
      throw nb::value_error(("allowed: expected a truth value for each of " + std::to_string(input.count) +
                             " tokens, got " + std::to_string(mask.extents[0]))
                                .c_str());
    words.assign((input.count + 31) / 32, 0);
    for (int64_t i = 0; i < input.count; ++i)
      words[i / 32] |= uint32_t{static_cast<const uint8_t *>(mask.data)[i] != 0} << i % 32;
    input.allowed = words.data();
  }

  InputArray array;
  std::vector<int32_t> tokens;
  std::vector<uint32_t> words;
  perpend_sampler_input input = {};
};

class Sampler {
public:
  Sampler(nb::dict numbers, const std::vector<std::pair<int32_t, float>> &bias, const std::vector<int32_t> &stopTokens);
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;
  ~Sampler() { perpend_sampler_free(sampler); }

  std::pair<int32_t, bool> sample(nb::object logits, nb::object tokens, int64_t promptCount, uint32_t choice,
                                  uint64_t position, nb::object allowed) {
    Choice given(logits, tokens, promptCount, choice, position, allowed);
    int32_t token = 0;
    check(perpend_sampler_sample(sampler, &given.input, &token));
    return {token, perpend_sampler_stops(sampler, token) != 0};
  }
  std::pair<double, std::vector<std::pair<int32_t, double>>> logprobs() const {
    double chosen = 0;
    const int32_t *tokens = nullptr;
    const double *values = nullptr;
    int32_t count = 0;
    check(perpend_sampler_logprobs(sampler, &chosen, &tokens, &values, &count));
    std::vector<std::pair<int32_t, double>> top;
    for (int32_t i = 0; i < count; ++i)
      top.emplace_back(tokens[i], values[i]);
    return {chosen, top};
  }
  nb::object distribution(nb::object logits, nb::object text, int64_t promptCount, uint64_t position,
                          nb::object allowed) {
    Choice given(logits, text, promptCount, 0, position, allowed);
    const int32_t *tokens = nullptr;
    const double *values = nullptr;
    int64_t count = 0;
    check(perpend_sampler_distribution(sampler, &given.input, &tokens, &values, &count));
    std::vector<int32_t> ids(tokens, tokens + count);
    std::vector<double> probabilities(values, values + count);
    return nb::make_tuple(arrayOf(PERPEND_I32, ids), arrayOf(PERPEND_F64, probabilities));
  }
  nb::object edit(nb::object logits, nb::object text, int64_t promptCount, uint64_t position, nb::object allowed) {
    Choice given(logits, text, promptCount, 0, position, allowed);
    std::vector<float> edited(given.input.count);
    check(perpend_sampler_edit(sampler, &given.input, edited.data()));
    return arrayOf(PERPEND_F32, edited);
  }

private:
  perpend_sampler *sampler = nullptr;
};
} // namespace

/// The number of that name. Errors: TypeError for another type, or a number outside of the field's range.
template <typename T> static void readNumber(nb::dict numbers, const char *name, T &field) {
  nb::object value = numbers[name];
  if (!nb::try_cast(value, field))
    throw nb::type_error((std::string(name) + ": expected a number" + (std::is_integral_v<T> ? " that is whole" : "") +
                          ", in range, got " + nb::cast<std::string>(nb::repr(value)))
                             .c_str());
}

SamplerSettings::SamplerSettings(nb::dict numbers, const std::vector<std::pair<int32_t, float>> &bias,
                                 std::vector<int32_t> stops)
    : stopTokens(std::move(stops)) {
  readNumber(numbers, "temperature", options.temperature);
  readNumber(numbers, "top_k", options.topK);
  readNumber(numbers, "top_p", options.topP);
  readNumber(numbers, "min_p", options.minP);
  readNumber(numbers, "typical_p", options.typicalP);
  readNumber(numbers, "repetition_penalty", options.repetitionPenalty);
  readNumber(numbers, "presence_penalty", options.presencePenalty);
  readNumber(numbers, "frequency_penalty", options.frequencyPenalty);
  readNumber(numbers, "penalty_window", options.penaltyWindow);
  readNumber(numbers, "no_repeat_ngram", options.noRepeatNgram);
  readNumber(numbers, "min_tokens", options.minTokens);
  readNumber(numbers, "seed", options.seed);
  readNumber(numbers, "top_logprobs", options.topLogprobs);
  options.order = nb::cast<bool>(numbers["temperature_last"]) ? PERPEND_TEMPERATURE_LAST : PERPEND_TEMPERATURE_FIRST;
  options.logprobsOf = nb::cast<bool>(numbers["of_draw"]) ? PERPEND_LOGPROBS_OF_DRAW : PERPEND_LOGPROBS_OF_MODEL;
  for (auto [token, value] : bias) {
    biasTokens.push_back(token);
    biases.push_back(value);
  }
  options.biasCount = static_cast<int32_t>(bias.size());
  options.biasTokens = biasTokens.data();
  options.biases = biases.data();
  options.stopTokens = stopTokens.data();
  options.stopTokenCount = static_cast<int32_t>(stopTokens.size());
}

Sampler::Sampler(nb::dict numbers, const std::vector<std::pair<int32_t, float>> &bias,
                 const std::vector<int32_t> &stopTokens) {
  const SamplerSettings settings(numbers, bias, stopTokens);
  check(perpend_sampler_create(&settings.options, &sampler));
}

//===----------------------------------------------------------------------===//
// Stop strings and beams
//===----------------------------------------------------------------------===//

namespace {
class StopStrings {
public:
  explicit StopStrings(const std::vector<nb::bytes> &texts) {
    std::vector<perpend_string> strings;
    for (const nb::bytes &text : texts)
      strings.push_back({text.c_str(), static_cast<int64_t>(text.size())});
    check(perpend_stop_create(strings.data(), static_cast<int32_t>(strings.size()), &stop));
  }
  StopStrings(const StopStrings &) = delete;
  StopStrings &operator=(const StopStrings &) = delete;
  ~StopStrings() { perpend_stop_free(stop); }

  std::pair<nb::bytes, int32_t> add(nb::bytes piece) {
    perpend_string released;
    int32_t found = -1;
    check(perpend_stop_add(stop, {piece.c_str(), static_cast<int64_t>(piece.size())}, &released, &found));
    return {bytesOf(released), found};
  }
  nb::bytes finish() {
    perpend_string released;
    check(perpend_stop_finish(stop, &released));
    return bytesOf(released);
  }

private:
  static nb::bytes bytesOf(perpend_string text) {
    return nb::bytes(text.sizeBytes ? text.data : "", static_cast<size_t>(text.sizeBytes));
  }
  perpend_stop *stop = nullptr;
};

class BeamSearch {
public:
  using Beam = std::tuple<std::vector<int32_t>, double, int32_t>; ///< tokens, score, parent

  BeamSearch(int32_t count, int32_t ending, double lengthPenalty, int64_t maxTokens,
             const std::vector<int32_t> &stopTokens, bool areLogprobs) {
    perpend_beams_options options = PERPEND_BEAMS_DEFAULTS;
    options.beams = count;
    options.ending = ending;
    options.lengthPenalty = lengthPenalty;
    options.maxTokens = maxTokens;
    options.stopTokens = stopTokens.data();
    options.stopTokenCount = static_cast<int32_t>(stopTokens.size());
    options.rowsAreLogprobs = areLogprobs;
    check(perpend_beams_create(&options, &beams));
  }
  BeamSearch(const BeamSearch &) = delete;
  BeamSearch &operator=(const BeamSearch &) = delete;
  ~BeamSearch() { perpend_beams_free(beams); }

  void step(nb::object logits) {
    InputArray array;
    array.read(logits, "logits", PERPEND_F32);
    requireArray(array, "logits", PERPEND_F32, 2);
    check(perpend_beams_step(beams, static_cast<const float *>(array.data), static_cast<int32_t>(array.extents[0]),
                             array.extents[1]));
  }
  std::vector<Beam> live() { return list(perpend_beams_live_count(beams), perpend_beams_live); }
  std::vector<Beam> finished() { return list(perpend_beams_finished_count(beams), perpend_beams_finished); }

private:
  std::vector<Beam> list(int32_t count, perpend_status (*read)(perpend_beams *, int32_t, perpend_beam *)) {
    std::vector<Beam> all;
    for (int32_t i = 0; i < count; ++i) {
      perpend_beam beam;
      check(read(beams, i, &beam));
      all.emplace_back(std::vector<int32_t>(beam.tokens, beam.tokens + beam.count), beam.score, beam.parent);
    }
    return all;
  }
  perpend_beams *beams = nullptr;
};
} // namespace

void bindSampling(nb::module_ &module) {
  nb::class_<Sampler>(module, "Sampler", "Chooses the next token from logits.")
      .def(nb::init<nb::dict, const std::vector<std::pair<int32_t, float>> &, const std::vector<int32_t> &>(),
           "numbers"_a, "bias"_a, "stop_tokens"_a)
      .def("sample", &Sampler::sample, "logits"_a, "tokens"_a.none(), "prompt_count"_a, "choice"_a, "position"_a,
           "allowed"_a.none())
      .def("logprobs", &Sampler::logprobs)
      .def("distribution", &Sampler::distribution, "logits"_a, "tokens"_a.none(), "prompt_count"_a, "position"_a,
           "allowed"_a.none())
      .def("edit", &Sampler::edit, "logits"_a, "tokens"_a.none(), "prompt_count"_a, "position"_a, "allowed"_a.none());
  nb::class_<StopStrings>(module, "StopStrings", "Looks for stop strings in a text that arrives in pieces.")
      .def(nb::init<const std::vector<nb::bytes> &>(), "strings"_a)
      .def("add", &StopStrings::add, "piece"_a)
      .def("finish", &StopStrings::finish);
  nb::class_<BeamSearch>(module, "BeamSearch", "Beam search over rows of logits.")
      .def(nb::init<int32_t, int32_t, double, int64_t, const std::vector<int32_t> &, bool>(), "beams"_a, "ending"_a,
           "length_penalty"_a, "max_tokens"_a, "stop_tokens"_a, "logprobs"_a)
      .def("step", &BeamSearch::step, "logits"_a)
      .def_prop_ro("live", &BeamSearch::live)
      .def_prop_ro("finished", &BeamSearch::finished);
  module.def("random_number", &perpend_random_number, "seed"_a, "choice"_a, "position"_a);
}
} // namespace perpend::python
