//===- Log.cpp - events of a tuning run -----------------------------------===//

#include "tune/Log.h"

#include <set>

namespace perpend::tune {

Log::Log(Clock clock) : clock(std::move(clock)) {
  if (!this->clock)
    this->clock = [start = Tuner::Clock::now()] {
      return std::chrono::duration<double>(Tuner::Clock::now() - start).count();
    };
}

/// Adds the lines of `of` that `other` lacks, with a mark.
static void addMissing(const std::vector<std::string> &of, const std::vector<std::string> &other, const char *mark,
                       std::vector<std::string> &into) {
  std::multiset<std::string> left(other.begin(), other.end());
  for (const std::string &line : of)
    if (auto found = left.find(line); found != left.end())
      left.erase(found);
    else
      into.push_back(mark + line);
}

void Log::add(const Job &job, const Outcome &outcome) {
  Event event;
  event.time = clock();
  event.kernel = job.kernel;
  event.extents = job.extents;
  event.outcome = outcome;
  std::vector<std::string> given = linesOf(job.space.traceAt(job.space.given())), lines = linesOf(job.last);
  addMissing(given, lines, "- ", event.changes);
  addMissing(lines, given, "+ ", event.changes);
  event.isGiven = event.changes.empty() && job.trials == 0;
  if (outcome.kind == Outcome::Measured) // a faster one has become the best
    event.seconds = outcome.isFaster || event.isGiven ? job.bestSeconds : outcome.ratio * job.bestSeconds;
  list.push_back(std::move(event));
}

llvm::StringRef nameOf(Outcome::Kind kind) {
  constexpr llvm::StringLiteral names[] = {"measured", "refused", "wrong", "crashed", "timed out", "not tried"};
  return names[kind];
}
} // namespace perpend::tune
