//===- TuningConfirmation.cpp - confirms gains in whole models ------------===//
//
// Each model runs with and without the traces that were found, with each set of extents. A kernel keeps its trace if
// the trace is a gain in the mean over these runs, weighted by the sets; otherwise the record that was known before
// replaces it, or the compiler's own trace. Models in which a trace was replaced are measured again, because the
// kernels' neighbours have changed. Even if no trace is a loss, a kernel gives up its trace if no model that uses it
// becomes faster.
//
//===----------------------------------------------------------------------===//

#include "tuning/TuningRun.h"

#include "target/Link.h"

using namespace mlir;

namespace perpend {

using Clock = tune::Tuner::Clock;

/// An entry of a model with one set of extents.
struct TuningRun::Place {
  size_t set;
  const Whole *whole;
  double weight; ///< weight of the set
  std::unique_ptr<ModelComparison> comparison;
  GainInModel gain;
  std::map<const tune::Job *, double> parts; ///< tuned time / plain time of each measured kernel
  bool isChanged = true;                     ///< since the last measurement
  bool isGain() const { return gain.tunedSeconds < gain.plainSeconds; }
};

/// A share of the budget of the search; short runs confirm nothing.
std::chrono::duration<double> TuningRun::secondsToConfirm() const {
  constexpr double partOfBudget = 0.1, least = 1;
  double seconds = std::min<double>(mostSecondsToConfirm, partOfBudget * options.seconds);
  return std::chrono::duration<double>(seconds < least || !options.confirms ? 0 : seconds);
}

/// The values of extents such as "n=128,t=4", without the names: a kernel's symbols are named as in the first model
/// that has it.
static std::string valuesIn(StringRef extents) {
  std::string values;
  for (StringRef extent : llvm::split(extents, ','))
    values += extent.split('=').second.str() + ",";
  return values;
}

std::vector<tune::Job *> TuningRun::improvedIn(const Place &place) {
  const llvm::StringMap<std::string> &kernels = place.whole->extents[place.set];
  std::vector<tune::Job *> improved;
  for (tune::Job &job : jobs)
    if (auto kernel = kernels.find(job.kernel);
        job.isImproved() && kernel != kernels.end() && valuesIn(kernel->second) == valuesIn(job.extents))
      improved.push_back(&job);
  return improved;
}

/// An error becomes the place's refusal: the reason why it is not measured.
llvm::Error TuningRun::measure(Place &place, Clock::time_point end) {
  place.isChanged = false;
  place.parts.clear();
  llvm::StringMap<tune::Trace> traces;
  std::vector<tune::Job *> improved = improvedIn(place);
  for (const tune::Job *job : improved)
    traces[job->kernel] = job->best;
  if (traces.empty()) {
    place.gain.tunedSeconds = place.gain.plainSeconds;
    return llvm::Error::success();
  }
  if (Clock::now() >= end)
    return llvm::createStringError("there was no time left");
  if (!place.comparison) {
    llvm::Expected<std::string> program = target::runtimeFilePath("perpend-measure");
    if (!program)
      return program.takeError();
    auto made = ModelComparison::make(*place.whole->module, options.extents[place.set],
                                      {options.compiler, options.inputs, options.seed, options.threads,
                                       TuningOptions::assumed, *program, end, isInterrupted});
    if (!made)
      return made.takeError();
    place.comparison = std::move(*made);
  }
  llvm::Expected<ModelTimes> times = place.comparison->compare(traces);
  if (!times)
    return times.takeError();
  place.gain.plainSeconds = times->plainSeconds, place.gain.tunedSeconds = times->tunedSeconds;
  for (const tune::Job *job : improved) {
    auto part = times->parts.find(job->kernel);
    if (part == times->parts.end())
      return llvm::createStringError("it has no kernel '" + job->kernel + "'");
    place.parts[job] = part->second;
  }
  return llvm::Error::success();
}

/// Replaces a refuted trace by the previously known one, unless that is refuted too; otherwise by the compiler's own.
/// Jobs of the same kernel with other extents keep the trace; their records note its time for these extents.
llvm::Error TuningRun::refute(tune::Job &job, double part, tune::Database &database) {
  tune::Trace gone = job.best;
  std::string text = llvm::join(tune::linesOf(gone), "\n");
  size_t number = &job - jobs.data();
  const std::optional<tune::Record> &known =
      number < knownRecords.size() ? knownRecords[number] : std::optional<tune::Record>();
  if (known && !job.isKnownRefuted && known->trace != text && !job.known.empty()) {
    job.best = job.known;
    job.bestSeconds = job.defaultSeconds / job.knownGain;
    if (llvm::Error error = database.add(*known, text))
      return error;
  } else {
    job.leaveToGiven(taskOf(job).trace);
    if (llvm::Error error = database.forget(keyOf(job), text))
      return error;
  }
  for (tune::Job &other : jobs) {
    if (other.group != job.group || &other == &job || !other.isImproved() ||
        tune::linesOf(other.best) != tune::linesOf(gone))
      continue;
    llvm::erase_if(other.elsewhere, [&](const auto &place) { return place.first == job.extents; });
    other.elsewhere.emplace_back(job.extents, part);
    if (llvm::Error error = database.add(recordOf(other, other.knownTrials + other.trials), text))
      return error;
  }
  return llvm::Error::success();
}

/// Relative times of kernels, averaged over places by weight.
std::map<tune::Job *, double> TuningRun::meansOf(ArrayRef<Place> places) {
  std::map<tune::Job *, std::pair<double, double>> sums; // weighted sum, sum of weights
  for (const Place &place : places)
    for (const auto &[job, part] : place.parts) {
      auto &[sum, weight] = sums[&jobs[job - jobs.data()]];
      sum += part * place.weight, weight += place.weight;
    }
  std::map<tune::Job *, double> means;
  for (const auto &[job, sum] : sums)
    means[job] = sum.first / sum.second;
  return means;
}

llvm::Error TuningRun::confirm(tune::Database &database, Clock::time_point end) {
  constexpr int passes = 4; // the last pass only measures what is left
  std::vector<Place> places;
  for (const Whole &whole : models)
    for (auto [set, extents] : llvm::enumerate(options.extents)) {
      Place place{set, &whole, extents.weight, nullptr, {}, {}};
      place.gain.model = whole.model;
      place.gain.entry = whole.entry;
      place.gain.extents = options.extents.size() > 1 ? extents.str() : "";
      if (!improvedIn(place).empty())
        places.push_back(std::move(place));
    }
  for (int pass = 0; pass < passes && !isInterrupted(); ++pass) {
    for (Place &place : places)
      if (place.isChanged && place.gain.refusal.empty())
        if (llvm::Error error = measure(place, end))
          place.gain.refusal = llvm::toString(std::move(error));
    if (pass + 1 == passes)
      break;
    std::map<tune::Job *, double> parts = meansOf(places);
    bool isAnyLoss = llvm::any_of(parts, [](const auto &entry) { return entry.second >= 1; });
    for (auto &[job, part] : parts) {
      auto hasIt = [job = job](const Place &place) { return place.parts.count(job) != 0; };
      bool isLoss = part >= 1,
           isOfNoGain =
               !isAnyLoss && llvm::none_of(places, [&](const Place &place) { return hasIt(place) && place.isGain(); });
      if (!isLoss && !isOfNoGain)
        continue;
      for (Place &place : places)
        place.isChanged |= hasIt(place);
      if (llvm::Error error = refute(*job, std::max(part, 1.0), database))
        return error;
    }
    if (llvm::none_of(places, [](const Place &place) { return place.isChanged; }))
      break;
  }
  for (Place &place : places)
    gains.push_back(std::move(place.gain));
  return llvm::Error::success();
}
} // namespace perpend
