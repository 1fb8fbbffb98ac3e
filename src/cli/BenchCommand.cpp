//===- BenchCommand.cpp - perpend bench -----------------------------------===//

#include "cli/Command.h"
#include "cli/CompiledModel.h"
#include "cli/Inputs.h"
#include "cli/Profile.h"
#include "cli/Python.h"
#include "cli/Runner.h"
#include "cli/Session.h"
#include "support/WriteFile.h"
#include "target/Program.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <chrono>

namespace perpend::cli {
namespace {
struct BenchOptions {
  ModelSource source;
  CompileOptions compiler;
  InputOptions inputs;
  std::string against, threads = "1", json;
  bool wantsProfile = false;
  int64_t milliseconds = notGiven;

  static constexpr int64_t notGiven = -1, defaultMilliseconds = 1000;
  int64_t time() const { return milliseconds == notGiven ? defaultMilliseconds : milliseconds; }
};

/// A measurement with one number of threads.
struct Lane {
  int64_t threads;
  SessionOwner session; ///< null, as is the next: in a runner
  std::unique_ptr<Execution> execution;
  std::vector<double> times; ///< in ms

  double quantile(double part) const {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  }
};
} // namespace

static double nowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs the lanes alternately, in slices of some milliseconds, until each has used its time; at least once each.
static bool measure(std::vector<Lane> &lanes, double totalMs) {
  constexpr double sliceMs = 50;
  for (Lane &lane : lanes)
    if (!lane.execution->run()) // plans memory, warms caches
      return false;
  double spent = 0;
  do
    for (Lane &lane : lanes) {
      double begin = nowMs(), end;
      do {
        double start = nowMs();
        if (!lane.execution->run())
          return false;
        end = nowMs();
        lane.times.push_back(end - start);
      } while (end - begin < std::min(sliceMs, totalMs));
    }
  while ((spent += sliceMs) < totalMs);
  for (Lane &lane : lanes)
    llvm::sort(lane.times);
  return true;
}

static bool writeJson(StringRef path, StringRef model, ArrayRef<Lane> lanes) {
  llvm::json::Array rows;
  for (const Lane &lane : lanes)
    rows.push_back(llvm::json::Object{{"threads", lane.threads},
                                      {"runs", static_cast<int64_t>(lane.times.size())},
                                      {"median_ms", lane.quantile(0.5)},
                                      {"least_ms", lane.quantile(0)},
                                      {"p90_ms", lane.quantile(0.9)}});
  llvm::json::Value all = llvm::json::Object{{"model", llvm::json::fixUTF8(model)}, {"rows", std::move(rows)}};
  llvm::Error error =
      support::writeFile(path, [&](llvm::raw_ostream &file) { file << llvm::formatv("{0:2}", all) << "\n"; });
  return !error || (fail(std::move(error)), false);
}

/// Why an option that was given does not apply to bench/models.py; empty if all apply.
static std::string misplacedWith(const BenchOptions &options) {
  if (!options.inputs.files.empty())
    return "'--input' is not for --against, which measures on random inputs";
  if (options.wantsProfile)
    return "'--profile' is not for --against, which measures whole runs";
  if (options.milliseconds != BenchOptions::notGiven)
    return "'--time' is not for --against, which takes turns until the times agree";
  if (!options.source.operators.empty())
    return "'--operators' is not for --against: other engines do not have your operators";
  return "";
}

/// The corresponding options of bench/models.py. nullopt: printed.
static std::optional<std::vector<std::string>> optionsForModels(const BenchOptions &options) {
  std::vector<std::string> arguments = {"--peers",       options.against, "--threads",
                                        options.threads, "--seed",        std::to_string(options.inputs.seed)};
  for (const std::string &symbol : options.inputs.symbols)
    arguments.insert(arguments.end(), {"--dim", symbol});
  for (const std::string &dimension : options.source.dimensions) {
    if (int64_t extent = 0; StringRef(dimension).rsplit('=').second.getAsInteger(10, extent) || extent < 0)
      return fail("option '--dim': with --against, expected NAME=N, got '" + dimension + "'",
                  "--dim n=4 for a dimension that the model calls n, --dim x:0=4 for the first one of the input x"),
             std::nullopt;
    arguments.insert(arguments.end(), {"--dim", dimension, "--compile-option=--dim=" + dimension});
  }
  arguments.push_back("--compile-option=--target=" + options.compiler.target);
  arguments.push_back("--compile-option=-O" + std::to_string(options.compiler.optLevel));
  if (options.compiler.precision != "f32")
    arguments.push_back("--precision=" + options.compiler.precision);
  if (!options.compiler.schedules.empty())
    arguments.push_back("--compile-option=--schedules=" + options.compiler.schedules);
  if (!options.compiler.intrinsics.empty())
    arguments.push_back("--compile-option=--intrinsics=" + options.compiler.intrinsics);
  if (options.compiler.unpacked)
    arguments.push_back("--compile-option=--unpacked");
  if (options.compiler.batchInvariant)
    arguments.push_back("--compile-option=--batch-invariant");
  arguments.push_back("--compile-option=--plan=" + options.compiler.plan);
  return arguments;
}

/// bench/models.py measures other engines.
static int benchAgainst(const BenchOptions &options) {
  if (std::string misplaced = misplacedWith(options); !misplaced.empty())
    return fail("option " + misplaced, "leave one of them out"), UsageError;
  std::optional<std::vector<std::string>> given = optionsForModels(options);
  if (!given)
    return UsageError;
  std::string tree = findSourceTree(), python = findPython();
  if (tree.empty() || python.empty())
    return fail("option '--against' needs bench/models.py of the source tree, and Python",
                "run build/bin/perpend of a source tree after ./dev setup");
  if (options.source.kind != ModelKind::Onnx)
    return fail("option '--against' needs an .onnx file",
                "give the model's .onnx file instead of what was compiled; bench compiles it");
  TemporaryFolder folder;
  std::vector<std::string> arguments = {tree + "/bench/models.py", options.source.path, "--out", folder.pathOf("out")};
  arguments.insert(arguments.end(), given->begin(), given->end());
  int code = runProgram(python, arguments, "the benchmark of other programs was ended");
  if (!options.json.empty())
    if (std::error_code error = llvm::sys::fs::copy_file(folder.pathOf("out") + "/models.json", options.json))
      return fail("cannot write '" + options.json + "': " + error.message());
  return code == 0 ? Good : UserError;
}

static void printTimes(ArrayRef<Lane> lanes) {
  llvm::outs() << "threads   runs   median ms    least ms      p90 ms\n";
  for (const Lane &lane : lanes)
    llvm::outs() << llvm::format("%7lld %6zu %11.4f %11.4f %11.4f\n", static_cast<long long>(lane.threads),
                                 lane.times.size(), lane.quantile(0.5), lane.quantile(0), lane.quantile(0.9));
}

/// Of a library that a runner runs on this machine's processor.
static int benchInRunner(perpend_model *model, const BenchOptions &options, ArrayRef<int64_t> threads) {
  if (options.wantsProfile)
    return fail("option '--profile': code of this target runs in another program, which measures whole runs",
                "leave the option out"),
           UserError;
  if (!announceRunner(model))
    return UserError;
  std::optional<Inputs> inputs = makeInputs(model, options.source, options.inputs);
  if (!inputs)
    return UserError;
  std::vector<Lane> lanes;
  for (int64_t count : threads) {
    std::unique_ptr<Session> session = Session::create(model, count);
    if (!session)
      return UserError;
    auto times = session->times(inputs->arrays, static_cast<double>(options.time()), inputs->advice());
    if (!times)
      return UserError;
    llvm::sort(*times);
    Lane &lane = lanes.emplace_back();
    lane.threads = count;
    lane.times = std::move(*times);
  }
  inputs->print(model);
  printTimes(lanes);
  return options.json.empty() || writeJson(options.json, options.source.path, lanes) ? Good : UserError;
}

/// Of an accelerator's program: one run, in the time of its simulator's model of the machine.
static int benchProgram(perpend_model *model, const BenchOptions &options) {
  if (!announceRunner(model))
    return UserError;
  std::optional<Inputs> inputs = makeInputs(model, options.source, options.inputs);
  if (!inputs)
    return UserError;
  std::vector<ArrayRef<char>> values;
  for (const Array &array : inputs->arrays)
    values.emplace_back(reinterpret_cast<const char *>(array.bytes.get()), static_cast<size_t>(array.sizeBytes()));
  llvm::Expected<target::ProgramTimes> times = foreignLibraryOf(model)->program->measure(values);
  if (!times)
    return fail(times.takeError());
  inputs->print(model);
  llvm::outs() << times->text;
  if (options.json.empty())
    return Good;
  llvm::Error error = support::writeFile(options.json, [&](llvm::raw_ostream &out) { out << times->json; });
  return error ? fail(std::move(error)) : Good;
}

static int benchAlone(const BenchOptions &options, ArrayRef<int64_t> threads) {
  TemporaryFolder folder;
  CompileReport report;
  ModelOwner model = loadOrCompile(options.source, options.compiler, folder, &report);
  if (!model)
    return UserError;
  if (const ForeignLibrary *library = foreignLibraryOf(model.get()); library && library->program)
    return benchProgram(model.get(), options);
  if (foreignLibraryOf(model.get()) && !isEmulated(model.get()))
    return benchInRunner(model.get(), options, threads);
  if (foreignLibraryOf(model.get()))
    return fail("the model is for another architecture than this machine's: an emulator's times say nothing of it",
                "perpend check and perpend run execute it; to measure it, compile it with --exe and run it there with "
                "--repeat"),
           UserError;
  std::optional<Inputs> inputs = makeInputs(model.get(), options.source, options.inputs);
  if (!inputs)
    return UserError;
  std::vector<Lane> lanes;
  for (int64_t count : threads) {
    SessionOwner session = createSession(model.get(), count);
    if (!session)
      return UserError;
    auto execution = std::make_unique<Execution>(model.get(), session.get(), inputs->arrays, inputs->advice());
    if (perpend_model_state_count(model.get()))
      execution->forgetGrowth();
    lanes.push_back({count, std::move(session), std::move(execution), {}});
  }
  if (!measure(lanes, static_cast<double>(options.time())))
    return UserError;
  inputs->print(model.get());
  printTimes(lanes);
  if (options.wantsProfile) {
    Profiler profiler(model.get(), inputs->arrays, report);
    for (const Lane &lane : lanes)
      if (!profiler.print(lane.threads, lane.session.get(), *lane.execution, llvm::outs()))
        return UserError;
  }
  return options.json.empty() || writeJson(options.json, options.source.path, lanes) ? Good : UserError;
}

int runBench(const Command &command, ArrayRef<StringRef> arguments) {
  BenchOptions options;
  OptionList list;
  list.add("against", options.against, "ENGINES", "other engines, separated by commas: onnxruntime, openvino");
  list.add("threads", options.threads, "N,...", "numbers of threads (default 1)");
  list.addOutputFile("json", options.json, "FILE", "write the times as JSON");
  list.add("profile", options.wantsProfile, "",
           "print the time of each kernel; of a model also its nodes and the fraction of the machine's speed that it "
           "reaches");
  list.add("time", options.milliseconds, "MS", "how long to measure each number of threads (default 1000; 0: one run)");
  options.inputs.addTo(list);
  list.add("entry", options.source.entry, "NAME", "the entry, of a model with several (default: the first)");
  list.add("dim", options.source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("state", options.source.states, "INPUT=OUTPUT", "as in `perpend compile`");
  list.add("cache", options.source.cache.tokens, "N", "as in `perpend compile`");
  list.add("cache-type", options.source.cache.type, "TYPE", "as in `perpend compile`");
  list.add("texts", options.source.cache.texts, "N", "as in `perpend compile`", 1);
  list.add("operators", options.source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options.compiler, {"target", "O", "precision", "schedules", "database", "intrinsics", "unpacked",
                                      "batch-invariant", "plan"});
  list.needSource({"dim", "operators", "state", "cache", "cache-type", "texts"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  std::vector<int64_t> threads;
  if (!parseCounts(options.threads, threads))
    return fail("option '--threads': expected numbers of at least 1, such as 1,2, got '" + options.threads + "'"),
           UsageError;
  if (!list.checkOutputs(positional[0]))
    return UserError;
  options.source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(options.source.path);
  if (!kind)
    return UserError;
  options.source.kind = *kind;
  if (*kind == ModelKind::Library && !list.checkCompiled(options.source.path))
    return UsageError;
  return options.against.empty() ? benchAlone(options, threads) : benchAgainst(options);
}
} // namespace perpend::cli
