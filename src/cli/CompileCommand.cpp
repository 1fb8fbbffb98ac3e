//===- CompileCommand.cpp - perpend compile -------------------------------===//

#include "Pipeline.h"
#include "cli/Command.h"
#include "cli/EarlyEnd.h"
#include "cli/Module.h"
#include "compiler/Compilation.h"
#include "compiler/Description.h"
#include "support/WriteFile.h"

#include "target/Accelerator.h"
#include "target/Link.h"
#include "target/cpu/Architecture.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

#include <chrono>

using namespace mlir;

namespace perpend::cli {

/// For example "1.5 MB".
static std::string sizeText(uint64_t bytes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (bytes < 10000)
    out << bytes << " bytes";
  else if (bytes < 10000000)
    out << llvm::format("%.1f kB", static_cast<double>(bytes) / 1e3);
  else
    out << llvm::format("%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

static bool checkPhase(StringRef flag, StringRef name) {
  std::vector<std::string> names;
  for (const Phase &phase : phases())
    names.push_back(phase.name.str());
  if (name.empty() || llvm::is_contained(names, name))
    return true;
  std::string guess = nearest(name, names);
  fail("option '--" + flag + "': no phase is named '" + name + "'",
       (guess.empty() ? "" : "did you mean '" + guess + "'? ") + "phases: " + llvm::join(names, ", "));
  return false;
}

static bool isLibrary(StringRef output) {
  auto isEnding = [&](const target::Architecture *each) { return output.ends_with(each->libraryEnding); };
  return output.ends_with(".a") || llvm::any_of(target::architectures(), isEnding);
}

/// Null: the target is a processor.
static const target::Accelerator *acceleratorOf(const CompileOptions &options) {
  auto targets = target::resolveTargets(options.target);
  if (!targets)
    return llvm::consumeError(targets.takeError()), nullptr;
  return target::acceleratorOf(targets->front().code);
}

static bool checkProgram(const target::Accelerator &accelerator, StringRef output, bool wantsExecutable) {
  if (wantsExecutable)
    return fail("option '--exe' is not for " + accelerator.name +
                    ", whose artifacts are programs that a simulator runs",
                "leave it out"),
           false;
  if (!output.ends_with(accelerator.ending))
    return fail("'" + output + "': expected a name ending in " + accelerator.ending + " for " + accelerator.name,
                "-o model" + accelerator.ending.str()),
           false;
  return true;
}

static bool checkArtifact(StringRef output, bool wantsExecutable, const target::Architecture *architecture) {
  if (output.empty())
    return fail("no output", wantsExecutable ? "-o model" : "-o model.so, -o model.a, or --exe -o model"), false;
  if (wantsExecutable && (isLibrary(output) || output.ends_with(".h")))
    return fail("'" + output + "': --exe writes a program, but this is the name of a library",
                "omit --exe, or the ending of the name"),
           false;
  const StringRef ending = architecture ? architecture->libraryEnding : ".so";
  if (!wantsExecutable && !output.ends_with(".a") && !output.ends_with(ending))
    return fail("'" + output + "': expected a name ending in " + ending + " or .a",
                isLibrary(output) ? "the ending is that of another target's libraries: --target"
                                  : "--exe writes a program"),
           false;
  return true;
}

/// Checks the output of --stop-after.
static bool checkText(StringRef output, bool wantsExecutable) {
  if (wantsExecutable)
    return fail("option '--exe' is not for --stop-after, which writes text", "leave one of them out"), false;
  if (isLibrary(output))
    return fail("'" + output + "': --stop-after writes text, but this is the name of a library", "-o module.mlir"),
           false;
  return true;
}

static bool checkOptions(const CompileOptions &options, StringRef output, bool wantsExecutable) {
  if (!checkPhase("stop-after", options.stopAfter) || !checkPhase("start-from", options.startFrom) ||
      (!options.overridePhase.empty() &&
       !checkPhase("override-phase", StringRef(options.overridePhase).split(':').first)))
    return false;
  auto targets = target::resolveTargets(options.target);
  if (!targets)
    return fail(targets.takeError()), false;
  if (options.optLevel > 3)
    return fail("option '-O': expected 0..3, got '" + Twine(options.optLevel) + "'"), false;
  if (!options.stopAfter.empty())
    return checkText(output, wantsExecutable);
  if (const target::Accelerator *accelerator = acceleratorOf(options))
    return checkProgram(*accelerator, output, wantsExecutable);
  return checkArtifact(output, wantsExecutable, target::architectureOf(targets->front().code));
}

/// --stop-after: prints the module to the output or the terminal.
static int printStopped(const ModelSource &source, const CompileOptions &options, StringRef output) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.load(source);
  if (!module || !compileGuarded(*module, options, ArtifactKind::SharedLibrary, "")) {
    if (workspace.hasFoundBug())
      writeReproducer(source, options);
    (void)module.release();
    return UserError;
  }
  auto print = [&](llvm::raw_ostream &out) {
    module->print(out, OpPrintingFlags().enableDebugInfo());
    out << "\n";
  };
  if (output.empty() || output == "-")
    return print(llvm::outs()), Good;
  llvm::Error error = support::writeFile(output, print);
  return error ? fail(std::move(error)) : Good;
}

/// Prints the machines in order of preference, and what each costs.
static void printTargets(const CompileReport &report, const CompileOptions &options, llvm::raw_ostream &out) {
  auto targets = target::resolveTargets(options.target);
  if (!targets)
    return llvm::consumeError(targets.takeError());
  for (auto [number, target] : llvm::enumerate(*targets)) {
    out << "target " << (options.printTimes ? target.describe() : target.name);
    if (!report.machines.empty())
      out << ": code " << sizeText(report.machines[number].codeBytes) << ", weights "
          << sizeText(report.machines[number].weightsBytes) << " ("
          << sizeText(report.machines[number].addedWeightsBytes) << " of its own)";
    out << "\n";
  }
}

/// ", header model.h" for a library, ", loaded by perpend.mjs" for a module of WebAssembly; otherwise empty.
static std::string headerText(StringRef output) {
  if (!isLibrary(output))
    return "";
  if (output.ends_with(".wasm")) {
    llvm::SmallString<128> loader(llvm::sys::path::parent_path(output));
    llvm::sys::path::append(loader, target::wasmLoaderFiles.front());
    return (", loaded by " + loader).str();
  }
  return ", header " + pathBeside(output, ".h");
}

/// Prints how many kernels have records, and what happened to the others; with reasons for each.
static void printRecords(ArrayRef<RecordUse> uses, bool wantsReasons, llvm::raw_ostream &out) {
  auto count = [&](RecordUse::Kind kind) {
    return llvm::count_if(uses, [&](const RecordUse &use) { return use.kind == kind; });
  };
  out << "database: records for " << count(RecordUse::Used) + count(RecordUse::UsedOfOther) << " of " << uses.size()
      << " kernels";
  for (auto [kind, text] : {std::pair(RecordUse::UsedOfOther, "another compiler's for"),
                            {RecordUse::NoGain, "no gain for"},
                            {RecordUse::None, "none for"},
                            {RecordUse::OfOtherTarget, "another target's for"},
                            {RecordUse::Refused, "refused for"}})
    if (auto some = count(kind))
      out << "; " << text << " " << some;
  out << "\n";
  if (wantsReasons)
    for (const RecordUse &use : uses)
      out << "  " << use.kernel << ": " << use.reason << "\n";
}

void printReport(const CompileReport &report, const CompileOptions &options, StringRef output, double seconds,
                 bool wantsReasons) {
  llvm::raw_ostream &out = llvm::outs();
  int width = 12;
  for (const PhaseTime &time : report.times)
    width = std::max(width, static_cast<int>(time.phase.size()));
  if (options.printTimes || llvm::sys::Process::StandardOutIsDisplayed())
    for (const PhaseTime &time : report.times)
      out << llvm::format("  %-*s %8.3f s\n", width, time.phase.c_str(), time.seconds);
  out << output << ": " << sizeText(report.artifactBytes) << ", weights " << sizeText(report.weightsBytes) << ", arena "
      << (report.arenaBytes < 0 ? "depends on the inputs or the threads" : sizeText(report.arenaBytes));
  if (report.stackBytes)
    out << ", stack " << sizeText(*report.stackBytes);
  out << headerText(output) << "\n";
  for (const auto &[path, bytes] : report.weightsFiles)
    out << "needs " << path << ": " << sizeText(bytes) << " of weights, to be shipped with it\n";
  printTargets(report, options, out);
  if (!options.database.empty())
    printRecords(report.recordUses, wantsReasons, out);
  if (!report.precision.type.empty())
    out << report.precision.text();
  for (const std::string &line : report.units)
    out << line << "\n";
  out << llvm::format("compiled in %.2f s\n", seconds);
}

/// One model, or several as NAME=FILE. False: printed.
static bool readModels(ArrayRef<std::string> texts, ModelSource &source) {
  auto isNamed = [](StringRef text) {
    return text.contains('=') && text.split('=').first == identifier(text.split('=').first) &&
           !llvm::sys::fs::exists(text);
  };
  if (texts.size() == 1 && !isNamed(texts[0])) {
    source.path = texts[0];
    return true;
  }
  for (const std::string &text : texts) {
    if (!isNamed(text))
      return fail("several models: expected NAME=FILE for each, got '" + text + "'",
                  "perpend compile prefill=a.onnx decode=b.onnx -o model.so"),
             false;
    auto [name, path] = StringRef(text).split('=');
    source.entries.emplace_back(name.str(), path.str());
  }
  source.path = source.entries.front().second; // for messages
  return true;
}

int runCompile(const Command &command, ArrayRef<StringRef> arguments) {
  ModelSource source;
  CompileOptions options;
  Limits limits;
  OptionList list;
  std::string output;
  bool wantsExecutable = false, wantsReasons = false;
  list.addOutputFile("o", output, "FILE", "what to write: .so, .a, or a program with --exe");
  list.add("output", output, "FILE", "");
  list.add("exe", wantsExecutable, "", "write a program that runs the model on .npy files");
  list.add("dim", source.dimensions, "NAME=VALUE", "a dimension of the inputs: a number, or another symbol");
  list.add(
      "state", source.states, "INPUT=OUTPUT[:N]",
      "keep the output in the session as the next value of the input, of at most N rows where it grows; * matches any "
      "text, the same in both");
  list.add(
      "cache", source.cache.tokens, "N",
      "of a checkpoint: keep keys and values of up to N tokens in the session, so that each run continues the text");
  list.add("cache-type", source.cache.type, "TYPE",
           "of keys and values in the cache: f32 (default), f16, bf16 or int8");
  list.add("texts", source.cache.texts, "N",
           "with --cache: a call continues N texts, each by as many tokens as it is given (default 1)", 1);
  list.add("operators", source.operators, "FILE.json", "your own operators (docs/howto/bring-an-operator.md)");
  list.addCompiler(options);
  list.add("explain", wantsReasons, "", "tell for each kernel why its record in --database is used or not");
  limits.addTo(list);
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a model", /*mayBeMore=*/true))
    return *code;
  if (!readModels(positional, source))
    return UsageError;
  if (wantsReasons && options.database.empty())
    return fail("option '--explain' is for --database", "leave it out, or name a database"), UsageError;
  if (!checkOptions(options, output, wantsExecutable))
    return UsageError;
  if (options.name.empty() && isLibrary(output)) // exporters name every model main_graph
    options.name = identifier(llvm::sys::path::stem(output));
  if (!limits.apply())
    return UsageError;
  for (const auto &[name, path] : source.entries)
    if (!list.checkOutputs(path))
      return UserError;
  if (source.entries.empty() && !list.checkOutputs(source.path))
    return UserError;
  if (llvm::Error error = options.stopAfter.empty() ? support::checkReplaceableFile(output) : llvm::Error::success())
    return fail(std::move(error));
  if (source.entries.empty()) {
    std::optional<ModelKind> kind = modelKindOf(source.path, /*mayBeCompiled=*/false);
    if (!kind)
      return UserError;
    source.kind = *kind;
  }
  source.isGraphLevel = options.startFrom.empty();
  if (!options.stopAfter.empty())
    return printStopped(source, options, output);
  CompileReport report;
  auto start = std::chrono::steady_clock::now();
  if (!compileModel(source, options, artifactKindOf(output, wantsExecutable), output, &report))
    return UserError;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  printReport(report, options, output, seconds.count(), wantsReasons);
  return Good;
}
} // namespace perpend::cli
