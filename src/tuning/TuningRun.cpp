//===- TuningRun.cpp - a run of the tuner ---------------------------------===//

#include "tuning/TuningRun.h"

#include "compiler/KeepEntry.h"
#include "compiler/UserIntrinsics.h"
#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "interp/Boundary.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"
#include "target/cpu/Architecture.h"
#include "tile/schedule/KernelTraces.h"
#include "tile/schedule/Primitives.h"
#include "tune/Ranges.h"
#include "tune/TreeModel.h"
#include "tune/sketches/Sketches.h"
#include "tuning/TuningCandidates.h"
#include "tuning/TuningNames.h"

#include "perpend.h"

#include "../runtime/Isa.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend {

/// Spaces and candidates use the intrinsics that are set in the context.
LogicalResult TuningRun::readIntrinsics(MLIRContext *context) {
  std::string file = std::exchange(options.compiler.intrinsics, "");
  if (file.empty())
    return success();
  auto library = perpend::readIntrinsics(context, file, target);
  if (succeeded(library))
    intrinsics.emplace(context, *library);
  return success(succeeded(library));
}

/// Deduces symbols without a given value from an extent of an input.
static void bindSymbols(const graph::SymbolicInt &extent, int64_t number, ArrayRef<std::string> symbols,
                        ExtentSet &set) {
  for (const std::string &symbol : symbols)
    if (auto linear = graph::linearIn(extent, symbol); linear && (number - linear->second) % linear->first == 0)
      set.symbols.try_emplace(symbol, (number - linear->second) / linear->first);
}

static bool isOfShape(ArrayRef<int64_t> extents, const graph::Shape &shape, const ExtentSet &set) {
  return shape.size() == extents.size() && llvm::all_of(llvm::zip(shape, extents), [&](auto pair) {
           auto [extent, number] = pair;
           return extent.evaluate(set.symbols).value_or(number) == number;
         });
}

/// Why an input of an entry cannot be this array; empty if it fits the extents of at least one set. In the sets that it
/// fits, it determines the remaining symbols.
std::string TuningRun::bindInput(func::FuncOp entry, unsigned number, const arrays::Array &given) {
  auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[number]);
  std::optional<perpend_type> wanted = type ? interp::interfaceType(type.getElementType()) : std::nullopt;
  if (wanted && *wanted != given.type)
    return std::string("expected ") + perpend_type_name(*wanted) + ", got " + perpend_type_name(given.type);
  ArrayRef<int64_t> extents = given.shape;
  graph::Shape shape = type ? graph::shapeOf(type) : graph::Shape();
  bool isAny = false;
  for (ExtentSet &set : options.extents) {
    ExtentSet bound = set;
    for (auto [extent, number] : llvm::zip(shape, extents))
      bindSymbols(extent, number, graph::symbolsOf(entry), bound);
    if (isOfShape(extents, shape, bound))
      set = bound, isAny = true;
  }
  std::string got = llvm::join(llvm::map_range(extents, [](int64_t extent) { return std::to_string(extent); }), ", ");
  return isAny ? "" : "expected " + graph::toString(shape) + ", got [" + got + "]\nhint: or other values with --symbol";
}

/// A given array must fit an input of its name, in one entry at least: prefill and decode have inputs of one name.
LogicalResult TuningRun::bindInputs(ArrayRef<ModuleOp> modules) {
  llvm::StringMap<std::string> refusals; // empty: it fits
  for (ModuleOp module : modules) {
    auto entry = graph::firstEntryOf(module);
    for (unsigned i = 0; entry && i < entry.getNumArguments(); ++i) {
      auto name = entry.getArgAttrOfType<StringAttr>(i, graph::nameAttribute);
      auto given = name ? options.inputs.find(name.getValue()) : options.inputs.end();
      if (given == options.inputs.end())
        continue;
      std::string refusal = bindInput(entry, i, given->second);
      auto [known, isFirst] = refusals.try_emplace(given->first(), refusal);
      if (!isFirst && refusal.empty())
        known->second.clear();
    }
  }
  SmallVector<StringRef> names;
  for (const auto &input : options.inputs) {
    names.push_back(input.first());
    if (auto known = refusals.find(input.first()); known != refusals.end() && !known->second.empty())
      return ModuleOp(modules.front()).emitError("input '") << input.first() << "': " << known->second;
  }
  if (refusals.size() == options.inputs.size())
    return success();
  return ModuleOp(modules.front()).emitError("the model lacks one of the given inputs: ") << llvm::join(names, ", ");
}

LogicalResult TuningRun::checkSymbols(ArrayRef<ModuleOp> modules) {
  std::vector<std::string> inputs;
  for (ModuleOp module : modules)
    if (auto main = graph::firstEntryOf(module))
      for (const std::string &symbol : graph::symbolsOf(main))
        if (!llvm::is_contained(inputs, symbol))
          inputs.push_back(symbol);
  for (const ExtentSet &set : options.extents)
    for (const auto &symbol : set.symbols)
      if (!llvm::is_contained(inputs, symbol.first()))
        return ModuleOp(modules.front()).emitError("option '--symbol': the inputs have no symbol '")
               << symbol.first() << "'\nhint: "
               << (inputs.empty() ? "all extents are numbers" : "their symbols are " + llvm::join(inputs, ", "));
  for (const std::string &symbol : inputs)
    if (llvm::any_of(options.extents, [&](const ExtentSet &set) { return !set.symbols.contains(symbol); }))
      assumed.push_back(symbol);
  return success();
}

tune::RecordKey TuningRun::keyOf(const tune::Job &job) const {
  return {taskOf(job).structure, target.name, job.extents, options.threads};
}

/// Bytes to evict between two calls, at most the caches of one core. The measuring program cannot evict the caches of
/// other threads.
int64_t TuningRun::otherBytesOf(const TaskExtents &extents) const {
  return options.threads > 1 ? 0 : std::min(extents.otherBytes, 2 * static_cast<int64_t>(target.ownCacheBytes()));
}

LogicalResult TuningRun::makeJobs(Location location) {
  auto search =
      llvm::find_if(tune::searches(), [&](const tune::SearchInfo &info) { return info.name == options.search; });
  auto space = llvm::find_if(tune::spaces(), [&](const tune::SpaceInfo &info) { return info.name == options.space; });
  if (search == tune::searches().end())
    return emitError(location, "no search is named '") << options.search << "'";
  if (llvm::none_of(tune::costModels(), [&](const auto &info) { return info.name == options.costModel; }))
    return emitError(location, "no cost model is named '") << options.costModel << "'";
  if (space == tune::spaces().end())
    return emitError(location, "no space is named '") << options.space << "'";
  llvm::Expected<std::string> program = target::runtimeFilePath("perpend-measure");
  if (!program)
    return emitError(location, llvm::toString(program.takeError()));
  llvm::Expected<target::ScratchDirectory> folder = target::ScratchDirectory::createTemporary(); // fail early
  if (!folder)
    return emitError(location, llvm::toString(folder.takeError()));
  for (auto [group, task] : llvm::enumerate(tasks))
    for (const TaskExtents &extents : task.extents) {
      tune::Job &job = jobs.emplace_back();
      job.kernel = task.facts.name;
      job.calls = extents.calls;
      job.roofSeconds = extents.roofSeconds / static_cast<double>(options.threads);
      job.space = tune::Space::ofOne(task.trace);
      job.runner = std::make_unique<tune::LocalRunner>(
          std::make_unique<TuningCandidates>(task, extents, options.compiler, options.inputs, options.seed), *program,
          tune::LocalRunner::Setting{options.threads, otherBytesOf(extents)}, isInterrupted);
      job.extents = extents.str();
      job.weight = extents.calls > 0 ? extents.calledWeight / static_cast<double>(extents.calls) : 0;
      job.group = group;
    }
  if (!options.sketches.empty() && failed(readSketches(location.getContext())))
    return failure();
  std::shared_ptr<tune::Experience> experience;
  if (options.costModel == "trees") {
    llvm::Expected<std::unique_ptr<tune::Trees>> trees = tune::Trees::load();
    if (!trees)
      return emitError(location, llvm::toString(trees.takeError()));
    experience = std::make_shared<tune::Experience>(std::move(*trees));
    if (llvm::Error error = options.points.empty() ? llvm::Error::success() : experience->keepIn(options.points))
      return emitError(location, llvm::toString(std::move(error)));
  }
  for (tune::Job &job : jobs)
    job.open = [this, space, search, experience](tune::Job &opened) {
      const TuningTask &task = taskOf(opened);
      func::FuncOp kernel = task.kernelIn(*task.blocks);
      std::vector<tune::Space> spaces = {space->make(kernel, target, task.trace)};
      for (const tune::Trace &sketch : task.sketches)
        spaces.push_back(tune::Space::ofTrace(kernel, target, sketch));
      opened.space = tune::Space::unionOf(std::move(spaces));
      opened.search = options.makeSearch ? options.makeSearch(opened)
                                         : search->make(opened.space, static_cast<uint64_t>(options.seed));
      if (options.makeCostModel)
        opened.search = tune::rankedSearch(std::move(opened.search), options.makeCostModel(opened), opened.space);
      else if (options.costModel == "machine")
        opened.search = tune::rankedSearch(std::move(opened.search), tune::machineModel(kernel, target), opened.space);
      if (experience)
        opened.search = tune::rankedSearch(std::move(opened.search),
                                           tune::treeModel(kernel, target, task.trace, experience), opened.space);
    };
  return success();
}

/// Warns of a schedule that fits no kernel, or that a primitive refuses.
LogicalResult TuningRun::readSketches(MLIRContext *context) {
  FailureOr<std::vector<tile::ScheduleText>> texts =
      tile::readSchedules(context, options.sketches, target.name, /*mayBeSeveral=*/true);
  if (failed(texts))
    return failure();
  for (const tile::ScheduleText &text : *texts) {
    std::string why = "the model has no such kernel\nhint: `perpend inspect MODEL --schedules` lists its kernels";
    for (TuningTask &task : tasks) {
      if (task.facts.name != text.kernel)
        continue;
      if (!text.structure.empty() && text.structure != task.structure) {
        why = "that kernel has the structure '" + task.structure + "', and the sketch is for '" + text.structure +
              "'\nhint: kernels without packed operands are those of --unpacked, and of packed=False in Python";
        continue;
      }
      func::FuncOp kernel = task.kernelIn(*task.blocks);
      OwningOpRef<func::FuncOp> copy = kernel.clone();
      tile::KernelSchedule schedule(*copy, target);
      tune::Trace trace = tune::readTrace(text.trace).value_or(tune::Trace());
      bool isTaken = succeeded(schedule.replay(trace));
      why = isTaken ? "" : StringRef(schedule.refusal()).split('\n').first.str();
      if (isTaken)
        task.sketches.push_back(std::move(trace));
    }
    if (!why.empty())
      emitWarning(FileLineColLoc::get(context, options.sketches, text.position.line, text.position.column))
          << options.sketches << ":" << text.position.line << ": the sketch of @" << text.kernel
          << " is not used: " << why;
  }
  return success();
}

/// A record whose text is not a valid trace counts as an empty trace.
llvm::Error TuningRun::readKnown(const tune::Database &database) {
  knownRecords.clear();
  for (tune::Job &job : jobs) {
    llvm::Expected<std::optional<tune::Record>> record = database.find(keyOf(job));
    if (!record)
      return record.takeError();
    knownRecords.push_back(*record);
    if (!*record)
      continue;
    job.known = tune::readTrace((*record)->trace).value_or(tune::Trace());
    job.knownText = (*record)->trace;
    job.knownGain = (*record)->defaultSeconds / (*record)->seconds;
    job.knownTrials = (*record)->trials;
  }
  return llvm::Error::success();
}

namespace {
/// The entries of some models, each in a module of its own.
struct Entries {
  struct Origin {
    size_t model;
    std::string name; ///< empty: the model's only one
  };
  std::vector<Origin> origins;
  std::vector<ModuleOp> modules;
  std::vector<OwningOpRef<ModuleOp>> copies;

  LogicalResult add(size_t model, ModuleOp module) {
    SmallVector<func::FuncOp, 2> all = graph::entriesOf(module);
    if (all.size() <= 1) {
      origins.push_back({model, ""});
      modules.push_back(module);
      return success();
    }
    return success(llvm::all_of(all, [&](func::FuncOp entry) {
      origins.push_back({model, entry.getSymName().str()});
      modules.push_back(copies.emplace_back(module.clone()).get());
      return succeeded(keepEntry(modules.back(), origins.back().name));
    }));
  }
};
} // namespace

FailureOr<std::unique_ptr<TuningRun>> TuningRun::make(ArrayRef<ModuleOp> models, TuningOptions options,
                                                      IsInterrupted isInterrupted) {
  ModuleOp module = models.front();
  llvm::Expected<target::TargetInfo> target = target::resolveTarget(options.compiler.target);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  if (const target::Architecture *other = target::architectureOf(target->code); other != target::hostArchitecture())
    return module.emitError("a tuner measures on this machine, which is not of the architecture ")
           << other->name << "\nhint: tune on a machine that the target is for, or for --target host";
  for (const std::string &name : target::extensionsOf(*target))
    if (!runtime::hasInstructionSet(name.c_str()) || !runtime::requestInstructionSet(name.c_str()))
      return module.emitError("a tuner measures on this machine, which lacks ")
             << name << "\nhint: tune on a machine that the target is for, or for --target host";
  std::unique_ptr<TuningRun> run(new TuningRun(std::move(options), std::move(*target), std::move(isInterrupted)));
  Location location = module.getLoc();
  Entries entries;
  for (auto [number, model] : llvm::enumerate(models))
    if (failed(entries.add(number, model)))
      return failure();
  if (failed(run->bindInputs(entries.modules)) || failed(run->checkSymbols(entries.modules)) ||
      failed(run->readIntrinsics(module.getContext())))
    return failure();
  std::vector<TuningTask> all;
  for (auto [one, origin] : llvm::zip_equal(entries.modules, entries.origins)) {
    FailureOr<std::vector<TuningTask>> tasks =
        tuningTasksOf(one, run->options.compiler, run->target, run->options.extents, TuningOptions::assumed);
    if (failed(tasks))
      return failure();
    Whole &whole = run->models.emplace_back(Whole{origin.model, origin.name, one.clone(), {}});
    whole.extents.resize(run->options.extents.size());
    for (const TuningTask &task : *tasks)
      for (auto [extents, ofKernels] : llvm::zip(task.extents, whole.extents))
        ofKernels[task.facts.name] = extents.str();
    std::move(tasks->begin(), tasks->end(), std::back_inserter(all));
  }
  run->tasks = mergeTasks(std::move(all), run->options.extents);
  if (failed(keepKernels(run->tasks, run->options.kernels, location)) || failed(run->makeJobs(location)))
    return failure();
  run->tuner.emplace(run->jobs, tune::Tuner::Clock::time_point::max());
  return run;
}

double TuningRun::setWeightOf(const tune::Job &job) const {
  for (const TaskExtents &extents : taskOf(job).extents)
    if (extents.str() == job.extents)
      return extents.setWeight;
  return 1;
}

tune::Record TuningRun::recordOf(const tune::Job &job, int64_t trials) const {
  std::vector<tune::PartElsewhere> elsewhere;
  for (const auto &[extents, part] : job.elsewhere)
    for (const tune::Job &other : jobs)
      if (other.group == job.group && other.extents == extents)
        elsewhere.push_back({extents, part, setWeightOf(other)});
  return {keyOf(job),
          job.kernel,
          llvm::join(tune::linesOf(job.best), "\n"),
          job.bestSeconds,
          job.bestSpread,
          job.defaultSeconds,
          trials,
          PERPEND_VERSION,
          tile::versionOf(tile::primitives()),
          options.search + ", seed " + std::to_string(options.seed),
          "",
          setWeightOf(job),
          tune::textOf(elsewhere)};
}

void TuningRun::measure(const tune::Tuner::Progress &progress) { tuner->measureDefaults(progress, isInterrupted); }

std::chrono::duration<double> TuningRun::secondsToCompare() const {
  constexpr double secondsOfOne = 1.5, mostOfBudget = 0.2;
  double pairs = 0;
  for (const TuningTask &task : tasks)
    pairs += static_cast<double>(task.extents.size() * (task.extents.size() - 1));
  return std::chrono::duration<double>(std::min(secondsOfOne * pairs, mostOfBudget * options.seconds));
}

llvm::Error TuningRun::search(tune::Database &database, const tune::Tuner::Progress &progress) {
  using Clock = tune::Tuner::Clock;
  auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  auto info = llvm::find_if(tune::schedulers(), [&](const auto &known) { return known.name == options.scheduler; });
  auto scheduler = info == tune::schedulers().end() ? tune::Scheduler::Gradient : info->scheduler;
  Clock::time_point end = Clock::now() + time;
  auto toConfirm = std::chrono::duration_cast<Clock::duration>(secondsToConfirm());
  tune::Tuner::Limits limits{end - toConfirm, options.trials, scheduler};
  tune::Tuner::Limits ofSearch = limits;
  ofSearch.end -= std::chrono::duration_cast<Clock::duration>(secondsToCompare());
  tuner.emplace(jobs, ofSearch);
  llvm::Error failure = llvm::Error::success();
  struct Written {
    int64_t trials = 0;
    bool isForgotten = false; ///< the previously known trace has been removed from the database
  };
  std::vector<Written> written(jobs.size());
  auto refuted = [&](const tune::Job &job) -> std::string { // today's measurements replace earlier ones
    Written &before = written[&job - jobs.data()];
    if (!job.isKnownTried || std::exchange(before.isForgotten, true))
      return "";
    before.trials = -job.knownTrials;
    return job.knownText;
  };
  auto record = [&](const tune::Job &job) {
    if (failure)
      return;
    std::string gone = refuted(job);
    int64_t &before = written[&job - jobs.data()].trials;
    failure = database.add(recordOf(job, job.trials - before), gone);
    before = job.trials;
  };
  auto keep = [&](const tune::Job &job, const tune::Outcome &outcome) {
    progress(job, outcome);
    if (outcome.isFaster)
      record(job); // so that an interrupted run loses nothing
    else if (std::string gone = job.isKnownRefuted ? refuted(job) : ""; !gone.empty() && !failure)
      failure = database.forget(keyOf(job), gone);
  };
  auto isOver = [&] { return isInterrupted() || bool(failure); };
  tuner->run(keep, isOver);
  limits.end = std::min(limits.end, Clock::now() + std::chrono::duration_cast<Clock::duration>(secondsToCompare()));
  tuner.emplace(jobs, limits);
  tuner->compareGroups(keep, isOver);
  for (const tune::Job &job : jobs)
    for (const tune::Trace &trace : job.disproved)
      if (!failure)
        failure = database.forget(keyOf(job), llvm::join(tune::linesOf(trace), "\n"));
  for (const tune::Job &job : jobs)
    if (job.isImproved())
      record(job);
  if (!failure && toConfirm.count() > 0)
    failure = confirm(database, std::min(end, Clock::now() + std::chrono::seconds(mostSecondsToConfirm)));
  return failure;
}
} // namespace perpend
