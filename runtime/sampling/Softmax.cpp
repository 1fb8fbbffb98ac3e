// All arithmetic is written out, in lanes that compilers turn into vectors without changing its order, so results have
// the same bits on every machine. libm's exp has other bits where there are fused multiply-adds.
#include "Softmax.h"
#include <cmath>
#include <cstring>

namespace perpend::sampling {

constexpr int lanes = 8;

template <typename Prefer> static inline float bestOf(const float *values, int64_t count, const Prefer &prefer) {
  float best[lanes];
  for (float &lane : best)
    lane = values[0];
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int lane = 0; lane < lanes; ++lane)
      best[lane] = prefer(values[i + lane], best[lane]);
  for (; i < count; ++i)
    best[0] = prefer(values[i], best[0]);
  for (float lane : best)
    best[0] = prefer(lane, best[0]);
  return best[0];
}

float largestOf(const float *values, int64_t count) {
  return bestOf(values, count, [](float a, float b) { return a > b ? a : b; });
}

float leastOf(const float *values, int64_t count) {
  return bestOf(values, count, [](float a, float b) { return a < b ? a : b; });
}

// exp(x) for x <= 0, within 1e-7 of it; 0 below the smallest normal number. x = n ln 2 + r; the Taylor series of exp(r)
// up to r^7 is enough for |r| <= ln(2) / 2.
static inline float exponential(float x) {
  constexpr float least = -87.0f, magic = 0x1.8p23f; // adding magic rounds to a whole number in the low bits
  const float bounded = x > least ? x : least;
  const float shifted = bounded * 0x1.715476p+0f + magic;
  const float n = shifted - magic;
  const float r = (bounded - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = (sum * r) * r + r + 1.0f;
  uint32_t power, bits;
  memcpy(&power, &shifted, sizeof power);
  memcpy(&bits, &sum, sizeof bits);
  bits += power << 23;
  memcpy(&sum, &bits, sizeof bits);
  return x > least ? sum : 0.0f;
}

static double sumOf(const float *weights, int64_t count) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane)
      sums[lane] += static_cast<double>(weights[i + lane]);
  for (; i < count; ++i)
    sums[0] += static_cast<double>(weights[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

Softmax weigh(const float *logits, int64_t count, double temperature, float *weights, double *blockSums) {
  Softmax softmax = {largestOf(logits, count), 1 / temperature, 0, 0};
  const float factor = static_cast<float>(softmax.factor);
  for (int64_t begin = 0; begin < count; begin += blockSize) {
    const int64_t size = count - begin < blockSize ? count - begin : blockSize;
    for (int64_t i = begin; i < begin + size; ++i)
      weights[i] = exponential((logits[i] - softmax.largest) * factor);
    const double sum = sumOf(weights + begin, size);
    blockSums[begin / blockSize] = sum;
    softmax.total += sum;
  }
  softmax.logTotal = log(softmax.total);
  return softmax;
}

} // namespace perpend::sampling
