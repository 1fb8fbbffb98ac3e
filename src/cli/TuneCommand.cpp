//===- TuneCommand.cpp - perpend tune -------------------------------------===//

#include "cli/ArrayFiles.h"
#include "cli/Command.h"
#include "cli/Module.h"
#include "cli/TimeText.h"
#include "cli/TuningPage.h"
#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "support/Duration.h"
#include "support/ReadableText.h"
#include "support/WriteFile.h"
#include "tune/CostModel.h"
#include "tune/sketches/Sketches.h"
#include "tuning/TuningNames.h"

#include "../runtime/Pool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

#include <atomic>
#include <cmath>
#include <csignal>

using namespace mlir;

namespace perpend::cli {
namespace {
struct TuneOptions {
  std::vector<ModelSource> sources; ///< at least one
  TuningOptions tuning;
  std::vector<std::string> symbols, inputs, kernels;
  std::string output, html, budget = "10m";
  bool wantsList = false;
};
} // namespace

static std::atomic<int> endingSignal = 0;
static bool isInterrupted() { return endingSignal != 0; }

/// Help text of an option whose value is one of a table; `what` describes it.
template <typename Info> static std::string helpOf(StringRef what, ArrayRef<Info> table, StringRef usual) {
  std::string text = what.str() + ":";
  for (const Info &info : table)
    text += ((&info == table.begin() ? " " : "; ") + info.name + (info.name == usual ? " (default), " : ", ") +
             info.sentence)
                .str();
  return text;
}

//===----------------------------------------------------------------------===//
// What is printed
//===----------------------------------------------------------------------===//

/// A row per kernel, largest share of the model's time first.
static void printTable(ArrayRef<tune::Job> jobs, bool isTuned) {
  double total = 0;
  for (const tune::Job &job : jobs)
    total += job.weightOfCalls() * job.defaultSeconds;
  std::vector<const tune::Job *> order;
  for (const tune::Job &job : jobs)
    if (job.isMeasured())
      order.push_back(&job);
  auto share = [](const tune::Job *job) {
    return std::make_tuple(-job->weightOfCalls() * job->defaultSeconds, StringRef(job->kernel),
                           StringRef(job->extents));
  };
  llvm::sort(order, [&](const tune::Job *a, const tune::Job *b) { return share(a) < share(b); });
  llvm::outs() << "  calls      %   time of one  roof       space" << (isTuned ? "  trials      tuned   gain" : "")
               << "  kernel\n";
  for (const tune::Job *job : order) {
    llvm::outs() << llvm::format(
        "%7lld %6.1f %13s %4.0f%% %11.3g", static_cast<long long>(job->calls),
        total > 0 ? 100 * job->weightOfCalls() * job->defaultSeconds / total : 0, timeText(job->defaultSeconds).c_str(),
        job->defaultSeconds > 0 ? 100 * job->roofSeconds / job->defaultSeconds : 0, job->space.size());
    if (isTuned)
      llvm::outs() << llvm::format(" %7lld %10s %5.2fx", static_cast<long long>(job->trials),
                                   job->isImproved() ? timeText(job->bestSeconds).c_str() : "-",
                                   job->bestSeconds > 0 ? job->defaultSeconds / job->bestSeconds : 1);
    llvm::outs() << "  " << job->titleAmong(jobs) << "\n";
  }
  if (size_t others = jobs.size() - order.size())
    llvm::outs() << "not measured: " << support::counted(others, "kernel") << "\n";
}

/// Shows progress: on a terminal one line that is updated, otherwise a line from time to time.
class ProgressLine {
public:
  ProgressLine(const TuningRun &run, double budget) : run(run), budget(budget) {}
  /// For a list, which takes an unknown time; silent in a pipe if it is short.
  explicit ProgressLine(const TuningRun &run) : run(run), budget(0), printed(0) {}

  /// The first kernel takes a while, so announce the start.
  void begin() const {
    bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
    if (isTerminal || budget > 0)
      llvm::errs() << "measuring kernels: 0 of " << run.kernels().size() << (isTerminal ? "" : "\n");
  }

  void print(const tune::Job &job, bool isLast = false) {
    using Seconds = std::chrono::duration<double>;
    double spent = Seconds(tune::Tuner::Clock::now() - start).count();
    bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
    if (!isLast && spent - printed < (isTerminal ? 0.2 : 5))
      return;
    printed = spent;
    llvm::errs() << (isTerminal ? "\r\033[K" : "");
    if (job.trials == 0 && !isLast) {
      llvm::errs() << "measuring kernels: " << llvm::count_if(run.kernels(), [](auto &of) { return of.isMeasured(); })
                   << " of " << run.kernels().size() << ", " << job.kernel << (isTerminal ? "" : "\n");
      return;
    }
    double before = run.sums().modelSeconds(true), now = run.sums().modelSeconds(false);
    llvm::errs() << llvm::format("%.0f of %.0f s: kernels %s -> %s (%.2fx), roof %s", spent, budget,
                                 timeText(before).c_str(), timeText(now).c_str(), now > 0 ? before / now : 1,
                                 timeText(run.sums().roofSeconds()).c_str());
    if (!isLast)
      llvm::errs() << "; " << job.kernel << ", " << support::counted(static_cast<size_t>(job.trials), "trial");
    llvm::errs() << (isTerminal && !isLast ? "" : "\n");
  }

  /// Ensures that further output starts on a new line.
  static void end() { llvm::errs() << (llvm::sys::Process::StandardErrIsDisplayed() ? "\r\033[K" : ""); }

private:
  const TuningRun &run;
  double budget, printed = -1e9;
  tune::Tuner::Clock::time_point start = tune::Tuner::Clock::now();
};

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static void warnOf(const tune::Job &job, const tune::Outcome &outcome) {
  if (outcome.kind != tune::Outcome::Measured && !job.isMeasured() && !isInterrupted())
    llvm::errs() << "warning: the kernel '" << job.kernel << "' cannot be measured: " << outcome.message << "\n";
}

static void warnOfSymbols(const TuningRun &run) {
  for (const std::string &symbol : run.assumedSymbols())
    llvm::errs() << "warning: " << symbol << " is taken as " << TuningOptions::assumed
                 << ", and other schedules may be faster for its usual value\nhint: --symbol " << symbol << "=N\n";
}

/// Prints the contents of the database before anything is measured.
static void printKnown(ArrayRef<tune::Job> kernels) {
  double least = INFINITY, most = 0;
  int64_t count = 0;
  for (const tune::Job &job : kernels)
    if (!job.known.empty())
      least = std::min(least, job.knownGain), most = std::max(most, job.knownGain), ++count;
  if (count)
    llvm::errs() << llvm::format("known: %lld of %zu kernels, %.2fx to %.2fx\n", static_cast<long long>(count),
                                 kernels.size(), least, most);
}

/// False: printed.
static bool isAnyMeasured(ArrayRef<tune::Job> kernels) {
  bool isAny = llvm::any_of(kernels, [](const tune::Job &job) { return job.isMeasured(); });
  if (!isAny && !kernels.empty() && !isInterrupted())
    fail("no kernel of the model could be measured", "see the warnings; if there are none, use a larger --budget");
  return isAny || kernels.empty() || isInterrupted();
}

static void stopOnSignals() {
  struct sigaction stop = {};
  stop.sa_handler = [](int signal) { endingSignal = signal; };
  stop.sa_flags = SA_RESETHAND; // a second signal ends the program
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &stop, nullptr);
}

static std::string namesOf(ArrayRef<ModelSource> sources) {
  return llvm::join(llvm::map_range(sources, [](const ModelSource &source) { return source.path; }), ", ");
}

/// False: printed.
static bool writePage(const TuningRun &run, const TuneOptions &options, const tune::Log &log) {
  if (options.html.empty())
    return true;
  const TuningOptions &tuning = options.tuning;
  std::string symbols;
  for (const std::string &symbol : options.symbols)
    symbols += ", " + symbol;
  const std::vector<std::string> facts = {
      run.machine().name, "search " + tuning.search + ", cost model " + tuning.costModel + ", seed " +
                              std::to_string(tuning.seed) + ", threads " + std::to_string(tuning.threads) + symbols};
  llvm::Error error = support::writeFile(options.html, [&](llvm::raw_ostream &out) {
    printTuningPage("Tuning " + namesOf(options.sources), facts, run.kernels(), log, out);
  });
  return error ? (fail(std::move(error)), false) : true;
}

/// The command that uses the records: kernels are the same if the options are.
static std::string nextCommand(const TuneOptions &options) {
  const ModelSource &source = options.sources.front();
  const CompileOptions &compiler = options.tuning.compiler, usual;
  std::string command = "perpend compile " + source.path + " -o model.so --database " + options.output;
  for (const std::string &dimension : source.dimensions)
    command += " --dim " + dimension;
  for (const std::string &file : source.operators)
    command += " --operators " + file;
  auto add = [&](StringRef flag, const std::string &value, const std::string &usualValue) {
    if (value != usualValue)
      command += (flag + value).str();
  };
  add(" --target ", compiler.target, usual.target);
  add(" -O", std::to_string(compiler.optLevel), std::to_string(usual.optLevel));
  add(" --precision ", compiler.precision, usual.precision);
  add(" --intrinsics ", compiler.intrinsics, usual.intrinsics);
  return command + (compiler.unpacked ? " --unpacked" : "");
}

static void printGainsInModels(const TuningRun &run, const TuneOptions &options) {
  for (const GainInModel &gain : run.gainsInModels()) {
    std::string title = options.sources.size() > 1 ? options.sources[gain.model].path : "the model";
    if (!gain.entry.empty())
      title += ", entry '" + gain.entry + "'";
    if (!gain.extents.empty())
      title += " with " + gain.extents;
    if (gain.refusal.empty())
      llvm::outs() << title << " takes " << timeText(gain.tunedSeconds) << ", with the compiler's schedules "
                   << timeText(gain.plainSeconds) << llvm::format(" (%.2fx)\n", gain.plainSeconds / gain.tunedSeconds);
    else
      llvm::outs() << title << " was not measured with the new schedules: " << gain.refusal
                   << "; those that are faster alone are kept\n";
  }
  std::vector<std::string> slower;
  for (const tune::Job &job : run.kernels())
    if (job.isSlowerInModel)
      slower.push_back(job.titleAmong(run.kernels()));
  if (!slower.empty())
    llvm::outs() << "faster alone, but not in the model, and so not kept: " << llvm::join(slower, ", ") << "\n";
}

static int search(TuningRun &run, const TuneOptions &options) {
  llvm::Expected<tune::Database> database = tune::Database::open(options.output, /*mayCreate=*/true);
  if (!database)
    return fail(database.takeError());
  warnOfSymbols(run);
  if (llvm::Error error = run.readKnown(*database))
    return fail(std::move(error));
  printKnown(run.kernels());
  ProgressLine line(run, options.tuning.seconds);
  tune::Log log;
  stopOnSignals();
  line.begin();
  llvm::Error failure = run.search(*database, [&](const tune::Job &job, const tune::Outcome &outcome) {
    line.print(job);
    warnOf(job, outcome);
    log.add(job, outcome);
  });
  if (failure)
    return fail(std::move(failure));
  if (!writePage(run, options, log) || !isAnyMeasured(run.kernels()))
    return UserError;
  if (!run.kernels().empty())
    line.print(run.kernels().front(), /*isLast=*/true);
  printTable(run.kernels(), /*isTuned=*/true);
  if (!options.html.empty())
    llvm::outs() << "wrote " << options.html << "\n";
  llvm::outs() << "wrote " << options.output << "\n";
  printGainsInModels(run, options);
  if (llvm::any_of(run.kernels(), [](const tune::Job &job) { return job.isImproved() || !job.known.empty(); }))
    llvm::outs() << "next: " << nextCommand(options) << "\n";
  else
    llvm::outs() << "nothing faster than the compiler's own schedules was found\n";
  constexpr int terminated = 128; // plus the signal's number, as in shells
  return endingSignal == SIGTERM ? terminated + SIGTERM : Good;
}

static int list(TuningRun &run) {
  warnOfSymbols(run);
  ProgressLine line(run);
  line.begin();
  run.measure([&](const tune::Job &job, const tune::Outcome &outcome) {
    line.print(job);
    warnOf(job, outcome);
  });
  line.end();
  if (!isAnyMeasured(run.kernels()))
    return UserError;
  printTable(run.kernels(), /*isTuned=*/false);
  return Good;
}

/// The models' inputs in order, without duplicates.
static std::vector<StringRef> inputsOf(ArrayRef<ModuleOp> modules) {
  std::vector<StringRef> names;
  for (ModuleOp module : modules)
    for (func::FuncOp entry : graph::entriesOf(module))
      for (unsigned i = 0; i < entry.getNumArguments(); ++i)
        if (auto name = entry.getArgAttrOfType<StringAttr>(i, graph::nameAttribute);
            name && !llvm::is_contained(names, name.getValue()))
          names.push_back(name.getValue());
  return names;
}

/// False: printed.
static bool readInputs(ArrayRef<ModuleOp> modules, ArrayRef<std::string> files, llvm::StringMap<Array> &inputs) {
  std::vector<StringRef> names = inputsOf(modules);
  size_t next = 0;
  for (StringRef text : files) {
    auto [name, path] = text.contains('=') ? text.split('=') : std::pair<StringRef, StringRef>("", text);
    if (!text.contains('=') && next < names.size())
      name = names[next++];
    if (!llvm::is_contained(names, name))
      return fail("option '--input': the model has no input for '" + text + "'"), false;
    std::optional<Array> array = readArray(path);
    if (!array)
      return false;
    if (!inputs.try_emplace(name, std::move(*array)).second)
      return fail("input '" + name + "' is given twice"), false;
  }
  return true;
}

static int runWith(TuneOptions &options) {
  Workspace workspace;
  std::vector<OwningOpRef<ModuleOp>> owners;
  std::vector<ModuleOp> modules;
  for (const ModelSource &source : options.sources) {
    owners.push_back(source.entry.empty() ? workspace.load(source) : workspace.loadEntry(source));
    if (!owners.back())
      return UserError;
    modules.push_back(*owners.back());
  }
  if (!readInputs(modules, options.inputs, options.tuning.inputs))
    return UserError;
  auto run = TuningRun::make(modules, options.tuning, [] { return isInterrupted(); });
  if (failed(run))
    return UserError;
  return options.wantsList ? list(**run) : search(**run, options);
}

/// False: printed.
static bool addSource(TuneOptions &options, ModelSource source, StringRef path) {
  source.path = path.str();
  std::optional<ModelKind> kind = modelKindOf(source.path, /*mayBeCompiled=*/false);
  if (!kind)
    return false;
  if (*kind == ModelKind::Library)
    return fail("'" + source.path + "' is compiled already", "tune the model it was made from"), false;
  source.kind = *kind;
  options.sources.push_back(std::move(source));
  return true;
}

int runTune(const Command &command, ArrayRef<StringRef> arguments) {
  TuneOptions options;
  ModelSource source; // options shared by all models
  OptionList list;
  list.add("o", options.output, "FILE", "the database; its records stay unless a measurement refutes them");
  list.addOutputFile("html", options.html, "FILE",
                     "write a page: the best time so far, each candidate, reasons for rejections");
  list.add("budget", options.budget, "TIME", "how long to search: 90s, 10m or 1h (default 10m)");
  list.add("trials", options.tuning.trials, "N",
           "maximal number of candidates, for all kernels together (default: as many as --budget allows)", 1);
  list.add("scheduler", options.tuning.scheduler, "NAME",
           helpOf("how to choose the next kernel", tune::schedulers(), options.tuning.scheduler));
  list.add("search", options.tuning.search, "NAME",
           helpOf("how to choose the next candidate", tune::searches(), options.tuning.search));
  list.add("space", options.tuning.space, "NAME",
           helpOf("the space of candidates", tune::spaces(), options.tuning.space));
  list.add("sketches", options.tuning.sketches, "FILE",
           "sketches: more schedules whose numbers are searched, in any space");
  list.add("cost-model", options.tuning.costModel, "NAME",
           helpOf("how to rank candidates before they are measured", tune::costModels(), options.tuning.costModel));
  list.add("seed", options.tuning.seed, "N", "the same seed proposes the same candidates (default 1)");
  list.add("threads", options.tuning.threads, "N", "threads to measure with (default 1)", 1);
  list.add(
      "input", options.inputs, "[NAME=]FILE.npy",
      "an input of the model; without a name, the next one in order. Kernels are measured with its extents, those that "
      "read it with its values");
  list.add("symbol", options.symbols, "NAME=N,…",
           "the extents to measure with (default 2): several sets as n=1,128, with weights as n=1:10,128:1");
  list.add("kernels", options.kernels, "NAME,…", "only these kernels, which --list names");
  list.add("list", options.wantsList, "",
           "print the kernels, their times and the fraction of the roof that they reach");
  list.add("entry", source.entry, "NAME", "only this entry, of models with several (default: all)");
  list.add("dim", source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("state", source.states, "INPUT=OUTPUT", "as in `perpend compile`");
  list.add("cache", source.cache.tokens, "N", "as in `perpend compile`");
  list.add("cache-type", source.cache.type, "TYPE", "as in `perpend compile`");
  list.add("texts", source.cache.texts, "N", "as in `perpend compile`", 1);
  list.add("operators", source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options.tuning.compiler, {"target", "O", "precision", "intrinsics", "unpacked"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a model",
                                               /*mayBeMore=*/true))
    return *code;
  std::optional<double> budget = support::parseDuration(options.budget);
  if (!budget)
    return fail("option '--budget': expected a time such as 90s, 10m or 1h, got '" + options.budget + "'"), UsageError;
  if (options.tuning.threads > runtime::maxThreads)
    return fail("option '--threads': expected a number from 1 to " + Twine(runtime::maxThreads) + ", got " +
                Twine(options.tuning.threads)),
           UsageError;
  if (std::optional<UnknownName> unknown = unknownNameIn(options.tuning))
    return fail("option '--" + unknown->option + "': " + unknown->message, unknown->hint), UsageError;
  llvm::Expected<std::vector<ExtentSet>> extents = parseExtentSets(options.symbols);
  if (!extents)
    return fail("option '--symbol': " + llvm::toString(extents.takeError())), UsageError;
  options.tuning.extents = std::move(*extents);
  options.tuning.seconds = *budget;
  for (StringRef text : options.kernels)
    for (StringRef name : llvm::split(text, ','))
      options.tuning.kernels.push_back(name.str());
  if (!options.wantsList)
    options.tuning.points = options.output + ".points";
  if (options.output.empty() && !options.wantsList)
    return fail("no output", "-o tuned.db, or --list to see what there is to tune"), UsageError;
  if (!options.html.empty() && (options.wantsList || options.html == options.output))
    return fail("option '--html' is for a page of a search, got " +
                    Twine(options.wantsList ? "--list" : "the database's own name"),
                "--html FILE.html -o FILE.db"),
           UsageError;
  for (const std::string &path : positional)
    if (!list.checkOutputs(path) || !addSource(options, source, path))
      return UserError;
  return runWith(options);
}
} // namespace perpend::cli
