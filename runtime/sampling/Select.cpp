// `largest`: the k-th largest of the maxima of blocks is a lower bound of the k-th largest value, so only the few
// blocks that reach it are looked into. `reaching`: first the 256 largest, which suffice when a model is sure;
// otherwise a histogram of weights over the range of values finds the bucket in which the sum is reached, and then one
// over the range of that bucket, until what is left is little enough to sort.
#include "Select.h"
#include "Softmax.h"
#include <algorithm>
#include <cmath>
#include <functional>

namespace perpend::sampling {

constexpr int64_t fewValues = 256, sortedValues = 2048;
constexpr int buckets = 1024;

template <typename Item> static bool isGreater(const Item &a, const Item &b) {
  return a.value > b.value || (a.value == b.value && a.position < b.position);
}

bool Selector::reserve(int64_t count) {
  return maxima.reserve(2 * blocksOf(count)) && resize(gathered, count) && resize(gatheredWeights, count) &&
         items.reserve(count);
}

Cut Selector::largest(const float *values, int64_t count, int64_t wanted) {
  if (wanted >= count)
    return {-INFINITY, count};
  const int64_t blocks = blocksOf(count);
  float bound = -INFINITY, *blockMaxima = maxima.data(), *found = gathered.data();
  for (int64_t block = 0; block < blocks; ++block)
    blockMaxima[block] = largestOf(values + block * blockSize, std::min(blockSize, count - block * blockSize));
  if (wanted <= blocks) {
    float *sorted = blockMaxima + blocks;
    std::copy(blockMaxima, sorted, sorted);
    std::nth_element(sorted, sorted + (wanted - 1), sorted + blocks, std::greater<float>());
    bound = sorted[wanted - 1];
  }
  int64_t foundCount = 0;
  for (int64_t block = 0; block < blocks; ++block)
    if (blockMaxima[block] >= bound)
      for (int64_t i = block * blockSize; i < std::min(count, (block + 1) * blockSize); ++i)
        if (values[i] >= bound)
          found[foundCount++] = values[i];
  std::nth_element(found, found + (wanted - 1), found + foundCount, std::greater<float>());
  Cut cut = {found[wanted - 1], wanted};
  for (int64_t i = 0; i < wanted; ++i)
    cut.ties -= found[i] > cut.least;
  return cut;
}

// Keeps the values of the bucket in which the sum of weights reaches `mass`, and subtracts from that the weights of
// larger values. False if all values are equal.
bool Selector::narrow(Values &all, double &mass) {
  const double most = static_cast<double>(largestOf(all.values, all.count));
  const double least = static_cast<double>(leastOf(all.values, all.count));
  if (most == least)
    return false;
  const double scale = (buckets - 1) / (most - least);
  auto bucketOf = [&](double value) { return static_cast<int>((most - value) * scale); };
  double sums[buckets] = {};
  for (int64_t i = 0; i < all.count; ++i)
    sums[bucketOf(static_cast<double>(all.values[i]))] += static_cast<double>(all.weights[i]);
  const int lastBucket = bucketOf(least);
  int reached = 0;
  for (; reached < lastBucket && sums[reached] < mass; ++reached)
    mass -= sums[reached];
  int64_t kept = 0;
  for (int64_t i = 0; i < all.count; ++i)
    if (bucketOf(static_cast<double>(all.values[i])) == reached) {
      gathered[kept] = all.values[i];
      gatheredWeights[kept++] = all.weights[i];
    }
  all = {gathered.data(), gatheredWeights.data(), kept};
  return true;
}

Cut Selector::reaching(const float *values, const float *weights, int64_t count, double mass) {
  Values all = {values, weights, count};
  Item *sorted = items.data();
  int64_t found = 0;
  double sum = 0;
  forEachIn(largest(values, count, fewValues), values, count, [&](int64_t i) {
    sorted[found] = {values[i], weights[i], static_cast<int32_t>(found)};
    sum += static_cast<double>(weights[i]);
    ++found;
  });
  if (found < count && sum < mass) {
    while (all.count > sortedValues && narrow(all, mass)) {
    }
    for (found = 0; found < all.count; ++found)
      sorted[found] = {all.values[found], all.weights[found], static_cast<int32_t>(found)};
  }
  if (!std::is_sorted(sorted, sorted + found, isGreater<Item>))
    std::sort(sorted, sorted + found, isGreater<Item>);
  int64_t last = 0;
  for (sum = 0; last < found - 1; ++last)
    if ((sum += static_cast<double>(sorted[last].weight)) >= mass)
      break;
  Cut cut = {sorted[last].value, 1};
  while (cut.ties <= last && sorted[last - cut.ties].value == cut.least)
    ++cut.ties;
  return cut;
}

} // namespace perpend::sampling
