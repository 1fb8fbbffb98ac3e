// What is done to single logits, before the tokens are compared with each other.
#include "Errors.h"
#include "Sampler.h"
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace perpend::sampling {

using runtime::fail;

perpend_status checkLogits(const float *logits, int64_t count, const char *what, const char *hint) {
  int32_t bad = 0;
  for (int64_t i = 0; i < count; ++i)
    bad |= !(logits[i] < INFINITY); // NaN, too
  for (int64_t i = 0; bad && i < count; ++i)
    if (!(logits[i] < INFINITY))
      return fail(PERPEND_INVALID_DATA, "%s of token %lld: expected a number or -inf, got %g; hint: %s", what,
                  static_cast<long long>(i), static_cast<double>(logits[i]), hint);
  return PERPEND_OK;
}

static void excludeDisallowed(const uint32_t *allowed, float *logits, int64_t count) {
  for (int64_t begin = 0; begin < count; begin += 32) {
    const uint32_t word = allowed[begin / 32];
    if (word == UINT32_MAX)
      continue;
    for (int64_t i = begin; i < count && i < begin + 32; ++i)
      logits[i] = word >> (i - begin) & 1 ? logits[i] : -INFINITY;
  }
}

// The repetition penalty counts all tokens, the others those that were generated; both those in the window only. An
// entry of `occurrences` has a 1 for a token that occurs, and twice the number of times that it was generated.
static void penalize(perpend_sampler &sampler, const perpend_sampler_input &input) {
  const perpend_sampler_options &options = sampler.options;
  const int64_t window = options.penaltyWindow;
  const int64_t first = window && window < input.tokenCount ? input.tokenCount - window : 0;
  const float repetition = static_cast<float>(options.repetitionPenalty);
  const float frequency = static_cast<float>(options.frequencyPenalty);
  const float presence = static_cast<float>(options.presencePenalty);
  uint32_t *occurrences = sampler.occurrences.data();
  for (int64_t i = first; i < input.tokenCount; ++i) {
    uint32_t &entry = occurrences[input.tokens[i]];
    entry = (entry | 1) + (i >= input.promptCount ? 2 : 0);
  }
  for (int64_t i = first; i < input.tokenCount; ++i) {
    uint32_t &entry = occurrences[input.tokens[i]];
    float &logit = sampler.logits[input.tokens[i]];
    if (entry)
      logit = logit < 0 ? logit * repetition : logit / repetition;
    if (entry > 1)
      logit = logit - static_cast<float>(entry >> 1) * frequency - presence;
    entry = 0;
  }
}

// Excludes the last token of each n-gram of the text whose first n - 1 are the latest tokens.
static void excludeNgrams(const perpend_sampler_input &input, int64_t n, float *logits) {
  if (input.tokenCount < n)
    return;
  const int32_t *tokens = input.tokens, *latest = tokens + input.tokenCount - (n - 1);
  for (int64_t i = 0; i + n <= input.tokenCount; ++i)
    if (n == 1 || !memcmp(tokens + i, latest, static_cast<size_t>(n - 1) * sizeof(int32_t)))
      logits[tokens[i + n - 1]] = -INFINITY;
}

static perpend_status checkInput(const perpend_sampler &sampler, const perpend_sampler_input &input, bool usesTokens) {
  if (!input.logits || input.count < 1 || input.count > INT32_MAX)
    return fail(PERPEND_INVALID_ARGUMENT, "sampler: expected from 1 to 2^31 - 1 logits, got %s and the number %lld",
                input.logits ? "logits" : "NULL", static_cast<long long>(input.count));
  if (input.promptCount < 0 || input.promptCount > input.tokenCount || input.tokenCount > INT32_MAX)
    return fail(PERPEND_INVALID_ARGUMENT,
                "sampler: expected a prompt of 0 or more tokens and a text that begins with it, got %lld and %lld",
                static_cast<long long>(input.promptCount), static_cast<long long>(input.tokenCount));
  if (usesTokens)
    if (const perpend_status status = checkTokens("sampler: text", input.tokens, input.tokenCount, input.count))
      return status;
  for (const Array<int32_t> *tokens : {&sampler.biasTokens, &sampler.stopTokens})
    if (const perpend_status status =
            checkTokens(tokens == &sampler.stopTokens ? "sampler: stop tokens" : "sampler: bias", tokens->data(),
                        tokens->count(), input.count))
      return status;
  return checkLogits(input.logits, input.count, "logit", hintForModel);
}

static perpend_status reserve(perpend_sampler &sampler, int64_t count) {
  if (count <= sampler.capacity)
    return PERPEND_OK;
  const int64_t occurrencesBefore = sampler.occurrences.count();
  if (!resize(sampler.logits, count) || !resize(sampler.ids, count) || !resize(sampler.weights, count) ||
      !resize(sampler.surprises, count) || !resize(sampler.probabilities, count) ||
      !resize(sampler.blockSums, blocksOf(count)) || !sampler.selector.reserve(count) ||
      !resize(sampler.occurrences, count))
    return runtime::failAllocation(count * 48);
  memset(sampler.occurrences.data() + occurrencesBefore, 0, static_cast<size_t>(count - occurrencesBefore) * 4);
  sampler.capacity = count;
  return PERPEND_OK;
}

// Those that are -inf.
static perpend_status removeExcluded(perpend_sampler &sampler) {
  float *logits = sampler.logits.data();
  int32_t excludes = 0;
  for (int64_t i = 0; i < sampler.count; ++i)
    excludes |= logits[i] == -INFINITY;
  if (!excludes)
    return PERPEND_OK;
  int64_t kept = 0;
  for (int64_t i = 0; i < sampler.count; ++i)
    if (logits[i] != -INFINITY) {
      sampler.ids[kept] = static_cast<int32_t>(i);
      logits[kept++] = logits[i];
    }
  if (!kept)
    return fail(PERPEND_INVALID_DATA,
                "sampler: expected a token that is possible, got %lld logits that are all -inf; "
                "hint: the model, the allowed tokens, the bias and the n-grams exclude tokens",
                static_cast<long long>(sampler.count));
  sampler.count = kept;
  sampler.isAll = false;
  return PERPEND_OK;
}

perpend_status editLogits(perpend_sampler &sampler, const perpend_sampler_input &input) {
  const perpend_sampler_options &options = sampler.options;
  const bool penalizes =
      options.repetitionPenalty != 1 || options.frequencyPenalty != 0 || options.presencePenalty != 0;
  perpend_status status = checkInput(sampler, input, penalizes || options.noRepeatNgram);
  if (!status)
    status = reserve(sampler, input.count);
  if (status)
    return status;
  float *logits = sampler.logits.data();
  memcpy(logits, input.logits, static_cast<size_t>(input.count) * sizeof(float));
  sampler.count = input.count;
  sampler.isAll = true;
  if (input.allowed)
    excludeDisallowed(input.allowed, logits, input.count);
  for (int64_t i = 0; i < sampler.biasTokens.count(); ++i)
    logits[sampler.biasTokens[i]] += sampler.biases[i];
  if (penalizes)
    penalize(sampler, input);
  if (options.noRepeatNgram)
    excludeNgrams(input, options.noRepeatNgram, logits);
  if (input.position < static_cast<uint64_t>(options.minTokens))
    for (int64_t i = 0; i < sampler.stopTokens.count(); ++i)
      logits[sampler.stopTokens[i]] = -INFINITY;
  if (penalizes || sampler.biasTokens.count())
    status = checkLogits(logits, input.count, "logit with penalties and bias", "they are too large");
  return status ? status : removeExcluded(sampler);
}

} // namespace perpend::sampling
