//===- Tuner.h - which kernel is tried next, and what is kept ----*- C++ -*-===//

#ifndef PERPEND_TUNE_TUNER_H
#define PERPEND_TUNE_TUNER_H

#include "tune/Search.h"

#include <chrono>
#include <functional>
#include <limits>

namespace perpend::tune {

/// What became of a candidate.
struct Outcome {
  enum Kind {
    Measured,
    Refused, ///< by a primitive, or by the compiler
    Wrong,   ///< it computes something else
    Crashed,
    TimedOut,
    NotTried ///< for a reason that is not the candidate's: it was interrupted, or there was no process
  } kind = Refused;
  /// Median times of a call.
  double seconds = 0, spreadSeconds = 0;
  /// Of times taken in turns: the candidate's to that of the best so far.
  double ratio = 1;
  /// Surely faster than the best so far.
  bool isFaster = false;
  /// Else the best so far was slow for a reason that is not its schedule, and this says nothing of who is faster.
  bool isUsual = true;
  std::string message; ///< of what is not Measured
};

/// Builds and measures candidates of one kernel. What a candidate does, if it crashes, hangs or writes where it should
/// not, does not reach the caller; the first one, which is the compiler's own, is trusted.
class Runner {
public:
  virtual ~Runner() = default;
  /// Times the candidate against the best so far, which it becomes where it is surely faster. The first one is the best
  /// whatever its time is, and its outputs are the reference.
  virtual Outcome measure(const Trace &candidate) = 0;
};

/// A kernel that is tuned, with one set of extents.
struct Job {
  std::string kernel;
  int64_t calls = 1; ///< in one run of the model
  double roofSeconds = 0;
  Space space;
  std::unique_ptr<Search> search;
  std::unique_ptr<Runner> runner;
  Trace known = {};           ///< what was found before; empty: nothing
  std::string knownText = {}; ///< as the database has it
  double knownGain = 1;       ///< that it had then
  int64_t knownTrials = 0;
  /// Makes the space and the search, which takes long, once the kernel is tried; empty: they are there.
  std::function<void(Job &)> open = {};
  std::string extents = {}; ///< "n=128,t=4"; empty: the kernel has no symbols
  double weight = 1;        ///< of a call's time, among the sets of extents
  size_t group = 0;         ///< jobs with the same one are of one kernel

  // What tuning finds.
  double defaultSeconds = 0, bestSeconds = 0, bestSpread = 0;
  Trace best = {}, last = {}; ///< the last one that was measured
  int64_t trials = 0, refused = 0, wrong = 0, crashed = 0, timedOut = 0;
  int64_t sinceGain = 0; ///< trials
  bool isOver = false;
  bool isKnownTried = false, isKnownRefuted = false; ///< what is known is no better than the given trace
  bool isSlowerInModel = false;                      ///< what was faster alone
  /// Of the best trace, where another job of the group has been measured with it, too: that one's extents, and the time
  /// there as a part of the given trace's.
  std::vector<std::pair<std::string, double>> elsewhere = {};
  /// Traces that were the best, until they computed something else, or crashed, with other extents.
  std::vector<Trace> disproved = {};

  /// "matmul_add_0123 n=128", of one with several sets of extents among `all`.
  std::string titleAmong(llvm::ArrayRef<Job> all) const;
  /// How much a second of a call counts.
  double weightOfCalls() const { return weight * static_cast<double>(calls); }
  bool isMeasured() const { return defaultSeconds > 0; }
  bool isImproved() const { return bestSeconds < defaultSeconds; }
  /// What was found is no gain in the model.
  void leaveToGiven(Trace given) {
    best = std::move(given);
    bestSeconds = defaultSeconds;
    isSlowerInModel = true;
  }
};

/// Which kernel is tried next.
enum class Scheduler {
  Gradient, ///< the one whose next trial may gain the model most
  Turns     ///< the one with the fewest trials
};

struct SchedulerInfo {
  llvm::StringLiteral name, sentence;
  Scheduler scheduler;
};
llvm::ArrayRef<SchedulerInfo> schedulers();

class Tuner {
public:
  using Clock = std::chrono::steady_clock;
  /// Behind each trial of a job, with what it was.
  using Progress = std::function<void(const Job &, const Outcome &)>;
  struct Limits {
    Clock::time_point end;
    int64_t trials = std::numeric_limits<int64_t>::max(); ///< of all kernels
    Scheduler scheduler = Scheduler::Gradient;
  };

  Tuner(std::vector<Job> &jobs, Limits limits) : jobs(jobs), limits(limits) {}
  Tuner(std::vector<Job> &jobs, Clock::time_point end) : Tuner(jobs, Limits{end}) {}
  /// Each job's given trace, and the one that is known, of which the faster is its best so far. Those first that the
  /// roof says are the model's heaviest.
  void measureDefaults(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Until the time is over, so many candidates were tried, nothing is left to try, or it is interrupted. Half of the
  /// time at most goes to measuring given traces, as long as there is something to try.
  void run(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Measures the best trace of each job with the extents of the others of its group, of which it becomes the best
  /// where it is surely faster; one that is wrong anywhere is nobody's. Until the time is over, or it is interrupted.
  /// These are no trials.
  void compareGroups(const Progress &progress, const std::function<bool()> &isInterrupted);
  /// Of all kernels' calls, by their weights.
  double modelSeconds(bool ofDefaults) const;
  double roofSeconds() const;

private:
  bool isOver() const;
  double worthOf(const Job &job) const;
  Job *next();
  std::vector<Job *> byRoof();
  void measureDefault(Job &job, const Progress &progress, const std::function<bool()> &isInterrupted);
  void tryOne(Job &job, const Progress &progress);
  /// The candidate has been measured: its time as a part of the given trace's.
  static double take(Job &job, const Outcome &outcome, const Trace &candidate);
  /// Returns the time as a part of the given trace's; nullopt: it says nothing.
  std::optional<double> compareOne(Job &job, const Trace &trace, const Progress &progress);
  void compareGroup(llvm::ArrayRef<Job *> group, const Progress &progress, const std::function<bool()> &isInterrupted);

  std::vector<Job> &jobs;
  Limits limits;
};
} // namespace perpend::tune

#endif
