// Weights of tokens: exp((logit - largest logit) / temperature), and their sum.
#ifndef PERPEND_RUNTIME_SAMPLING_SOFTMAX_H
#define PERPEND_RUNTIME_SAMPLING_SOFTMAX_H
#include <cstdint>

namespace perpend::sampling {

constexpr int64_t blockSize = 32;
inline int64_t blocksOf(int64_t count) { return (count + blockSize - 1) / blockSize; }

struct Softmax {
  float largest; // logit
  double factor; // 1 / temperature
  double total;  // of all weights; at least 1
  double logTotal;

  double logWeight(float logit) const { return (static_cast<double>(logit) - largest) * factor; }
  double logProbability(float logit) const { return logWeight(logit) - logTotal; }
};

// Of `count` values, at least one and none of them NaN.
float largestOf(const float *values, int64_t count);
float leastOf(const float *values, int64_t count);

// Writes the weights, and the sum of each block of them. Logits are finite or -inf, and not all -inf.
Softmax weigh(const float *logits, int64_t count, double temperature, float *weights, double *blockSums);

} // namespace perpend::sampling
#endif
