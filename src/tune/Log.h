//===- Log.h - events of a tuning run ---------------------------*- C++ -*-===//

#ifndef PERPEND_TUNE_LOG_H
#define PERPEND_TUNE_LOG_H

#include "tune/Tuner.h"

namespace perpend::tune {

/// A candidate was measured, or rejected.
struct Event {
  double time = 0; ///< seconds since the run began
  std::string kernel, extents;
  /// The difference from the compiler's own trace: "- " and a removed line, "+ " and an added one.
  std::vector<std::string> changes;
  Outcome outcome;
  double seconds = 0;   ///< time of a call, normalised to the measurement of the best one; 0: not measured
  bool isGiven = false; ///< it is the compiler's own trace
};

class Log {
public:
  using Clock = std::function<double()>;

  /// `clock` returns the seconds since the run started; by default counted from construction.
  explicit Log(Clock clock = {});
  /// To be called with the tuner's progress.
  void add(const Job &job, const Outcome &outcome);
  llvm::ArrayRef<Event> events() const { return list; }
  /// Time of the last event.
  double duration() const { return list.empty() ? 0 : list.back().time; }

private:
  Clock clock;
  std::vector<Event> list;
};

/// "measured", "refused", "wrong", "crashed" or "timed out".
llvm::StringRef nameOf(Outcome::Kind kind);
} // namespace perpend::tune

#endif
