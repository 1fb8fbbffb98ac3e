//===- TuneCommand.cpp - perpend tune -------------------------------------===//

#include "cli/Command.h"
#include "cli/LocalRunner.h"
#include "graph/Symbols.h"
#include "tune/CostModel.h"
#include "tune/Database.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

#include <atomic>
#include <csignal>

using namespace mlir;

namespace perpend::cli {
namespace {
struct TuneOptions {
  ModelSource source;
  CompileOptions compiler;
  std::vector<std::string> symbols;
  std::string output, budget = "10m", search = "evolutionary", costModel = "machine";
  int64_t seed = 1, threads = 1;
  bool wantsList = false;
};

/// A model that is tuned.
struct Tuning {
  std::vector<TuningTask> tasks;
  std::vector<tune::Job> jobs;
};
} // namespace

/// What a symbol is that nobody has said, as in other commands.
static constexpr int64_t assumedExtent = 2;

static std::atomic<bool> isInterrupted = false;

/// "90", "90s", "10m" or "1h". nullopt: none of them.
static std::optional<double> secondsOf(StringRef text) {
  double factor = 1, number = 0;
  if (text.consume_back("m"))
    factor = 60;
  else if (text.consume_back("h"))
    factor = 3600;
  else
    text.consume_back("s");
  constexpr double mostSeconds = 1e8; // three years
  bool isTime = !text.getAsDouble(number) && number > 0 && number * factor < mostSeconds;
  return isTime ? std::optional(number * factor) : std::nullopt;
}

static std::string timeText(double seconds) {
  const char *unit = seconds < 1e-3 ? "us" : "ms";
  return llvm::formatv("{0:f4} {1}", seconds * (seconds < 1e-3 ? 1e6 : 1e3), unit).str();
}

static const tune::SearchInfo *searchOf(StringRef name) {
  for (const tune::SearchInfo &info : tune::searches())
    if (info.name == name)
      return &info;
  std::vector<std::string> names;
  for (const tune::SearchInfo &info : tune::searches())
    names.push_back(info.name.str());
  std::string guess = nearest(name, names);
  fail("option '--search': no search is named '" + name + "'",
       (guess.empty() ? "" : "did you mean '" + guess + "'? ") + "searches: " + llvm::join(names, ", "));
  return nullptr;
}

static std::optional<llvm::StringMap<int64_t>> symbolsOf(ArrayRef<std::string> texts) {
  llvm::StringMap<int64_t> symbols;
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    int64_t number = 0;
    if (name.empty() || value.getAsInteger(10, number) || number < 0)
      return fail("option '--symbol': expected NAME=N, got '" + text + "'"), std::nullopt;
    symbols[name] = number;
  }
  return symbols;
}

/// `assumed`: those that nobody said. False: printed.
static bool checkSymbols(const llvm::StringMap<int64_t> &symbols, ModuleOp module, std::vector<std::string> &assumed) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::vector<std::string> known = main ? graph::symbolsOf(main) : std::vector<std::string>();
  for (const auto &symbol : symbols)
    if (!llvm::is_contained(known, symbol.first()))
      return fail("option '--symbol': the inputs have no symbol '" + symbol.first() + "'",
                  known.empty() ? "all extents are numbers" : "their symbols are " + llvm::join(known, ", ")),
             false;
  for (const std::string &symbol : known)
    if (!symbols.contains(symbol))
      assumed.push_back(symbol);
  return true;
}

//===----------------------------------------------------------------------===//
// What is printed
//===----------------------------------------------------------------------===//

/// A row for each kernel, those with the largest share of the model's time first.
static void printTable(ArrayRef<tune::Job> jobs, bool isTuned) {
  double total = 0;
  for (const tune::Job &job : jobs)
    total += static_cast<double>(job.calls) * job.defaultSeconds;
  std::vector<const tune::Job *> order;
  for (const tune::Job &job : jobs)
    order.push_back(&job);
  auto share = [](const tune::Job *job) {
    return std::make_pair(-static_cast<double>(job->calls) * job->defaultSeconds, StringRef(job->kernel));
  };
  llvm::sort(order, [&](const tune::Job *a, const tune::Job *b) { return share(a) < share(b); });
  llvm::outs() << "  calls      %   time of one  roof       space" << (isTuned ? "  trials      tuned   gain" : "")
               << "  kernel\n";
  for (const tune::Job *job : order) {
    llvm::outs() << llvm::format("%7lld %6.1f %13s %4.0f%% %11.3g", static_cast<long long>(job->calls),
                                 total > 0 ? 100 * static_cast<double>(job->calls) * job->defaultSeconds / total : 0,
                                 timeText(job->defaultSeconds).c_str(),
                                 job->defaultSeconds > 0 ? 100 * job->roofSeconds / job->defaultSeconds : 0,
                                 job->space.size());
    if (isTuned)
      llvm::outs() << llvm::format(" %7lld %10s %5.2fx", static_cast<long long>(job->trials),
                                   job->isImproved() ? timeText(job->bestSeconds).c_str() : "-",
                                   job->bestSeconds > 0 ? job->defaultSeconds / job->bestSeconds : 1);
    llvm::outs() << "  " << job->kernel << "\n";
  }
}

/// Where the tuner is: on a terminal one line that changes, else a line from time to time.
class ProgressLine {
public:
  ProgressLine(const tune::Tuner &tuner, double budget) : tuner(tuner), budget(budget) {}

  void print(const tune::Job &job, bool isLast = false) {
    using Seconds = std::chrono::duration<double>;
    double spent = Seconds(tune::Tuner::Clock::now() - start).count();
    bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
    if (!isLast && spent - printed < (isTerminal ? 0.2 : 10))
      return;
    printed = spent;
    llvm::errs() << (isTerminal ? "\r\033[K" : "");
    if (job.trials == 0 && !isLast) {
      llvm::errs() << "measuring " << job.kernel << (isTerminal ? "" : "\n");
      return;
    }
    double before = tuner.modelSeconds(true), now = tuner.modelSeconds(false);
    llvm::errs() << llvm::format("%.0f of %.0f s: kernels %s -> %s (%.2fx), roof %s", spent, budget,
                                 timeText(before).c_str(), timeText(now).c_str(), now > 0 ? before / now : 1,
                                 timeText(tuner.roofSeconds()).c_str());
    if (!isLast)
      llvm::errs() << "; " << job.kernel << ", " << job.trials << " trials";
    llvm::errs() << (isTerminal && !isLast ? "" : "\n");
  }

private:
  const tune::Tuner &tuner;
  double budget, printed = -1e9;
  tune::Tuner::Clock::time_point start = tune::Tuner::Clock::now();
};

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static tune::RecordKey keyOf(const TuningTask &task, const TuneOptions &options, const target::TargetInfo &target) {
  return {task.structure, target.name, task.symbolsText(), options.threads};
}

/// What an earlier run has found; nothing where it says something that is no trace.
static llvm::Expected<tune::Trace> knownTrace(const tune::Database &database, const tune::RecordKey &key) {
  llvm::Expected<std::optional<tune::Record>> record = database.find(key);
  if (!record)
    return record.takeError();
  return *record ? tune::readTrace((*record)->trace).value_or(tune::Trace()) : tune::Trace();
}

static llvm::Error makeJobs(Tuning &tuning, const TuneOptions &options, const target::TargetInfo &target,
                            const tune::SearchInfo &search, const tune::Database *database) {
  for (TuningTask &task : tuning.tasks) {
    tune::Trace known;
    if (database) {
      llvm::Expected<tune::Trace> found = knownTrace(*database, keyOf(task, options, target));
      if (!found)
        return found.takeError();
      known = std::move(*found);
    }
    tuning.jobs.push_back({task.facts.name, task.facts.calls, task.roofSeconds / static_cast<double>(options.threads),
                           tune::Space::ofTrace(task.kernelIn(*task.blocks), target, task.trace), nullptr,
                           std::make_unique<LocalRunner>(task, options.compiler, options.threads, options.seed,
                                                         [] { return isInterrupted.load(); }),
                           std::move(known)});
  }
  for (auto [job, task] : llvm::zip(tuning.jobs, tuning.tasks)) {
    job.search = search.make(job.space, static_cast<uint64_t>(options.seed));
    if (options.costModel == "machine")
      job.search =
          tune::rankedSearch(std::move(job.search), tune::machineModel(task.kernelIn(*task.blocks), target), job.space);
  }
  return llvm::Error::success();
}

static tune::Record recordOf(const TuningTask &task, const tune::Job &job, int64_t trials, const TuneOptions &options,
                             const target::TargetInfo &target) {
  return {keyOf(task, options, target),
          job.kernel,
          llvm::join(tune::linesOf(job.best), "\n"),
          job.bestSeconds,
          job.bestSpread,
          job.defaultSeconds,
          trials,
          PERPEND_VERSION,
          options.search + ", seed " + std::to_string(options.seed),
          ""};
}

static void warnOf(const tune::Job &job, const tune::Outcome &outcome) {
  if (outcome.kind != tune::Outcome::Measured && job.defaultSeconds == 0)
    llvm::errs() << "warning: the kernel '" << job.kernel << "' cannot be measured: " << outcome.message << "\n";
}

/// False: printed.
static bool isAnyMeasured(const Tuning &tuning) {
  bool isAny = llvm::any_of(tuning.jobs, [](const tune::Job &job) { return job.defaultSeconds > 0; });
  if (!isAny && !tuning.jobs.empty() && !isInterrupted)
    fail("no kernel of the model could be measured", "the warnings say why; a larger --budget if there are none");
  return isAny || tuning.jobs.empty() || isInterrupted;
}

static int tune(Tuning &tuning, const TuneOptions &options, const target::TargetInfo &target, double budget,
                tune::Database &database) {
  using Duration = tune::Tuner::Clock::duration;
  auto end = tune::Tuner::Clock::now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(budget));
  tune::Tuner tuner(tuning.jobs, end);
  ProgressLine line(tuner, budget);
  llvm::Error failure = llvm::Error::success();
  std::vector<int64_t> recorded(tuning.jobs.size()); // trials
  auto record = [&](const tune::Job &job) {
    size_t number = &job - tuning.jobs.data();
    if (failure)
      return;
    failure = database.add(recordOf(tuning.tasks[number], job, job.trials - recorded[number], options, target));
    recorded[number] = job.trials;
  };
  auto progress = [&](const tune::Job &job, const tune::Outcome &outcome) {
    line.print(job);
    warnOf(job, outcome);
    if (outcome.isFaster)
      record(job); // what is found is not lost
  };
  struct sigaction stop = {};
  stop.sa_handler = [](int) { isInterrupted = true; };
  stop.sa_flags = SA_RESETHAND; // a second one ends the program
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &stop, nullptr);
  tuner.run(progress, [&] { return isInterrupted.load() || bool(failure); });
  for (const tune::Job &job : tuning.jobs)
    if (job.isImproved())
      record(job);
  if (failure)
    return fail(std::move(failure));
  if (!isAnyMeasured(tuning))
    return UserError;
  if (!tuning.jobs.empty())
    line.print(tuning.jobs.front(), /*isLast=*/true);
  printTable(tuning.jobs, /*isTuned=*/true);
  llvm::outs() << "wrote " << options.output << "\nnext: perpend compile " << options.source.path
               << " -o model.so --database " << options.output << "\n";
  return Good;
}

static int runWith(const TuneOptions &options, const tune::SearchInfo &search, double budget) {
  std::optional<llvm::StringMap<int64_t>> symbols = symbolsOf(options.symbols);
  if (!symbols)
    return UsageError;
  llvm::Expected<target::TargetInfo> target = target::resolveTarget(options.compiler.target);
  if (!target)
    return fail(target.takeError());
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.load(options.source);
  std::vector<std::string> assumed;
  if (!module || !checkSymbols(*symbols, *module, assumed))
    return UserError;
  FailureOr<std::vector<TuningTask>> tasks = tuningTasksOf(*module, options.compiler, *target, *symbols, assumedExtent);
  if (failed(tasks))
    return UserError;
  std::optional<tune::Database> database;
  if (!options.wantsList) {
    llvm::Expected<tune::Database> opened = tune::Database::open(options.output, /*mayCreate=*/true);
    if (!opened)
      return fail(opened.takeError());
    database.emplace(std::move(*opened));
  }
  for (const std::string &symbol : assumed)
    llvm::errs() << "warning: " << symbol << " is taken as " << assumedExtent
                 << ", and other schedules may be faster for its usual value\nhint: --symbol " << symbol << "=N\n";
  Tuning tuning{std::move(*tasks), {}};
  if (llvm::Error error = makeJobs(tuning, options, *target, search, database ? &*database : nullptr))
    return fail(std::move(error));
  if (!options.wantsList)
    return tune(tuning, options, *target, budget, *database);
  tune::Tuner tuner(tuning.jobs, tune::Tuner::Clock::time_point::max());
  for (tune::Job &job : tuning.jobs)
    job.isOver = true;
  tuner.measureDefaults(warnOf, [] { return false; });
  if (!isAnyMeasured(tuning))
    return UserError;
  printTable(tuning.jobs, /*isTuned=*/false);
  return Good;
}

int runTune(const Command &command, ArrayRef<StringRef> arguments) {
  TuneOptions options;
  OptionList list;
  list.addOutputFile("o", options.output, "FILE", "the database; what is in it already stays");
  list.add("budget", options.budget, "TIME", "how long to search: 90s, 10m or 1h (default 10m)");
  list.add("search", options.search, "NAME", "what is tried next: evolutionary (default), coordinate or random");
  list.add("cost-model", options.costModel, "NAME",
           "what ranks candidates that are not measured yet: machine (default) or none");
  list.add("seed", options.seed, "N", "the same seed proposes the same candidates (default 1)");
  list.add("threads", options.threads, "N", "to measure with (default 1)", 1);
  list.add("symbol", options.symbols, "NAME=N", "the extents to measure with (default 2)");
  list.add("list", options.wantsList, "", "print the kernels, their times and what part of the roof they reach");
  list.add("dim", options.source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("operators", options.source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options.compiler, {"target", "O", "precision", "intrinsics", "unpacked"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  std::optional<double> budget = secondsOf(options.budget);
  if (!budget)
    return fail("option '--budget': expected a time such as 90s, 10m or 1h, got '" + options.budget + "'"), UsageError;
  const tune::SearchInfo *search = searchOf(options.search);
  if (!search)
    return UsageError;
  if (options.costModel != "machine" && options.costModel != "none")
    return fail("option '--cost-model': expected machine or none, got '" + options.costModel + "'"), UsageError;
  if (options.output.empty() && !options.wantsList)
    return fail("no output", "-o tuned.db, or --list to see what there is to tune"), UsageError;
  options.source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(options.source.path, /*mayBeCompiled=*/false);
  if (!kind)
    return UserError;
  if (*kind == ModelKind::Library)
    return fail("'" + options.source.path + "' is compiled already", "tune the model it was made from"), UserError;
  options.source.kind = *kind;
  return runWith(options, *search, *budget);
}
} // namespace perpend::cli
