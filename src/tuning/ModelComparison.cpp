//===- ModelComparison.cpp - the gain of schedules in their model ---------===//

#include "tuning/ModelComparison.h"

#include "graph/Entries.h"
#include "graph/KernelSymbols.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "tile/Attributes.h"
#include "tune/Processes.h"
#include "tuning/TuningCandidates.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace perpend {

llvm::Expected<std::unique_ptr<ModelComparison>> ModelComparison::make(ModuleOp model, const ExtentSet &extents,
                                                                       Setting setting) {
  for (const graph::State &state : graph::statesOf(graph::firstEntryOf(model)))
    if (state.growing)
      return llvm::createStringError("its state '" + state.name + "' grows from run to run");
  llvm::Expected<target::ScratchDirectory> folder = target::ScratchDirectory::createTemporary();
  if (!folder)
    return folder.takeError();
  int64_t assumed = setting.assumed;
  std::unique_ptr<ModelComparison> comparison(new ModelComparison(model, std::move(setting), std::move(*folder)));
  comparison->symbols = extents.symbols;
  for (const std::string &symbol : graph::symbolsOf(graph::firstEntryOf(model)))
    comparison->symbols.try_emplace(symbol, assumed);
  return comparison;
}

static std::string compileWith(ModuleOp model, CompileOptions options, const llvm::StringMap<tune::Trace> &traces,
                               StringRef library) {
  std::string error;
  ScopedDiagnosticHandler quiet(model.getContext(), [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  Builder builder(model.getContext());
  for (const auto &[kernel, trace] : traces) {
    SmallVector<Attribute> lines;
    for (const std::string &line : tune::linesOf(trace))
      lines.push_back(builder.getStringAttr(line));
    if (auto function = model.lookupSymbol<func::FuncOp>(kernel))
      function->setAttr(tile::traceAttribute, builder.getArrayAttr(lines));
  }
  options.startFrom = "schedule";
  options.stopAfter.clear();
  bool isDone = succeeded(compile(model, options, ArtifactKind::SharedLibrary, library));
  return isDone ? "compiled" : error.empty() ? "it does not compile" : error;
}

double ModelComparison::secondsLeft() const {
  return std::chrono::duration<double>(setting.end - std::chrono::steady_clock::now()).count();
}

/// Turns the output of a process that failed into an error: its first line is the kind, the second the reason.
static llvm::Error errorOf(StringRef text) {
  auto [kind, rest] = text.split('\n');
  StringRef why = kind == "timed out" ? "there was no time left" : rest.split('\n').first;
  bool hasKind = kind == "crashed" || kind == "timed out" || kind == "not tried";
  return llvm::createStringError(hasKind ? why : kind);
}

/// Compiles in a copy of this process: it can be killed, and may consume its copy of the module.
llvm::Error ModelComparison::compileTo(const std::string &library, const llvm::StringMap<tune::Trace> &traces) {
  std::string text = tune::outputOf(secondsLeft(), setting.isInterrupted, [&](int end) {
    return tune::startCopy(end, [&] { return compileWith(model, setting.compiler, traces, library); });
  });
  return text == "compiled" ? llvm::Error::success() : errorOf(text);
}

static std::optional<ModelTimes> timesIn(StringRef text) {
  auto [first, rest] = text.split('\n');
  ModelTimes times;
  auto [plain, tuned] = first.split(' ');
  if (plain.getAsDouble(times.plainSeconds) || tuned.trim().getAsDouble(times.tunedSeconds))
    return std::nullopt;
  for (StringRef line : llvm::split(rest, '\n')) {
    auto [kernel, part] = line.rsplit(' ');
    double value = 0;
    if (!line.trim().empty() && part.trim().getAsDouble(value))
      return std::nullopt;
    if (!line.trim().empty())
      times.parts[kernel] = value;
  }
  return times;
}

/// Ratio of the times of kernels that both libraries share; 1 if there are too few to tell.
static double partOfOthers(const ModelTimes &times, const llvm::StringMap<tune::Trace> &traces) {
  constexpr size_t few = 3;
  std::vector<double> parts;
  for (const auto &[kernel, part] : times.parts)
    if (!traces.contains(kernel))
      parts.push_back(part);
  if (parts.size() < few)
    return 1;
  llvm::sort(parts);
  return parts[parts.size() / 2];
}

/// In some processes one of two libraries runs several times slower than the other, although their kernels are the
/// same. Such times are discarded and measured again in a new process.
llvm::Expected<ModelTimes> ModelComparison::compare(const llvm::StringMap<tune::Trace> &traces) {
  constexpr int tries = 3;
  constexpr double usual = 1.1;
  for (int i = 0; i < tries; ++i) {
    llvm::Expected<ModelTimes> times = compareOnce(traces, /*isFirst=*/i == 0);
    if (!times)
      return times;
    double others = partOfOthers(*times, traces);
    if (others < usual && others > 1 / usual)
      return times;
  }
  return llvm::createStringError("unchanged kernels took different times in the two runs");
}

llvm::Expected<ModelTimes> ModelComparison::compareOnce(const llvm::StringMap<tune::Trace> &traces, bool isFirst) {
  std::string inputs = folder.pathOf("inputs"), plain = folder.pathOf("plain.so"), tuned = folder.pathOf("tuned.so");
  if (!isPrepared) {
    if (std::string refusal = writeInputsOf(model, symbols, setting.inputs, setting.seed, inputs); !refusal.empty())
      return llvm::createStringError(StringRef(refusal).split('\n').first);
    if (llvm::Error error = compileTo(plain, {}))
      return std::move(error);
    isPrepared = true;
  }
  if (isFirst)
    if (llvm::Error error = compileTo(tuned, traces))
      return std::move(error);
  constexpr double leastRun = 5; // allows a few runs even if time is nearly over
  std::string text = tune::outputOf(secondsLeft() + leastRun, setting.isInterrupted, [&](int end) {
    return tune::startProgram(end, {setting.program, "models", std::to_string(getpid()), inputs,
                                    std::to_string(setting.threads), std::to_string(secondsLeft()), plain, tuned});
  });
  StringRef rest = text;
  if (rest.consume_front("compared "))
    if (std::optional<ModelTimes> times = timesIn(rest))
      return *times;
  rest.consume_front("refused ");
  return errorOf(rest);
}
} // namespace perpend
