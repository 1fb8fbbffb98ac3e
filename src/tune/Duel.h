//===- Duel.h - finds the faster of two programs ----------------*- C++ -*-===//

#ifndef PERPEND_TUNE_DUEL_H
#define PERPEND_TUNE_DUEL_H

#include <cstdint>
#include <functional>
#include <vector>

namespace perpend::tune {

/// Runs this many times and returns the seconds taken; negative: a run failed.
using TimedRuns = std::function<double(int64_t runs)>;

struct DuelResult {
  bool isDone = false; ///< true if no run failed
  /// Median times of a run.
  double bestSeconds = 0, seconds = 0, spreadSeconds = 0;
  double ratio = 1;      ///< median of seconds to bestSeconds
  bool isFaster = false; ///< the candidate is significantly faster
};

/// The median; 0 if the list is empty.
double medianOf(std::vector<double> values);

/// Runs both alternately until it is certain which is faster, or until the difference is not worth more runs.
DuelResult duel(const TimedRuns &best, const TimedRuns &candidate);
/// Runs one program until its median is known to a percent, or time is up. The ratio is 1.
DuelResult timeAlone(const TimedRuns &runs);
} // namespace perpend::tune

#endif
