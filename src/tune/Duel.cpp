//===- Duel.cpp - finds the faster of two programs ------------------------===//

#include "tune/Duel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace perpend::tune {

static constexpr double sliceSeconds = 1e-3, worthwhile = 5e-3, totalSeconds = 2, aloneSeconds = 0.3;
static constexpr size_t leastRounds = 9, mostRounds = 60, leastAlone = 5;

static double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

double medianOf(std::vector<double> values) { return quantile(std::move(values), 0.5); }

static double halfOfMiddle(const std::vector<double> &values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

/// Four standard errors of the median. With at least nine rounds, and a test after each, one of twenty equal candidates
/// appears faster; with three rounds and five, it was one of five.
static double errorOf(const std::vector<double> &values) {
  constexpr double quartilesOfSigma = 1.349, medianOfMean = 1.2533, errors = 4;
  double sigma = 2 * halfOfMiddle(values) / quartilesOfSigma;
  return errors * medianOfMean * sigma / std::sqrt(static_cast<double>(values.size()));
}

/// Number of runs in a slice. The first run plans memory and warms caches. Work before each run takes at most some
/// multiple of a slice. 0: a run fails.
static int64_t runsOfSlice(const TimedRuns &runs) {
  using Clock = std::chrono::steady_clock;
  constexpr double mostAround = 4;
  if (runs(1) < 0)
    return 0;
  Clock::time_point start = Clock::now();
  double once = runs(1), all = std::chrono::duration<double>(Clock::now() - start).count();
  if (once < 0)
    return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(sliceSeconds / std::max({once, all / mostAround, 1e-8})));
}

DuelResult duel(const TimedRuns &best, const TimedRuns &candidate) {
  DuelResult result;
  int64_t bestRuns = runsOfSlice(best), candidateRuns = runsOfSlice(candidate);
  if (!bestRuns || !candidateRuns)
    return result;
  std::vector<double> bestTimes, times, ratios;
  bool isDecided = false;
  double lower = 0, upper = 2; // bounds of the ratio
  for (double spent = 0; !isDecided && ratios.size() < mostRounds;) {
    if (ratios.size() >= leastRounds && spent >= totalSeconds)
      break;
    bool bestFirst = ratios.size() % 2 == 0;
    double a = bestFirst ? best(bestRuns) : 0, b = candidate(candidateRuns);
    if (!bestFirst)
      a = best(bestRuns);
    if (a < 0 || b < 0)
      return result;
    spent += a + b;
    bestTimes.push_back(a / static_cast<double>(bestRuns));
    times.push_back(b / static_cast<double>(candidateRuns));
    ratios.push_back(times.back() / std::max(bestTimes.back(), 1e-12));
    if (ratios.size() < leastRounds)
      continue;
    double middle = quantile(ratios, 0.5), error = errorOf(ratios);
    lower = middle - error, upper = middle + error;
    isDecided = upper < 1 - worthwhile || lower > 1 || upper - lower < worthwhile;
  }
  return {true,
          quantile(bestTimes, 0.5),
          quantile(times, 0.5),
          halfOfMiddle(times),
          quantile(ratios, 0.5),
          upper < 1 - worthwhile};
}

DuelResult timeAlone(const TimedRuns &runs) {
  constexpr double precise = 1e-2;
  int64_t count = runsOfSlice(runs);
  std::vector<double> times;
  for (double spent = 0; count && times.size() < mostRounds;) {
    double seconds = runs(count);
    if (seconds < 0)
      return {};
    spent += seconds;
    times.push_back(seconds / static_cast<double>(count));
    bool isPrecise = times.size() >= 2 * leastAlone && errorOf(times) < precise * quantile(times, 0.5);
    if (times.size() >= leastAlone && (isPrecise || spent >= aloneSeconds))
      break;
  }
  double median = quantile(times, 0.5);
  return {count != 0, median, median, halfOfMiddle(times), 1, false};
}
} // namespace perpend::tune
