// What is wrong with options is said when a sampler is created, as far as the vocabulary's size is not needed.
#include "Errors.h"
#include "Sampler.h"
#include <cmath>
#include <cstring>

namespace perpend::sampling {

using runtime::fail;

perpend_status readVersioned(const char *what, const void *given, int64_t leastBytes, void *known, int64_t knownBytes) {
  int64_t sizeBytes;
  memcpy(&sizeBytes, given, sizeof sizeBytes);
  if (sizeBytes < leastBytes || sizeBytes > 4096)
    return fail(PERPEND_INVALID_ARGUMENT, "%s: expected sizeBytes to be the size of the struct, %lld, got %lld", what,
                static_cast<long long>(knownBytes), static_cast<long long>(sizeBytes));
  const char *bytes = static_cast<const char *>(given);
  for (int64_t i = knownBytes; i < sizeBytes; ++i)
    if (bytes[i])
      return fail(
          PERPEND_INCOMPATIBLE,
          "%s: expected nothing after the %lld bytes that this version knows, got an option in byte %lld; hint: "
          "link a newer libperpend_sampling.a",
          what, static_cast<long long>(knownBytes), static_cast<long long>(i));
  memcpy(known, given, static_cast<size_t>(sizeBytes < knownBytes ? sizeBytes : knownBytes));
  return PERPEND_OK;
}

static perpend_status failNumber(const char *option, const char *expected, double got) {
  return fail(PERPEND_INVALID_ARGUMENT, "sampler: %s: expected %s, got %g", option, expected, got);
}

static perpend_status checkNumbers(const perpend_sampler_options &options) {
  if (!(options.temperature >= 0 && options.temperature < INFINITY))
    return failNumber("temperature", "a number, 0 (greedy) or above", options.temperature);
  if (options.topK < 0)
    return failNumber("top-k", "a number of tokens, or 0 (all)", options.topK);
  if (!(options.topP >= 0 && options.topP <= 1))
    return failNumber("top-p", "a probability from 0 to 1", options.topP);
  if (!(options.minP >= 0 && options.minP <= 1))
    return failNumber("min-p", "a probability from 0 to 1", options.minP);
  if (!(options.typicalP > 0 && options.typicalP <= 1))
    return failNumber("typical-p", "a probability above 0, up to 1", options.typicalP);
  const float repetition = static_cast<float>(options.repetitionPenalty);
  if (!(repetition > 0 && repetition < INFINITY))
    return failNumber("repetition penalty", "a number above 0; 1 is none", options.repetitionPenalty);
  if (!std::isfinite(static_cast<float>(options.presencePenalty)))
    return failNumber("presence penalty", "a number", options.presencePenalty);
  if (!std::isfinite(static_cast<float>(options.frequencyPenalty)))
    return failNumber("frequency penalty", "a number", options.frequencyPenalty);
  return PERPEND_OK;
}

static perpend_status checkCounts(const perpend_sampler_options &options) {
  if (options.penaltyWindow < 0)
    return failNumber("penalty window", "a number of tokens, or 0 (all)", static_cast<double>(options.penaltyWindow));
  if (options.noRepeatNgram < 0)
    return failNumber("n-grams", "a number of tokens, or 0 (they may repeat)", options.noRepeatNgram);
  if (options.minTokens < 0)
    return failNumber("least number of tokens", "0 or more", options.minTokens);
  if (options.topLogprobs < -1)
    return failNumber("top log-probabilities", "a number of tokens, or -1 (none at all)", options.topLogprobs);
  if (options.order != PERPEND_TEMPERATURE_FIRST && options.order != PERPEND_TEMPERATURE_LAST)
    return failNumber("order", "PERPEND_TEMPERATURE_FIRST or PERPEND_TEMPERATURE_LAST", options.order);
  if (options.logprobsOf != PERPEND_LOGPROBS_OF_MODEL && options.logprobsOf != PERPEND_LOGPROBS_OF_DRAW)
    return failNumber("log-probabilities", "PERPEND_LOGPROBS_OF_MODEL or PERPEND_LOGPROBS_OF_DRAW", options.logprobsOf);
  return PERPEND_OK;
}

perpend_status checkTokens(const char *what, const int32_t *tokens, int64_t count, int64_t limit) {
  if (count < 0 || (count && !tokens))
    return fail(PERPEND_INVALID_ARGUMENT, "%s: expected tokens and their number, got %s and %lld", what,
                tokens ? "tokens" : "NULL", static_cast<long long>(count));
  for (int64_t i = 0; i < count; ++i)
    if (tokens[i] < 0 || tokens[i] >= limit)
      return fail(PERPEND_INVALID_DATA, "%s: expected token %lld to be in a vocabulary of %lld, got %d", what,
                  static_cast<long long>(i), static_cast<long long>(limit), static_cast<int>(tokens[i]));
  return PERPEND_OK;
}

static perpend_status checkBiases(const perpend_sampler_options &options) {
  if (options.biasCount > 0 && !options.biases)
    return fail(PERPEND_INVALID_ARGUMENT, "sampler: bias: expected a number for each token, got NULL");
  for (int32_t i = 0; i < options.biasCount; ++i)
    if (!(options.biases[i] < INFINITY)) // NaN, too
      return fail(PERPEND_INVALID_ARGUMENT,
                  "sampler: bias of token %d: expected a number, or -inf to exclude the token, got %g",
                  static_cast<int>(options.biasTokens[i]), static_cast<double>(options.biases[i]));
  return PERPEND_OK;
}

static perpend_status checkOptions(const perpend_sampler_options &options) {
  perpend_status status = checkNumbers(options);
  if (!status)
    status = checkCounts(options);
  if (!status)
    status = checkTokens("sampler: bias", options.biasTokens, options.biasCount, INT64_MAX);
  if (!status)
    status = checkBiases(options);
  if (!status)
    status = checkTokens("sampler: stop tokens", options.stopTokens, options.stopTokenCount, INT64_MAX);
  return status ? PERPEND_INVALID_ARGUMENT : PERPEND_OK;
}

template <typename T> static void replace(Array<T> &array, const T *elements, int64_t count) {
  array.shrink(0);
  array.add(elements, count); // there is room
}

perpend_status readOptions(const perpend_sampler_options &given, perpend_sampler &sampler) {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  constexpr int64_t knownBytes = sizeof(perpend_sampler_options);
  if (const perpend_status status = readVersioned("sampler", &given, knownBytes, &options, knownBytes))
    return status;
  if (const perpend_status status = checkOptions(options))
    return status;
  if (!sampler.biasTokens.reserve(options.biasCount) || !sampler.biases.reserve(options.biasCount) ||
      !sampler.stopTokens.reserve(options.stopTokenCount))
    return runtime::failAllocation((options.biasCount + int64_t{options.stopTokenCount}) * 8);
  replace(sampler.biasTokens, options.biasTokens, options.biasCount);
  replace(sampler.biases, options.biases, options.biasCount);
  replace(sampler.stopTokens, options.stopTokens, options.stopTokenCount);
  options.biasTokens = options.stopTokens = nullptr; // the caller's
  options.biases = nullptr;
  if (options.temperature > 0) // as a number of single precision
    options.temperature = std::fmax(std::fmin(options.temperature, 1e38), 1e-37);
  sampler.options = options;
  sampler.hasLogprobs = false;
  return PERPEND_OK;
}

} // namespace perpend::sampling
