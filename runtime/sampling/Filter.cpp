// Each filter computes the distribution of what the one before it has left.
#include "Sampler.h"
#include <cmath>

namespace perpend::sampling {

static Softmax weighAll(perpend_sampler &sampler, double temperature) {
  return weigh(sampler.logits.data(), sampler.count, temperature, sampler.weights.data(), sampler.blockSums.data());
}

// Keeps the tokens whose values are in the set.
static void keep(perpend_sampler &sampler, Cut cut, const float *values) {
  float *logits = sampler.logits.data();
  int32_t *ids = sampler.ids.data();
  int64_t kept = 0;
  forEachIn(cut, values, sampler.count, [&](int64_t i) {
    ids[kept] = sampler.id(i);
    logits[kept++] = logits[i];
  });
  sampler.isAll = sampler.isAll && kept == sampler.count;
  sampler.count = kept;
}

static void keepLargest(perpend_sampler &sampler, int32_t wanted) {
  if (wanted && wanted < sampler.count)
    keep(sampler, sampler.selector.largest(sampler.logits.data(), sampler.count, wanted), sampler.logits.data());
}

static void keepProbable(perpend_sampler &sampler, double temperature, double sum) {
  if (sum >= 1)
    return;
  const Softmax softmax = weighAll(sampler, temperature);
  const Cut cut =
      sampler.selector.reaching(sampler.logits.data(), sampler.weights.data(), sampler.count, sum * softmax.total);
  keep(sampler, cut, sampler.logits.data());
}

static void keepAtLeast(perpend_sampler &sampler, double temperature, double share) {
  if (share <= 0)
    return;
  weighAll(sampler, temperature); // the largest weight is 1
  float least = static_cast<float>(share);
  if (static_cast<double>(least) < share)
    least = std::nextafter(least, 2.0f);
  keep(sampler, {least, sampler.count}, sampler.weights.data());
}

static void keepTypical(perpend_sampler &sampler, double temperature, double sum) {
  if (sum >= 1)
    return;
  const Softmax softmax = weighAll(sampler, temperature);
  double mean = 0; // of the logarithms of weights
  for (int64_t i = 0; i < sampler.count; ++i)
    if (sampler.weights[i] > 0)
      mean += static_cast<double>(sampler.weights[i]) * softmax.logWeight(sampler.logits[i]);
  mean /= softmax.total;
  for (int64_t i = 0; i < sampler.count; ++i) // how far the surprise is from the entropy, below 0
    sampler.surprises[i] = -static_cast<float>(std::fmin(std::fabs(softmax.logWeight(sampler.logits[i]) - mean), 1e30));
  const Cut cut =
      sampler.selector.reaching(sampler.surprises.data(), sampler.weights.data(), sampler.count, sum * softmax.total);
  keep(sampler, cut, sampler.surprises.data());
}

Softmax filter(perpend_sampler &sampler) {
  const perpend_sampler_options &options = sampler.options;
  if (options.temperature == 0) {
    keepLargest(sampler, 1);
    return weighAll(sampler, 1);
  }
  keepLargest(sampler, options.topK);
  if (options.order == PERPEND_TEMPERATURE_FIRST) {
    keepProbable(sampler, options.temperature, options.topP);
    keepAtLeast(sampler, options.temperature, options.minP);
    keepTypical(sampler, options.temperature, options.typicalP);
  } else {
    keepTypical(sampler, 1, options.typicalP);
    keepProbable(sampler, 1, options.topP);
    keepAtLeast(sampler, 1, options.minP);
  }
  return weighAll(sampler, options.temperature);
}

} // namespace perpend::sampling
