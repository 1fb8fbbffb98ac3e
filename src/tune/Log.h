//===- Log.h - what happened in a run of tuning ------------------*- C++ -*-===//

#ifndef PERPEND_TUNE_LOG_H
#define PERPEND_TUNE_LOG_H

#include "tune/Tuner.h"

namespace perpend::tune {

/// A candidate has been measured, or was none.
struct Event {
  double time = 0; ///< seconds since the run began
  std::string kernel, extents;
  /// From the compiler's own trace to this one: "- " and a line that is gone, "+ " and one that is new.
  std::vector<std::string> changes;
  Outcome outcome;
  double seconds = 0;   ///< of a call, on the machine as it was when the best one was measured; 0: not measured
  bool isGiven = false; ///< the compiler's own trace
};

class Log {
public:
  using Clock = std::function<double()>;

  /// `clock` tells the seconds since the run began; without one they are counted from now on.
  explicit Log(Clock clock = {});
  /// What a tuner's progress says.
  void add(const Job &job, const Outcome &outcome);
  llvm::ArrayRef<Event> events() const { return list; }
  /// Of the last event.
  double duration() const { return list.empty() ? 0 : list.back().time; }

private:
  Clock clock;
  std::vector<Event> list;
};

/// "measured", "refused", "wrong", "crashed", "timed out"
llvm::StringRef nameOf(Outcome::Kind kind);
} // namespace perpend::tune

#endif
