// The C interface of samplers. A draw takes the tokens by id, not by rank: when two tokens are nearly as probable as
// each other, a last bit of a logit may swap their ranks, but hardly moves the sums that are compared with the random
// number.
#include "Sampler.h"
#include "Errors.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <new>

using namespace perpend;
using namespace perpend::sampling;

static perpend_status failArgument(const char *expected) {
  return runtime::fail(PERPEND_INVALID_ARGUMENT, "sampler: expected %s, got NULL", expected);
}

perpend_status perpend_sampler_create(const perpend_sampler_options *options, perpend_sampler **sampler) {
  if (!sampler)
    return failArgument("a place for the sampler");
  void *memory = malloc(sizeof(perpend_sampler));
  if (!memory)
    return runtime::failAllocation(sizeof(perpend_sampler));
  auto *created = new (memory) perpend_sampler;
  if (options)
    if (const perpend_status status = readOptions(*options, *created)) {
      perpend_sampler_free(created);
      return status;
    }
  *sampler = created;
  return PERPEND_OK;
}

perpend_status perpend_sampler_set_options(perpend_sampler *sampler, const perpend_sampler_options *options) {
  if (!sampler)
    return failArgument("a sampler");
  const perpend_sampler_options defaults = PERPEND_SAMPLER_DEFAULTS;
  return readOptions(options ? *options : defaults, *sampler);
}

void perpend_sampler_free(perpend_sampler *sampler) {
  if (sampler)
    sampler->~perpend_sampler();
  free(sampler);
}

// The position among the tokens kept.
static int64_t draw(const perpend_sampler &sampler, const Softmax &softmax, double random) {
  double left = random * softmax.total;
  int64_t chosenBlock = 0, chosen = 0;
  // Rounding may leave a little behind the last one, which then gets it.
  for (int64_t block = 0; block < blocksOf(sampler.count); ++block)
    if (sampler.blockSums[block] > 0) {
      chosenBlock = block;
      if (left < sampler.blockSums[block])
        break;
      left -= sampler.blockSums[block];
    }
  for (int64_t i = chosenBlock * blockSize; i < std::min(sampler.count, (chosenBlock + 1) * blockSize); ++i)
    if (sampler.weights[i] > 0) {
      chosen = i;
      if ((left -= static_cast<double>(sampler.weights[i])) < 0)
        break;
    }
  return chosen;
}

namespace {
// A distribution over tokens 0 to count - 1, or over ids.
struct Distribution {
  const float *logits;
  int64_t count;
  Softmax softmax;
};
} // namespace

// The most probable tokens, by rank.
static perpend_status nameMostProbable(perpend_sampler &sampler, const Distribution &of, bool isOfModel) {
  const int64_t wanted = std::min<int64_t>(of.count, sampler.options.topLogprobs);
  if (!resize(sampler.topTokens, wanted) || !resize(sampler.topLogprobs, wanted))
    return runtime::failAllocation(wanted * 12);
  if (!wanted)
    return PERPEND_OK;
  int32_t *positions = sampler.topTokens.data();
  int64_t found = 0;
  forEachIn(sampler.selector.largest(of.logits, of.count, wanted), of.logits, of.count,
            [&](int64_t i) { positions[found++] = static_cast<int32_t>(i); });
  std::sort(positions, positions + found, [&](int32_t a, int32_t b) {
    return of.logits[a] > of.logits[b] || (of.logits[a] == of.logits[b] && a < b);
  });
  while (found && of.logits[positions[found - 1]] == -INFINITY)
    --found;
  for (int64_t i = 0; i < found; ++i) {
    sampler.topLogprobs[i] = of.softmax.logProbability(of.logits[positions[i]]);
    positions[i] = isOfModel ? positions[i] : sampler.id(positions[i]);
  }
  sampler.topTokens.shrink(found);
  sampler.topLogprobs.shrink(found);
  return PERPEND_OK;
}

static perpend_status findLogprobs(perpend_sampler &sampler, const perpend_sampler_input &input, const Softmax &drawn,
                                   int64_t chosen) {
  const bool isOfModel = sampler.options.logprobsOf == PERPEND_LOGPROBS_OF_MODEL;
  Distribution of = {sampler.logits.data(), sampler.count, drawn};
  if (isOfModel)
    of = {input.logits, input.count,
          weigh(input.logits, input.count, 1, sampler.weights.data(), sampler.blockSums.data())};
  if (const perpend_status status = nameMostProbable(sampler, of, isOfModel))
    return status;
  sampler.chosenLogprob = of.softmax.logProbability(of.logits[isOfModel ? sampler.id(chosen) : chosen]);
  sampler.hasLogprobs = true;
  return PERPEND_OK;
}

perpend_status perpend_sampler_sample(perpend_sampler *sampler, const perpend_sampler_input *input, int32_t *token) {
  if (!sampler || !input || !token)
    return failArgument("a sampler, its input and a place for the token");
  if (const perpend_status status = editLogits(*sampler, *input))
    return status;
  const Softmax softmax = filter(*sampler);
  const int64_t chosen = draw(*sampler, softmax, randomNumber(sampler->options.seed, input->choice, input->position));
  if (sampler->options.topLogprobs >= 0)
    if (const perpend_status status = findLogprobs(*sampler, *input, softmax, chosen))
      return status;
  *token = sampler->id(chosen);
  return PERPEND_OK;
}

int32_t perpend_sampler_stops(const perpend_sampler *sampler, int32_t token) { return sampler->isStop(token); }

perpend_status perpend_sampler_logprobs(const perpend_sampler *sampler, double *chosen, const int32_t **tokens,
                                        const double **logprobs, int32_t *count) {
  if (!sampler || !chosen || !tokens || !logprobs || !count)
    return failArgument("a sampler and places for the log-probabilities");
  if (!sampler->hasLogprobs)
    return runtime::fail(PERPEND_INVALID_ARGUMENT, "sampler: expected a choice with log-probabilities, got none; hint: "
                                                   "create the sampler with topLogprobs of 0 or more");
  *chosen = sampler->chosenLogprob;
  *tokens = sampler->topTokens.data();
  *logprobs = sampler->topLogprobs.data();
  *count = static_cast<int32_t>(sampler->topTokens.count());
  return PERPEND_OK;
}

perpend_status perpend_sampler_distribution(perpend_sampler *sampler, const perpend_sampler_input *input,
                                            const int32_t **tokens, const double **probabilities, int64_t *count) {
  if (!sampler || !input || !tokens || !probabilities || !count)
    return failArgument("a sampler, its input and places for the distribution");
  if (const perpend_status status = editLogits(*sampler, *input))
    return status;
  const Softmax softmax = filter(*sampler);
  for (int64_t i = 0; i < sampler->count; ++i) {
    sampler->probabilities[i] = static_cast<double>(sampler->weights[i]) / softmax.total;
    sampler->ids[i] = sampler->id(i);
  }
  *tokens = sampler->ids.data();
  *probabilities = sampler->probabilities.data();
  *count = sampler->count;
  return PERPEND_OK;
}

perpend_status perpend_sampler_edit(perpend_sampler *sampler, const perpend_sampler_input *input, float *edited) {
  if (!sampler || !input || !edited)
    return failArgument("a sampler, its input and a place for logits");
  if (const perpend_status status = editLogits(*sampler, *input))
    return status;
  std::fill(edited, edited + input->count, -INFINITY);
  for (int64_t i = 0; i < sampler->count; ++i)
    edited[sampler->id(i)] = sampler->logits[i];
  return PERPEND_OK;
}

perpend_status perpend_sampler_score(perpend_sampler *sampler, const perpend_sampler_input *input, float *logprobs) {
  if (const perpend_status status = perpend_sampler_edit(sampler, input, logprobs)) // checks the logits
    return status;
  const Softmax softmax = weigh(input->logits, input->count, 1, sampler->weights.data(), sampler->blockSums.data());
  for (int64_t i = 0; i < input->count; ++i)
    logprobs[i] = static_cast<float>(softmax.logProbability(input->logits[i]));
  perpend_sampler_input scored = *input;
  scored.logits = logprobs;
  return perpend_sampler_edit(sampler, &scored, logprobs);
}

double perpend_random_number(uint64_t seed, uint32_t choice, uint64_t position) {
  return randomNumber(seed, choice, position);
}
