//===- LocalRunner.cpp - candidates of a tuner on this machine ------------===//

#include "cli/LocalRunner.h"

#include "cli/Compare.h"
#include "tile/Attributes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perpend::cli {

using Clock = std::chrono::steady_clock;

/// Beyond this part of its usual time, the best so far is slow for a reason that is not its schedule.
static constexpr double unusual = 1.25;
/// Of memory that a candidate's process may allocate.
static constexpr rlim_t mostBytes = rlim_t{16} << 30;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {
/// Two libraries in turns, until it is certain which is faster, or that the difference is not worth more runs.
class Duel {
public:
  Duel(Execution &best, Execution &candidate) : best(best), candidate(candidate) {}

  bool run();
  bool isFaster() const { return upper < 1 - worthwhile; }
  double median() const { return quantile(times, 0.5); }
  double bestMedian() const { return quantile(bestTimes, 0.5); }
  double ratio() const { return quantile(ratios, 0.5); }
  double spread() const { return (quantile(times, 0.75) - quantile(times, 0.25)) / 2; }

private:
  static constexpr double sliceSeconds = 1e-3, worthwhile = 5e-3, totalSeconds = 2;
  static constexpr size_t leastRounds = 5, mostRounds = 60;

  static double quantile(std::vector<double> values, double part) {
    llvm::sort(values);
    return values.empty() ? 0 : values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
  }
  /// Of one run, over a slice of several; negative: it fails.
  double slice(Execution &execution, int64_t runs);
  int64_t runsOfSlice(Execution &execution);
  void decide();
  bool isDecided() const { return upper < 1 - worthwhile || lower > 1 || (upper - lower) < worthwhile; }

  Execution &best, &candidate;
  std::vector<double> bestTimes, times, ratios;
  double lower = 0, upper = 2; ///< of the ratio
};
} // namespace

double Duel::slice(Execution &execution, int64_t runs) {
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < runs; ++i)
    if (!execution.run())
      return -1;
  return secondsSince(start) / static_cast<double>(runs);
}

/// The first run plans memory and warms caches.
int64_t Duel::runsOfSlice(Execution &execution) {
  if (slice(execution, 1) < 0)
    return 0;
  double once = slice(execution, 1);
  return std::max<int64_t>(1, static_cast<int64_t>(sliceSeconds / std::max(once, 1e-8)));
}

/// Three standard errors around the median of the ratios.
void Duel::decide() {
  constexpr double quartilesOfSigma = 1.349, medianOfMean = 1.2533, errors = 3;
  double middle = quantile(ratios, 0.5);
  double sigma = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / quartilesOfSigma;
  double error = errors * medianOfMean * sigma / std::sqrt(static_cast<double>(ratios.size()));
  lower = middle - error;
  upper = middle + error;
}

bool Duel::run() {
  int64_t runs = runsOfSlice(best), candidateRuns = runsOfSlice(candidate);
  if (!runs || !candidateRuns)
    return false;
  Clock::time_point start = Clock::now();
  while (ratios.size() < mostRounds && (ratios.size() < leastRounds || secondsSince(start) < totalSeconds)) {
    bool bestFirst = ratios.size() % 2 == 0;
    double a = bestFirst ? slice(best, runs) : 0, b = slice(candidate, candidateRuns);
    if (!bestFirst)
      a = slice(best, runs);
    if (a < 0 || b < 0)
      return false;
    bestTimes.push_back(a);
    times.push_back(b);
    ratios.push_back(b / a);
    if (ratios.size() < leastRounds)
      continue;
    decide();
    if (isDecided())
      break;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// In a process of its own
//===----------------------------------------------------------------------===//

std::string LocalRunner::compareAndTime(perpend_model *model) {
  SessionOwner session = createSession(model, threads);
  if (!session)
    return "refused\nno session";
  Execution execution(model, session.get(), inputs);
  if (!execution.run())
    return "refused\nit does not run";
  for (auto [output, expected] : llvm::zip(execution.results(), reference)) {
    Array array = Array::copyOf(output);
    if (Comparison comparison = compare(array, expected, options.precision); !comparison.isGood)
      return "wrong\n" + describe("output", comparison, array, expected);
  }
  ModelOwner bestModel = loadLibrary(best);
  SessionOwner bestSession = bestModel ? createSession(bestModel.get(), threads) : SessionOwner();
  if (!bestSession)
    return "refused\nthe best so far cannot be loaded";
  Execution bestExecution(bestModel.get(), bestSession.get(), inputs);
  Duel duel(bestExecution, execution);
  if (!duel.run())
    return "refused\nit does not run again";
  return llvm::formatv("measured\n{0:e12} {1:e12} {2:e12} {3:e12} {4}", duel.median(), duel.spread(), duel.ratio(),
                       duel.bestMedian(), duel.isFaster() ? 1 : 0)
      .str();
}

std::string LocalRunner::compileOne(const tune::Trace &candidate, StringRef library) {
  std::string error;
  mlir::MLIRContext *context = task.model.get()->getContext();
  mlir::ScopedDiagnosticHandler quiet(context, [&](mlir::Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      error = diagnostic.str();
    return mlir::success();
  });
  return succeeded(compileTask(task, candidate, options, library)) ? "" : "refused\n" + error;
}

std::string LocalRunner::attempt(const tune::Trace &candidate, StringRef library) {
  if (std::string refusal = compileOne(candidate, library); !refusal.empty())
    return refusal;
  return loadAndTime(library);
}

std::string LocalRunner::loadAndTime(StringRef library) {
  ModelOwner model = loadLibrary(library);
  return model ? compareAndTime(model.get()) : "refused\nit cannot be loaded";
}

//===----------------------------------------------------------------------===//
// In this one
//===----------------------------------------------------------------------===//

bool LocalRunner::readReference(StringRef library) {
  first = loadLibrary(library);
  if (!first)
    return false;
  std::vector<std::string> symbols;
  for (const auto &[name, value] : task.symbols)
    symbols.push_back(name + "=" + std::to_string(value));
  std::optional<Inputs> made = makeInputs(first.get(), {}, InputOptions{{}, symbols, seed});
  SessionOwner session = made ? createSession(first.get(), threads) : SessionOwner();
  if (!session)
    return false;
  inputs = std::move(made->arrays);
  std::optional<std::vector<Array>> results = runOnce(first.get(), session.get(), inputs);
  if (results)
    reference = std::move(*results);
  return results.has_value();
}

tune::Outcome LocalRunner::parse(StringRef text) const {
  tune::Outcome outcome;
  auto [kind, rest] = text.split('\n');
  outcome.message = rest.str();
  for (auto [name, value] : {std::pair<StringRef, tune::Outcome::Kind>("wrong", tune::Outcome::Wrong),
                             {"crashed", tune::Outcome::Crashed},
                             {"timed out", tune::Outcome::TimedOut}})
    if (kind == name)
      outcome.kind = value;
  if (kind != "measured")
    return outcome;
  llvm::SmallVector<StringRef> numbers;
  rest.split(numbers, ' ');
  outcome.kind = tune::Outcome::Measured;
  outcome.message.clear();
  double bestNow = 0, *values[] = {&outcome.seconds, &outcome.spreadSeconds, &outcome.ratio, &bestNow};
  for (auto [number, value] : llvm::zip(numbers, values))
    number.getAsDouble(*value);
  // Some processes run one of two libraries several times as slowly; a candidate does not win by that.
  bool isUsual = bestSeconds == 0 || bestNow < unusual * bestSeconds;
  outcome.isFaster = isUsual && numbers.back() == "1";
  return outcome;
}

/// Where things lie in memory decides about the speed of some code, and copies of a process have them in the same
/// places.
static void moveMemory() {
  constexpr size_t mostPages = 4096, pageBytes = 4096;
  std::mt19937 generator(static_cast<unsigned>(getpid()));
  mmap(nullptr, (1 + generator() % mostPages) * pageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)!malloc(1 + generator() % pageBytes);
}

std::string LocalRunner::isolated(double seconds, llvm::function_ref<std::string()> work) const {
  constexpr int sliceMs = 100;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return "refused\nno pipe";
  llvm::outs().flush();
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, signal == SIGINT ? SIG_IGN : SIG_DFL); // the parent stops it
    rlimit noCore = {0, 0}, memory = {mostBytes, mostBytes};
    setrlimit(RLIMIT_CORE, &noCore);
    setrlimit(RLIMIT_DATA, &memory);
    int nowhere = open("/dev/null", O_WRONLY);
    for (int stream : {STDOUT_FILENO, STDERR_FILENO})
      dup2(nowhere, stream);
    moveMemory();
    std::string text = work();
    for (size_t at = 0; at < text.size();)
      if (ssize_t count = write(ends[1], text.data() + at, text.size() - at); count > 0)
        at += static_cast<size_t>(count);
      else
        break;
    _exit(0);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return "refused\nno process";
  }
  std::string text;
  bool isOver = false;
  for (Clock::time_point start = Clock::now(); !isOver;) {
    double left = seconds - secondsSince(start);
    pollfd from = {ends[0], POLLIN, 0};
    if (left <= 0 || isInterrupted())
      break;
    if (poll(&from, 1, std::min(sliceMs, static_cast<int>(left * 1e3) + 1)) <= 0)
      continue;
    char bytes[4096];
    ssize_t count = read(ends[0], bytes, sizeof bytes);
    isOver = count <= 0;
    text.append(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  close(ends[0]);
  if (!isOver)
    kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!isOver)
    return "timed out\nit took more than " + std::to_string(static_cast<int>(seconds)) + " s";
  bool endsWell = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty();
  return endsWell ? text
                  : "crashed\nits process ended with " +
                        (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "an error");
}

void LocalRunner::remove(StringRef library) const {
  llvm::sys::fs::remove(library);
  llvm::sys::fs::remove(library.drop_back(2).str() + "h");
}

/// The least of some processes' times.
tune::Outcome LocalRunner::measureFirst() {
  constexpr int processes = 3;
  tune::Outcome least = parse(isolated(limitSeconds, [&] { return loadAndTime(best); }));
  for (int i = 1; i < processes && least.kind == tune::Outcome::Measured; ++i) {
    tune::Outcome outcome = parse(isolated(limitSeconds, [&] { return loadAndTime(best); }));
    if (outcome.kind != tune::Outcome::Measured || outcome.seconds < least.seconds)
      least = outcome;
  }
  bestSeconds = least.seconds;
  return least;
}

tune::Outcome LocalRunner::measure(const tune::Trace &candidate) {
  constexpr double leastSeconds = 20, firstSeconds = 300, slower = 20;
  std::string library = folder.pathOf("candidate" + std::to_string(number++) + ".so"), text;
  if (bool isFirst = best.empty(); isFirst) {
    text = isolated(firstSeconds, [&] {
      std::string refusal = compileOne(candidate, library);
      return refusal.empty() ? "compiled\n" : refusal;
    });
    if (!StringRef(text).starts_with("compiled"))
      return parse(text);
    Clock::time_point start = Clock::now();
    if (!readReference(library))
      return parse("refused\nit does not run on drawn inputs");
    limitSeconds = leastSeconds + slower * secondsSince(start);
    best = library;
    return measureFirst();
  }
  tune::Outcome outcome = parse(isolated(limitSeconds, [&] { return attempt(candidate, library); }));
  // A duel ends when chance favours the candidate, too; another one, elsewhere in memory, does not know that.
  if (outcome.isFaster)
    outcome = parse(isolated(limitSeconds, [&] { return loadAndTime(library); }));
  remove(outcome.isFaster ? best : library);
  if (outcome.isFaster) {
    best = library;
    bestSeconds *= outcome.ratio;
  }
  return outcome;
}
} // namespace perpend::cli
