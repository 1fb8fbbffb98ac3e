//===- LocalRunner.cpp - runs a tuner's candidates on this machine --------===//

#include "tune/LocalRunner.h"

#include "support/TemporaryFolders.h"
#include "tune/MeasureProgram.h"
#include "tune/Processes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <unistd.h>

namespace perpend::tune {

using llvm::StringRef;
using Clock = std::chrono::steady_clock;

/// If the best candidate takes more than this times its usual time, the machine is disturbed.
static constexpr double unusual = 1.25;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// The runner
//===----------------------------------------------------------------------===//

LocalRunner::LocalRunner(std::unique_ptr<Candidates> candidates, std::string program, Setting setting,
                         std::function<bool()> isInterrupted)
    : candidates(std::move(candidates)), program(std::move(program)), setting(setting),
      isInterrupted(std::move(isInterrupted)) {
  if (support::makeTemporaryFolder(folder))
    folder.clear();
}

LocalRunner::~LocalRunner() {
  if (!folder.empty())
    support::removeTemporaryFolder(folder);
}

std::string LocalRunner::compile(const Trace &candidate, StringRef library, double seconds) {
  return outputOf(seconds, isInterrupted, [&](int end) {
    return startCopy(end, [&] {
      std::string refusal = candidates->compile(candidate, library);
      return refusal.empty() ? "compiled" : "refused\n" + refusal;
    });
  });
}

std::string LocalRunner::run(StringRef library, int64_t placement) {
  std::vector<std::string> words = {program,
                                    std::to_string(getpid()),
                                    pathOf("inputs"),
                                    pathOf("outputs"),
                                    std::to_string(setting.threads),
                                    std::to_string(placement),
                                    std::to_string(setting.otherBytes),
                                    library.str()};
  if (!best.empty())
    words.push_back(best);
  std::string text =
      outputOf(limitSeconds, isInterrupted, [&](int end) { return startProgram(end, std::move(words)); });
  for (StringRef kind : {"measured ", "refused "})
    if (StringRef(text).starts_with(kind))
      text[kind.size() - 1] = '\n';
  return text;
}

Outcome LocalRunner::parse(StringRef text) const {
  Outcome outcome;
  auto [kind, rest] = text.split('\n');
  outcome.message = rest.trim().str();
  for (auto [name, value] : {std::pair<StringRef, Outcome::Kind>("crashed", Outcome::Crashed),
                             {"timed out", Outcome::TimedOut},
                             {"not tried", Outcome::NotTried}})
    if (kind == name)
      outcome.kind = value;
  if (kind != "measured")
    return outcome;
  llvm::SmallVector<StringRef> numbers;
  rest.trim().split(numbers, ' ');
  double bestNow = 0, *values[] = {&outcome.seconds, &outcome.spreadSeconds, &outcome.ratio, &bestNow};
  bool isRead = numbers.size() == 5;
  for (auto [number, value] : llvm::zip(numbers, values))
    isRead &= !number.getAsDouble(*value);
  if (!isRead || !(outcome.seconds > 0)) {
    outcome.message = "its process printed something else";
    return outcome;
  }
  outcome.kind = Outcome::Measured;
  outcome.message.clear();
  // Some processes run one of two libraries several times slower; a candidate must not win by that.
  outcome.isUsual = bestSeconds == 0 || bestNow < unusual * bestSeconds;
  outcome.isFaster = outcome.isUsual && numbers.back() == "1";
  return outcome;
}

Outcome LocalRunner::runAndCompare(StringRef library, int64_t placement) {
  Outcome outcome = parse(run(library, placement));
  if (outcome.kind != Outcome::Measured)
    return outcome;
  if (std::string difference = candidates->differenceOf(pathOf("outputs")); !difference.empty()) {
    outcome = Outcome();
    outcome.kind = Outcome::Wrong;
    outcome.message = difference;
  }
  return outcome;
}

void LocalRunner::remove(StringRef library) const {
  llvm::sys::fs::remove(library);
  llvm::sys::fs::remove(library.drop_back(2).str() + "h");
}

/// The minimum over several processes.
Outcome LocalRunner::measureFirst(const Trace &given, StringRef library) {
  constexpr double slower = 20;
  constexpr int64_t processes = 3;
  auto refused = [](std::string message) {
    Outcome outcome;
    outcome.message = std::move(message);
    return outcome;
  };
  if (std::string text = compile(given, library, limitSeconds); text != "compiled")
    return parse(text);
  if (std::string refusal = candidates->writeInputs(pathOf("inputs")); !refusal.empty())
    return refused(std::move(refusal));
  Clock::time_point start = Clock::now();
  Outcome least = parse(run(library, 0));
  if (least.kind != Outcome::Measured)
    return least;
  if (!candidates->readReference(pathOf("outputs")))
    return refused("its outputs cannot be read");
  limitSeconds = leastLimit + slower * secondsSince(start);
  for (int64_t i = 1; i < processes; ++i) {
    Outcome outcome = runAndCompare(library, i);
    if (outcome.kind != Outcome::Measured)
      return outcome;
    if (outcome.seconds < least.seconds)
      least = outcome;
  }
  best = library;
  bestSeconds = least.seconds;
  return least;
}

Outcome LocalRunner::measure(const Trace &candidate) {
  if (folder.empty())
    return parse("not tried\nthere is no folder for its files\nhint: TMPDIR=FOLDER");
  std::string library = pathOf("candidate" + std::to_string(number++) + ".so");
  if (best.empty())
    return measureFirst(candidate, library);
  std::string text = compile(candidate, library, limitSeconds);
  Outcome outcome = text == "compiled" ? runAndCompare(library, 0) : parse(text);
  // A duel can also end by chance in the candidate's favour; a second one, with another memory layout, is independent.
  if (double first = outcome.ratio; outcome.isFaster) {
    outcome = runAndCompare(library, 1);
    outcome.ratio = std::max(first, outcome.ratio);
  }
  remove(outcome.isFaster ? best : library);
  if (outcome.isFaster) {
    best = library;
    bestSeconds *= outcome.ratio;
  }
  return outcome;
}
} // namespace perpend::tune
