//===- Duel.h - which of two is faster ---------------------------*- C++ -*-===//

#ifndef PERPEND_TUNE_DUEL_H
#define PERPEND_TUNE_DUEL_H

#include <cstdint>
#include <functional>
#include <vector>

namespace perpend::tune {

/// Runs so often, and says how many seconds that took. Negative: a run fails.
using TimedRuns = std::function<double(int64_t runs)>;

struct DuelResult {
  bool isDone = false; ///< no run failed
  /// Median times of a run.
  double bestSeconds = 0, seconds = 0, spreadSeconds = 0;
  double ratio = 1;      ///< median of seconds to bestSeconds
  bool isFaster = false; ///< the candidate is, surely
};

/// 0: of none.
double medianOf(std::vector<double> values);

/// Both in turns, until it is certain which is faster, or that the difference is not worth more runs.
DuelResult duel(const TimedRuns &best, const TimedRuns &candidate);
/// One alone, until its median is known to a percent or the time is over. The ratio is 1.
DuelResult timeAlone(const TimedRuns &runs);
} // namespace perpend::tune

#endif
