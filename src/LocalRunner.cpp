//===- LocalRunner.cpp - candidates of a tuner on this machine ------------===//

#include "LocalRunner.h"

#include "arrays/Compare.h"
#include "arrays/Draw.h"
#include "support/SymbolicInt.h"
#include "support/TemporaryFolders.h"

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

namespace perpend {

using arrays::Array;
using llvm::StringRef;
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
/// A library with a session, for runs that can be timed: nothing is copied.
class Execution {
public:
  Execution(StringRef library, int64_t threads, llvm::ArrayRef<Array> arrays);
  Execution(const Execution &) = delete;
  ~Execution() {
    perpend_session_free(session);
    perpend_model_free(model);
  }
  bool isReady() const { return session; }
  bool run();
  /// Valid until the next run.
  llvm::ArrayRef<perpend_tensor> results() const { return outputs; }

private:
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  std::vector<perpend_tensor> inputs, outputs;
};

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

Execution::Execution(StringRef library, int64_t threads, llvm::ArrayRef<Array> arrays) {
  perpend_session_options options = {static_cast<int32_t>(threads)};
  if (perpend_model_load(library.str().c_str(), &model) != PERPEND_OK ||
      perpend_session_create(model, &options, &session) != PERPEND_OK)
    return;
  outputs.resize(static_cast<size_t>(perpend_model_output_count(model)));
  for (const Array &array : arrays)
    inputs.push_back(array.view());
}

bool Execution::run() {
  for (perpend_tensor &output : outputs)
    output = {}; // the session's memory
  return perpend_session_run(session, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                             static_cast<int32_t>(outputs.size())) == PERPEND_OK;
}

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

LocalRunner::LocalRunner(const TuningTask &task, const CompileOptions &options, int64_t threads, int64_t seed,
                         std::function<bool()> isInterrupted)
    : task(task), options(options), threads(threads), seed(seed), isInterrupted(std::move(isInterrupted)) {
  if (support::makeTemporaryFolder(folder))
    folder.clear();
}

LocalRunner::~LocalRunner() {
  if (!folder.empty())
    support::removeTemporaryFolder(folder);
}

std::string LocalRunner::pathOf(StringRef name) const { return (folder + "/" + name).str(); }

std::string LocalRunner::loadAndTime(StringRef library) {
  Execution execution(library, threads, inputs);
  if (!execution.isReady())
    return "refused\nit cannot be loaded";
  if (!execution.run())
    return "refused\nit does not run";
  for (auto [output, expected] : llvm::zip(execution.results(), reference)) {
    Array array = Array::copyOf(output);
    if (arrays::Comparison comparison = arrays::compare(array, expected, options.precision); !comparison.isGood)
      return "wrong\n" + arrays::describe("output", comparison, array, expected);
  }
  Execution bestExecution(best, threads, inputs);
  if (!bestExecution.isReady())
    return "refused\nthe best so far cannot be loaded";
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

//===----------------------------------------------------------------------===//
// In this one
//===----------------------------------------------------------------------===//

/// What main's inputs are for these symbols. nullopt: an extent follows from something else.
static std::optional<std::vector<Array>> drawInputs(const perpend_model *model, const TuningTask &task, int64_t seed) {
  llvm::StringMap<int64_t> symbols;
  for (const auto &[name, value] : task.symbols)
    symbols[name] = value;
  std::mt19937_64 generator(static_cast<uint64_t>(seed));
  std::vector<Array> inputs;
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, i);
    llvm::SmallVector<int64_t> shape;
    for (int32_t dim = 0; dim < info->rank; ++dim) {
      std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info->dimTexts[dim]);
      std::optional<int64_t> value = extent ? extent->evaluate(symbols) : std::nullopt;
      if (!value)
        return std::nullopt;
      shape.push_back(*value);
    }
    inputs.push_back(arrays::draw(info->type, shape, generator));
    if (!inputs.back().bytes)
      return std::nullopt;
  }
  return inputs;
}

bool LocalRunner::readReference(StringRef library) {
  perpend_model *model = nullptr;
  if (perpend_model_load(library.str().c_str(), &model) != PERPEND_OK)
    return false;
  std::optional<std::vector<Array>> drawn = drawInputs(model, task, seed);
  perpend_model_free(model);
  if (!drawn)
    return false;
  inputs = std::move(*drawn);
  Execution execution(library, threads, inputs);
  if (!execution.isReady() || !execution.run())
    return false;
  for (const perpend_tensor &output : execution.results())
    reference.push_back(Array::copyOf(output));
  return true;
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
  std::string library = pathOf("candidate" + std::to_string(number++) + ".so"), text;
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
} // namespace perpend
