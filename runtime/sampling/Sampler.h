// The parts of a choice: logits are edited, tokens filtered, one is drawn.
#ifndef PERPEND_RUNTIME_SAMPLING_SAMPLER_H
#define PERPEND_RUNTIME_SAMPLING_SAMPLER_H
#include "Select.h"
#include "Softmax.h"
#include "include/perpend_sampling.h"

struct perpend_sampler {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  perpend::sampling::Array<int32_t> biasTokens, stopTokens;
  perpend::sampling::Array<float> biases;

  // Memory for a vocabulary of `capacity` tokens.
  int64_t capacity = 0;
  perpend::sampling::Array<float> weights, surprises;
  perpend::sampling::Array<double> blockSums, probabilities;
  perpend::sampling::Array<uint32_t> occurrences; // all 0 between calls
  perpend::sampling::Selector selector;

  // The tokens that are still possible, by id: token i is ids[i], and i before any was removed.
  int64_t count = 0;
  bool isAll = true;
  perpend::sampling::Array<float> logits;
  perpend::sampling::Array<int32_t> ids;

  // Of the latest choice.
  bool hasLogprobs = false;
  double chosenLogprob = 0;
  perpend::sampling::Array<int32_t> topTokens;
  perpend::sampling::Array<double> topLogprobs;

  int32_t id(int64_t i) const { return isAll ? static_cast<int32_t>(i) : ids[i]; }
  bool isStop(int32_t token) const {
    for (int64_t i = 0; i < stopTokens.count(); ++i)
      if (stopTokens[i] == token)
        return true;
    return false;
  }
};

namespace perpend::sampling {

// Copies options of a caller that may know fewer fields, or more. An error leaves the sampler as it is.
perpend_status readOptions(const perpend_sampler_options &given, perpend_sampler &sampler);

// `sizeBytes` bytes of a struct over `known`, which has the defaults. Errors: INVALID_ARGUMENT, INCOMPATIBLE.
perpend_status readVersioned(const char *what, const void *given, int64_t leastBytes, void *known, int64_t knownBytes);

perpend_status checkTokens(const char *what, const int32_t *tokens, int64_t count, int64_t limit);

// The logits that the filters get, without those that are -inf.
perpend_status editLogits(perpend_sampler &sampler, const perpend_sampler_input &input);

// Errors: INVALID_DATA for a logit that is NaN or +inf.
perpend_status checkLogits(const float *logits, int64_t count, const char *what, const char *hint);
constexpr const char *hintForModel = "the model computed it; perpend check compares a model with the interpreter";

// Removes what the options do not keep, and returns the distribution of the rest; its weights are the sampler's.
Softmax filter(perpend_sampler &sampler);

} // namespace perpend::sampling
#endif
