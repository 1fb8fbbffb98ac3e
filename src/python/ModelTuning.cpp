//===- ModelTuning.cpp - tunes a model for Python -------------------------===//

#include "python/ModelTuning.h"

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "interp/Boundary.h"
#include "python/ProgramState.h"
#include "support/Duration.h"
#include "tune/Log.h"
#include "tuning/TuningNames.h"

#include <set>

using namespace mlir;

namespace perpend::python {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct Setting {
  const char *name;
  std::variant<std::string TuningOptions::*, int64_t TuningOptions::*, bool TuningOptions::*> member;
};
} // namespace

static constexpr int64_t leastNumber = 1;
static const Setting allSettings[] = {
    {"search", &TuningOptions::search},        {"space", &TuningOptions::space},
    {"cost_model", &TuningOptions::costModel}, {"scheduler", &TuningOptions::scheduler},
    {"sketches", &TuningOptions::sketches},    {"seed", &TuningOptions::seed},
    {"trials", &TuningOptions::trials},        {"threads", &TuningOptions::threads},
    {"confirms", &TuningOptions::confirms},
};

static bool assignSetting(TuningOptions &options, const std::string &name, const OptionValue &value,
                          std::string &error) {
  for (const Setting &setting : allSettings) {
    if (setting.name != name)
      continue;
    bool isSet =
        std::visit([&](auto member) { return assignOption(options.*member, name, value, error); }, setting.member);
    const int64_t *number = std::get_if<int64_t>(&value);
    if (!isSet || !number || *number >= leastNumber || name == "seed")
      return isSet;
    error = "option '" + name + "': expected a number of at least 1, got " + std::to_string(*number);
    return false;
  }
  error = "a tuner has no option '" + name + "'";
  return false;
}

std::optional<double> secondsOf(const std::string &budget, std::string &error) {
  std::optional<double> seconds = support::parseDuration(budget);
  if (!seconds)
    error = "option 'budget': expected seconds, or a time such as '90s', '10m' or '1h', got '" + budget + "'";
  return seconds;
}

static bool setOptions(const TuningRequest &request, TuningOptions &options, std::string &error) {
  if (!setCompileOptions(options.compiler, request.compiler, error))
    return false;
  for (const auto &[name, value] : request.settings)
    if (!assignSetting(options, name, value, error))
      return false;
  if (std::optional<UnknownName> unknown = unknownNameIn(options)) {
    error = unknown->message + "\nhint: " + unknown->hint;
    return false;
  }
  std::optional<double> seconds = secondsOf(request.budget, error);
  if (!seconds)
    return false;
  options.seconds = *seconds;
  options.kernels = request.kernels;
  if (!request.output.empty())
    options.points = request.output + ".points";
  llvm::Expected<std::vector<ExtentSet>> extents = parseExtentSets(request.symbols);
  if (!extents) {
    error = "symbols: " + llvm::toString(extents.takeError());
    return false;
  }
  options.extents = std::move(*extents);
  for (const auto &[name, tensor] : request.inputs)
    options.inputs.try_emplace(name, arrays::Array::copyOf(tensor));
  return true;
}

/// Inputs of another type could not be used for measuring.
static bool checkTypes(ModuleOp module, const TuningRequest &request, std::string &error) {
  for (func::FuncOp entry : graph::entriesOf(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      for (const auto &[name, given] : request.inputs) {
        auto known = entry.getArgAttrOfType<StringAttr>(i, graph::nameAttribute);
        auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
        std::optional<perpend_type> wanted = type ? interp::interfaceType(type.getElementType()) : std::nullopt;
        if (!known || known.getValue() != name || !wanted || *wanted == given.type)
          continue;
        error =
            "input '" + name + "': expected " + perpend_type_name(*wanted) + ", got " + perpend_type_name(given.type);
        return false;
      }
  return true;
}

//===----------------------------------------------------------------------===//
// The caller's own search and cost model
//===----------------------------------------------------------------------===//

static std::string textOf(const tune::Trace &trace) { return llvm::join(tune::linesOf(trace), "\n"); }

namespace {
class CallersModel : public tune::CostModel {
public:
  CallersModel(const TuningCalls &calls, std::string kernel) : calls(calls), kernel(std::move(kernel)) {}
  double predict(const tune::Trace &candidate) override { return calls.predict(kernel, textOf(candidate)); }
  bool learn(const tune::Trace &candidate, double time) override {
    return calls.learn(kernel, textOf(candidate), time);
  }

private:
  const TuningCalls &calls;
  std::string kernel;
};

class CallersSearch : public tune::Search {
public:
  CallersSearch(SearchCalls calls, const tune::Space &space) : calls(std::move(calls)), space(space) {}

  /// Asks again for points that were proposed before, a limited number of times.
  std::optional<tune::Point> propose() override {
    constexpr int mostTries = 1000;
    for (int i = 0; i < mostTries; ++i) {
      std::optional<tune::Point> point = calls.propose();
      if (!point)
        return std::nullopt;
      if (tune::Point reduced = space.reduced(*point); seen.insert(reduced).second)
        return reduced;
    }
    return std::nullopt;
  }
  void tell(const tune::Point &point, double time) override {
    seen.insert(point);
    calls.tell(point, time);
  }

private:
  SearchCalls calls;
  const tune::Space &space;
  std::set<tune::Point> seen;
};
} // namespace

static void setCallers(TuningOptions &options, const TuningCalls &calls) {
  if (calls.predict)
    options.makeCostModel = [&calls](const tune::Job &job) {
      return std::make_unique<CallersModel>(calls, job.kernel);
    };
  if (calls.makeSearch)
    options.makeSearch = [&calls](const tune::Job &job) {
      std::vector<std::vector<std::string>> choices;
      for (const tune::Decision &decision : job.space.decisions())
        choices.push_back(decision.choices);
      return std::make_unique<CallersSearch>(calls.makeSearch(job.kernel, choices, job.space.given()), job.space);
    };
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

static TuningResult resultOf(const TuningRun &run) {
  TuningResult result;
  result.target = run.machine().name;
  result.defaultSeconds = run.sums().modelSeconds(/*ofDefaults=*/true);
  result.seconds = run.sums().modelSeconds(/*ofDefaults=*/false);
  for (const GainInModel &gain : run.gainsInModels())
    result.model.push_back({gain.entry, gain.extents, gain.refusal, gain.plainSeconds, gain.tunedSeconds});
  for (const tune::Job &job : run.kernels()) {
    tune::RecordKey key = run.keyOf(job);
    TunedKernel &kernel = result.kernels.emplace_back();
    kernel = {job.kernel, key.structure, key.symbols, textOf(job.best)};
    kernel.calls = job.calls, kernel.trials = job.trials;
    kernel.refused = job.refused, kernel.wrong = job.wrong;
    kernel.crashed = job.crashed, kernel.timedOut = job.timedOut;
    kernel.weight = job.weight, kernel.roofSeconds = job.roofSeconds;
    kernel.defaultSeconds = job.defaultSeconds, kernel.seconds = job.bestSeconds;
  }
  return result;
}

static tune::Tuner::Progress progressOf(const TuningRun &run, const TuningCalls &calls) {
  return [&](const tune::Job &job, const tune::Outcome &outcome) {
    if (outcome.kind == tune::Outcome::NotTried && calls.isInterrupted())
      return;
    if (outcome.kind != tune::Outcome::Measured && !job.isMeasured())
      calls.warn("the kernel '" + job.kernel + "' cannot be measured: " + outcome.message);
    calls.progress({job.kernel, tune::nameOf(outcome.kind).str(), job.trials, run.sums().modelSeconds(true),
                    run.sums().modelSeconds(false)});
  };
}

static llvm::Error search(TuningRun &run, const std::string &output, const TuningCalls &calls) {
  llvm::Expected<tune::Database> database = tune::Database::open(output, /*mayCreate=*/true);
  if (!database)
    return database.takeError();
  if (llvm::Error error = run.readKnown(*database))
    return error;
  return run.search(*database, progressOf(run, calls));
}

static llvm::Error work(TuningRun &run, const TuningRequest &request, const TuningCalls &calls) {
  if (!request.isMeasured)
    return llvm::Error::success();
  for (const std::string &symbol : run.assumedSymbols())
    calls.warn(symbol + " is taken as " + std::to_string(TuningOptions::assumed) +
               ", and other schedules may be faster for its usual value\nhint: symbols={'" + symbol + "': N}");
  if (request.output.empty())
    run.measure(progressOf(run, calls));
  else
    return search(run, request.output, calls);
  return llvm::Error::success();
}

bool tuneProgram(Program &program, const TuningRequest &request, const TuningCalls &calls, TuningResult &result,
                 std::string &error) {
  Program::State &state = program.internals();
  TuningOptions options;
  if (!setOptions(request, options, error) || !checkTypes(*state.module, request, error))
    return false;
  setCallers(options, calls);
  ErrorText errors(state.context);
  OwningOpRef<ModuleOp> copy = state.module->clone();
  auto run = TuningRun::make({*copy}, std::move(options), calls.isInterrupted);
  for (const std::string &text : errors.warnings)
    calls.warn(text);
  if (failed(run)) {
    error = errors.take("the model cannot be tuned");
    return false;
  }
  if (llvm::Error failure = work(**run, request, calls)) {
    error = llvm::toString(std::move(failure));
    return false;
  }
  result = resultOf(**run);
  return true;
}
} // namespace perpend::python
