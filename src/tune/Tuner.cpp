//===- Tuner.cpp - chooses kernels and keeps their best traces ------------===//

#include "tune/Tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace perpend::tune {

std::string Job::titleAmong(llvm::ArrayRef<Job> all) const {
  bool isOneOfSeveral = llvm::count_if(all, [&](const Job &job) { return job.group == group; }) > 1;
  return kernel + (isOneOfSeveral ? " " + extents : "");
}

double Tuner::modelSeconds(bool ofDefaults) const {
  double sum = 0;
  for (const Job &job : jobs)
    sum += job.weightOfCalls() * (ofDefaults ? job.defaultSeconds : job.bestSeconds);
  return sum;
}

double Tuner::roofSeconds() const {
  double sum = 0;
  for (const Job &job : jobs)
    sum += job.weightOfCalls() * std::min(job.roofSeconds, job.bestSeconds);
  return sum;
}

llvm::ArrayRef<SchedulerInfo> schedulers() {
  static constexpr SchedulerInfo all[] = {
      {"gradient", "the kernel whose next trial may gain the model most", Scheduler::Gradient},
      {"turns", "the kernels in turn", Scheduler::Turns},
  };
  return all;
}

bool Tuner::isOver() const {
  int64_t trials = 0;
  for (const Job &job : jobs)
    trials += job.trials;
  return Clock::now() >= limits.end || trials >= limits.trials;
}

/// The expected gain of the next trial: the distance to the roof, reduced by each trial without a gain, and much more
/// after many, since a kernel may dominate the model's time and have nothing to gain. Or simply the negated number of
/// trials.
double Tuner::worthOf(const Job &job) const {
  constexpr double patience = 16, lastPatience = 96, leastLeft = 0.05; // the roof is an estimate
  if (limits.scheduler == Scheduler::Turns)
    return 1 / (1 + static_cast<double>(job.trials));
  double left = std::max(job.bestSeconds - job.roofSeconds, leastLeft * job.bestSeconds);
  auto since = static_cast<double>(job.sinceGain);
  return job.weightOfCalls() * left / (1 + since / patience) / (1 + std::pow(since / lastPatience, 2));
}

Job *Tuner::next() {
  Job *best = nullptr;
  double most = -1;
  for (Job &job : jobs) {
    if (job.isOver || !job.isMeasured())
      continue;
    if (double worth = worthOf(job); worth > most)
      best = &job, most = worth;
  }
  return best;
}

double Tuner::take(Job &job, const Outcome &outcome, const Trace &candidate) {
  job.trials += outcome.kind != Outcome::NotTried;
  ++job.sinceGain;
  job.refused += outcome.kind == Outcome::Refused;
  job.wrong += outcome.kind == Outcome::Wrong;
  job.crashed += outcome.kind == Outcome::Crashed;
  job.timedOut += outcome.kind == Outcome::TimedOut;
  if (outcome.kind != Outcome::Measured)
    return std::numeric_limits<double>::infinity();
  double seconds = outcome.ratio * job.bestSeconds; // the machine's speed may have changed
  if (outcome.isFaster) {
    job.bestSeconds = seconds;
    job.bestSpread = outcome.spreadSeconds;
    job.best = candidate;
    job.sinceGain = 0;
  }
  return seconds / job.defaultSeconds;
}

void Tuner::tryOne(Job &job, const Progress &progress) {
  std::optional<Point> point = job.search->propose();
  if (!point) {
    job.isOver = true;
    return;
  }
  job.last = job.space.traceAt(*point);
  Outcome outcome = job.runner->measure(job.last);
  double time = take(job, outcome, job.last);
  if (outcome.kind != Outcome::NotTried)
    job.search->tell(*point, time);
  progress(job, outcome);
}

std::vector<Job *> Tuner::byRoof() {
  std::vector<Job *> order;
  for (Job &job : jobs)
    order.push_back(&job);
  auto weight = [](const Job *job) { return std::pair(-job->weightOfCalls() * job->roofSeconds, job); };
  llvm::sort(order, [&](const Job *a, const Job *b) { return weight(a) < weight(b); });
  return order;
}

void Tuner::measureDefault(Job &job, const Progress &progress, const std::function<bool()> &isInterrupted) {
  if (auto open = std::exchange(job.open, nullptr))
    open(job);
  job.best = job.last = job.space.traceAt(job.space.given());
  Outcome outcome = job.runner->measure(job.best);
  outcome.isFaster = false; // not faster than itself
  job.defaultSeconds = job.bestSeconds = outcome.kind == Outcome::Measured ? outcome.seconds : 0;
  job.bestSpread = outcome.spreadSeconds;
  job.isOver = outcome.kind != Outcome::Measured || job.space.decisions().empty();
  progress(job, outcome);
  if (job.isOver || job.known.empty() || linesOf(job.known) == linesOf(job.best))
    return;
  job.last = job.known;
  outcome = job.runner->measure(job.known);
  double time = take(job, outcome, job.known);
  if (std::optional<Point> point = job.space.pointOf(job.known); point && outcome.kind != Outcome::NotTried)
    job.search->tell(*point, time);
  constexpr double surelySlower = 2; // whatever else runs on the machine
  bool isMeasured = outcome.kind == Outcome::Measured;
  job.isKnownRefuted =
      outcome.kind == Outcome::Wrong || (isMeasured && outcome.ratio >= (outcome.isUsual ? 1 : surelySlower));
  job.isKnownTried = job.isKnownRefuted || (isMeasured && outcome.isFaster);
  progress(job, outcome);
}

void Tuner::measureDefaults(const Progress &progress, const std::function<bool()> &isInterrupted) {
  for (Job *job : byRoof())
    if (!isOver() && !isInterrupted())
      measureDefault(*job, progress, isInterrupted);
}

void Tuner::run(const Progress &progress, const std::function<bool()> &isInterrupted) {
  std::vector<Job *> waiting = byRoof();
  std::reverse(waiting.begin(), waiting.end());
  Clock::time_point start = Clock::now(), half = start + (limits.end - start) / 2;
  while (!isOver() && !isInterrupted()) {
    bool isEarly = Clock::now() < half;
    Job *job = isEarly && !waiting.empty() ? nullptr : next();
    if (!job && waiting.empty())
      return;
    if (job) {
      tryOne(*job, progress);
      continue;
    }
    job = waiting.back();
    waiting.pop_back();
    measureDefault(*job, progress, isInterrupted);
  }
}

//===----------------------------------------------------------------------===//
// Several sets of extents
//===----------------------------------------------------------------------===//

std::optional<double> Tuner::compareOne(Job &job, const Trace &trace, const Progress &progress) {
  job.last = trace;
  int64_t trials = job.trials;
  Outcome outcome = job.runner->measure(trace);
  for (int more = 2; more && outcome.kind == Outcome::Measured && !outcome.isUsual && Clock::now() < limits.end; --more)
    outcome = job.runner->measure(trace); // other work on the machine disturbed it
  double part = take(job, outcome, trace);
  job.trials = trials;
  progress(job, outcome);
  bool saysNothing = outcome.kind == Outcome::NotTried || (outcome.kind == Outcome::Measured && !outcome.isUsual);
  if (outcome.kind == Outcome::Wrong || outcome.kind == Outcome::Crashed)
    job.disproved.push_back(trace);
  return saysNothing ? std::nullopt : std::optional(part);
}

/// A trace must compute the same for all extents; one that does not is a bug of the compiler and is not used at all.
static void dropDisproved(llvm::ArrayRef<Job *> group) {
  std::vector<Trace> wrong;
  for (const Job *job : group)
    wrong.insert(wrong.end(), job->disproved.begin(), job->disproved.end());
  for (Job *job : group) {
    job->disproved = wrong;
    if (llvm::none_of(wrong, [&](const Trace &trace) { return linesOf(trace) == linesOf(job->best); }))
      continue;
    job->best = job->space.traceAt(job->space.given());
    job->bestSeconds = job->defaultSeconds;
  }
}

void Tuner::compareGroup(llvm::ArrayRef<Job *> group, const Progress &progress,
                         const std::function<bool()> &isInterrupted) {
  std::vector<Trace> bests;
  for (const Job *job : group)
    if (job->isImproved() &&
        llvm::none_of(bests, [&](const Trace &known) { return linesOf(known) == linesOf(job->best); }))
      bests.push_back(job->best);
  std::vector<std::map<std::vector<std::string>, double>> parts(group.size()); // relative times of each job, by trace
  for (auto [job, ofJob] : llvm::zip(group, parts)) {
    auto ofBest = [job = job] { return std::pair(linesOf(job->best), job->bestSeconds / job->defaultSeconds); };
    ofJob.insert(ofBest());
    for (const Trace &trace : bests) {
      if (Clock::now() >= limits.end || isInterrupted())
        break;
      if (linesOf(trace) == linesOf(job->best))
        continue;
      if (std::optional<double> part = compareOne(*job, trace, progress))
        ofJob[linesOf(trace)] = *part;
    }
    ofJob.insert(ofBest());
  }
  dropDisproved(group);
  for (Job *job : group) {
    job->elsewhere.clear();
    for (auto [other, ofOther] : llvm::zip(group, parts))
      if (auto known = ofOther.find(linesOf(job->best)); other != job && known != ofOther.end() && job->isImproved())
        job->elsewhere.emplace_back(other->extents, known->second);
  }
}

void Tuner::compareGroups(const Progress &progress, const std::function<bool()> &isInterrupted) {
  std::map<size_t, std::vector<Job *>> groups;
  for (Job &job : jobs)
    if (job.isMeasured())
      groups[job.group].push_back(&job);
  for (auto &[number, group] : groups)
    if (group.size() > 1)
      compareGroup(group, progress, isInterrupted);
}
} // namespace perpend::tune
