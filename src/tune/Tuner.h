//===- Tuner.h - chooses kernels and keeps their best traces ----*- C++ -*-===//

#ifndef PERPEND_TUNE_TUNER_H
#define PERPEND_TUNE_TUNER_H

#include "tune/Search.h"

#include <chrono>
#include <functional>
#include <limits>

namespace perpend::tune {

/// The result of trying a candidate.
struct Outcome {
  enum Kind {
    Measured,
    Refused, ///< refused by a primitive or by the compiler
    Wrong,   ///< the results are wrong
    Crashed,
    TimedOut,
    NotTried ///< not the candidate's fault: interrupted, or no process could be started
  } kind = Refused;
  /// Median time of a call, and its spread.
  double seconds = 0, spreadSeconds = 0;
  /// Ratio of alternately measured times: the candidate's to that of the best so far.
  double ratio = 1;
  /// Significantly faster than the best so far.
  bool isFaster = false;
  /// False: the best so far was slow for reasons other than its schedule, so the comparison says nothing.
  bool isUsual = true;
  std::string message; ///< the reason, unless Measured
};

/// Builds and measures candidates of one kernel. A candidate that crashes, hangs or writes out of bounds does not
/// affect the caller. The first candidate, the compiler's own, is trusted.
class Runner {
public:
  virtual ~Runner() = default;
  /// Times the candidate against the best so far, which it replaces if it is significantly faster. The first candidate
  /// becomes the best in any case, and its outputs are the reference.
  virtual Outcome measure(const Trace &candidate) = 0;
};

/// The tuning of a kernel for one set of extents.
struct Job {
  std::string kernel;
  int64_t calls = 1; ///< calls in one run of the model
  double roofSeconds = 0;
  Space space;
  std::unique_ptr<Search> search;
  std::unique_ptr<Runner> runner;
  Trace known = {};           ///< the trace found before; empty: none
  std::string knownText = {}; ///< its text in the database
  double knownGain = 1;       ///< its gain at that time
  int64_t knownTrials = 0;
  /// Creates the space and the search, which takes long, when the kernel is first tried; empty: they exist already.
  std::function<void(Job &)> open = {};
  std::string extents = {}; ///< "n=128,t=4"; empty: the kernel has no symbols
  double weight = 1;        ///< weight of a call's time, among the sets of extents
  size_t group = 0;         ///< jobs of the same kernel have the same group

  // Results of tuning.
  double defaultSeconds = 0, bestSeconds = 0, bestSpread = 0;
  Trace best = {}, last = {}; ///< the last trace measured
  int64_t trials = 0, refused = 0, wrong = 0, crashed = 0, timedOut = 0;
  int64_t sinceGain = 0; ///< trials since the last gain
  bool isOver = false;
  bool isKnownTried = false, isKnownRefuted = false; ///< the known trace was measured; it is no gain
  bool isSlowerInModel = false;                      ///< the trace was faster alone, but slower in the model
  /// Where the best trace was measured for other jobs of the group: their extents, and the time there relative to the
  /// given trace's.
  std::vector<std::pair<std::string, double>> elsewhere = {};
  /// Traces that were the best until they gave wrong results or crashed with other extents.
  std::vector<Trace> disproved = {};

  /// For example "matmul_add_0123 n=128", if the kernel has several sets of extents in `all`.
  std::string titleAmong(llvm::ArrayRef<Job> all) const;
  /// The weight of a second of one call.
  double weightOfCalls() const { return weight * static_cast<double>(calls); }
  bool isMeasured() const { return defaultSeconds > 0; }
  bool isImproved() const { return bestSeconds < defaultSeconds; }
  /// Restores the given trace, because the one found is no gain in the model.
  void leaveToGiven(Trace given) {
    best = std::move(given);
    bestSeconds = defaultSeconds;
    isSlowerInModel = true;
  }
};

/// How to choose the kernel to try next.
enum class Scheduler {
  Gradient, ///< the kernel whose next trial has the largest expected gain for the model
  Turns     ///< the kernel with the fewest trials
};

struct SchedulerInfo {
  llvm::StringLiteral name, sentence;
  Scheduler scheduler;
};
llvm::ArrayRef<SchedulerInfo> schedulers();

class Tuner {
public:
  using Clock = std::chrono::steady_clock;
  /// Called after each trial of a job, with the outcome.
  using Progress = std::function<void(const Job &, const Outcome &)>;
  struct Limits {
    Clock::time_point end;
    int64_t trials = std::numeric_limits<int64_t>::max(); ///< limit of trials over all kernels
    Scheduler scheduler = Scheduler::Gradient;
  };

  Tuner(std::vector<Job> &jobs, Limits limits) : jobs(jobs), limits(limits) {}
  Tuner(std::vector<Job> &jobs, Clock::time_point end) : Tuner(jobs, Limits{end}) {}
  /// Measures each job's given trace and the known one; the faster becomes its best so far. Starts with those jobs that
  /// are heaviest by their roof.
  void measureDefaults(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Runs until time is up, the limit of trials is reached, nothing is left to try, or it is interrupted. While there
  /// is something to try, measuring given traces takes at most half of the time.
  void run(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Measures the best trace of each job with the extents of the others in its group, and adopts it where it is
  /// significantly faster. A trace that is wrong anywhere is dropped everywhere. Runs until time is up or it is
  /// interrupted. These do not count as trials.
  void compareGroups(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Weighted time of all kernels' calls.
  double modelSeconds(bool ofDefaults) const;
  double roofSeconds() const;

private:
  bool isOver() const;
  double worthOf(const Job &job) const;
  Job *next();
  std::vector<Job *> byRoof();
  void measureDefault(Job &job, const Progress &progress, const std::function<bool()> &isInterrupted);
  void tryOne(Job &job, const Progress &progress);
  /// Records a measured candidate; returns its time relative to the given trace's.
  static double take(Job &job, const Outcome &outcome, const Trace &candidate);
  /// Returns the time relative to the given trace's; nullopt: inconclusive.
  std::optional<double> compareOne(Job &job, const Trace &trace, const Progress &progress);
  void compareGroup(llvm::ArrayRef<Job *> group, const Progress &progress, const std::function<bool()> &isInterrupted);

  std::vector<Job> &jobs;
  Limits limits;
};
} // namespace perpend::tune

#endif
