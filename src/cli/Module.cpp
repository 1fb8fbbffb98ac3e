//===- Module.cpp - loads models as modules, and reports errors -----------===//

#include "cli/Module.h"
#include "Pipeline.h"
#include "cli/EarlyEnd.h"
#include "compiler/KeepEntry.h"
#include "compiler/UserOperators.h"
#include "frontend/checkpoint/SharedBlocks.h"
#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/MakeStates.h"
#include "graph/NodeNames.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "host/Host.h"
#include "interp/Interpreter.h"
#include "support/ReadableText.h"
#include "support/WriteFile.h"
#include "support/ZeroedMemory.h"
#include "target/TargetInfo.h"
#include "tile/kernel/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <set>

using namespace mlir;

namespace perpend::cli {

std::optional<ModelKind> modelKindOf(StringRef path, bool mayBeCompiled) {
  llvm::Expected<ModelKind> kind = perpend::modelKindOf(path, mayBeCompiled);
  if (kind)
    return *kind;
  fail(kind.takeError());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

std::string describeLocation(Location location) {
  llvm::SmallVector<StringRef> names = graph::nodeNames(location);
  if (!names.empty())
    return "node '" + names[0].str() + "'" +
           (names.size() > 1 ? " (with " + std::to_string(names.size() - 1) + " more)" : "");
  auto file = location->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  std::string text = file.getFilename().str();
  if (file.getLine() > 0)
    text += ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  return text;
}

Workspace::Workspace(bool isSilent)
    : isSilent(isSilent), handler(&context, [this](Diagnostic &diagnostic) { return report(diagnostic); }) {
  DialectRegistry registry;
  registerDialects(registry);
  interp::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  context.disableMultithreading(); // ordered messages, and recovery from crashes
}

/// A command may load a model more than once, so warnings are not repeated.
static void warn(const std::string &text) {
  static std::set<std::string> said;
  if (said.insert(text).second)
    llvm::errs() << "warning: " << support::readable(text, "\n") << "\n";
}

LogicalResult Workspace::report(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Warning && !isSilent)
    warn(diagnostic.str());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || hasFailed())
    return success();
  firstError = diagnostic.str();
  kind = graph::kindOf(diagnostic);
  if (isSilent)
    return success();
  std::string place = describeLocation(diagnostic.getLocation());
  // "node 'x'" adds nothing before "input 'x': ...".
  size_t quote = place.find('\'');
  std::string name = quote == std::string::npos ? place : place.substr(quote, place.rfind('\'') + 1 - quote);
  fail(StringRef(firstError).contains(name) ? firstError : place + ": " + firstError);
  return success();
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// More than any machine has: an error in the model or in --dim.
static constexpr int64_t largestTensorBytes = int64_t{1} << 38;

static LogicalResult checkSize(Location location, Value value, StringRef subject = "") {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return success();
  std::optional<int64_t> count = interp::countElements(type.getShape());
  if (count && *count <= largestTensorBytes / tile::elementBytes(type.getElementType()))
    return success();
  double bytes = static_cast<double>(tile::elementBytes(type.getElementType()));
  for (int64_t extent : type.getShape())
    bytes *= static_cast<double>(extent);
  return emitError(location) << subject << "a tensor of shape " << graph::toString(graph::shapeOf(type))
                             << " would take " << llvm::formatv("{0:E2} bytes", bytes).str() << ", expected at most "
                             << (largestTensorBytes >> 30) << " GiB\nhint: check the dimensions of the model's inputs";
}

static LogicalResult checkSizes(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments()) {
    auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttribute);
    if (failed(checkSize(argument.getLoc(), argument, name ? ("input '" + name.getValue() + "': ").str() : "")))
      return failure();
  }
  for (Operation &op : main.getBody().front())
    for (Value result : op.getResults())
      if (failed(checkSize(op.getLoc(), result)))
        return failure();
  return success();
}

static LogicalResult makeStates(ModuleOp module, ArrayRef<std::string> texts) {
  std::vector<graph::StateOption> states;
  for (const std::string &text : texts) {
    std::optional<graph::StateOption> state = graph::StateOption::parse(text);
    if (!state)
      return fail("option '--state': expected INPUT=OUTPUT, such as 'past_*=present_*:4096', got '" + text + "'"),
             failure();
    states.push_back(*state);
  }
  llvm::SmallVector<func::FuncOp, 2> entries = graph::entriesOf(module);
  return success(succeeded(graph::makeStates(entries, states)) && succeeded(verify(module)) &&
                 llvm::all_of(entries, [](func::FuncOp entry) { return succeeded(graph::verifyStates(entry)); }));
}

OwningOpRef<ModuleOp> Workspace::loadEntries(const ModelSource &source) {
  checkpoint::SharedBlocks shared; // entries may be of one checkpoint
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (const auto &[name, path] : source.entries) {
    ModelSource one = source;
    one.entries.clear();
    one.states.clear(); // of all entries below
    one.path = path;
    std::optional<ModelKind> kind = modelKindOf(path, /*mayBeCompiled=*/false);
    if (!kind)
      return {};
    one.kind = *kind;
    OwningOpRef<ModuleOp> loaded = load(one);
    if (!loaded || failed(graph::addEntry(*module, name, std::move(loaded))))
      return {};
  }
  if (failed(makeStates(*module, source.states)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> Workspace::loadEntry(const ModelSource &source) {
  OwningOpRef<ModuleOp> module = load(source);
  return module && succeeded(keepEntry(*module, source.entry)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> Workspace::load(const ModelSource &source) {
  if (!source.entries.empty())
    return loadEntries(source);
  LoadOptions options;
  for (StringRef text : source.dimensions) {
    auto [subject, value] = text.rsplit('=');
    options.dimensions.push_back({subject.str(), value.str()});
  }
  options.operators = source.operators;
  options.cache = source.cache;
  OwningOpRef<ModuleOp> module = loadModel(context, source.path, source.kind, options);
  if (module && failed(loadOperators(*module)))
    return {};
  if (!module || !source.isGraphLevel)
    return module;
  if (!host::entriesOf(*module).empty())
    return module;
  llvm::SmallVector<func::FuncOp, 2> entries = graph::entriesOf(*module);
  if (entries.empty()) {
    fail("'" + source.path + "' has no function @main", "a module is one function @main of graph operators");
    return {};
  }
  for (func::FuncOp entry : entries)
    if (failed(checkSizes(entry)))
      return {};
  if (failed(makeStates(*module, source.states)))
    return {};
  return module;
}

void printElided(Operation *op, llvm::raw_ostream &out) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().elideLargeElementsAttrs(32).elideLargeResourceString(0));
  out << StringRef(text).split("\n{-#").first.rtrim() << "\n"; // omits the then empty list of resources
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

namespace {
/// On a terminal, a line that says which phase a compilation is in. Each text ends at the line's beginning, so that an
/// error overwrites it.
class PhaseLine {
public:
  explicit PhaseLine(CompileReport *report) : report(llvm::sys::Process::StandardErrIsDisplayed() ? report : nullptr) {
    show(phases().front().name);
    if (report)
      report->started = [this](StringRef phase) { show(phase); };
  }
  PhaseLine(const PhaseLine &) = delete;
  PhaseLine &operator=(const PhaseLine &) = delete;
  ~PhaseLine() {
    if (report)
      llvm::errs() << "\033[K", report->started = nullptr;
  }

private:
  void show(StringRef phase) const {
    if (report)
      llvm::errs() << "\033[Kcompiling: " << phase << "\r";
  }

  CompileReport *report;
};
} // namespace

bool compileGuarded(ModuleOp module, const CompileOptions &options, ArtifactKind kind, StringRef output,
                    CompileReport *report, bool ownsConstants) {
  PhaseLine line(report);
  bool isGood = false;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  if (!recovery.RunSafely(
          [&] { isGood = succeeded(compile(module, options, kind, output, report, nullptr, ownsConstants)); })) {
    endIfOutOfMemory();
    return graph::emitInternalError(UnknownLoc::get(module.getContext())) << "the compiler crashed", false;
  }
  return isGood;
}

std::string folderOf(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

bool compileModel(const ModelSource &source, const CompileOptions &options, ArtifactKind kind, StringRef output,
                  CompileReport *report) {
  // Never destroyed after a crash, because its state is unknown.
  auto workspace = std::make_unique<Workspace>();
  OwningOpRef<ModuleOp> module;
  {
    const std::string folder = folderOf(output);
    support::MemoryInFiles inFiles(folder.c_str());
    module = workspace->load(source);
  }
  if (!module)
    return false;
  if (compileGuarded(*module, options, kind, output, report, /*ownsConstants=*/true))
    return true;
  if (workspace->hasFoundBug()) {
    module.release();
    workspace.release();
    writeReproducer(source, options);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reproducers
//===----------------------------------------------------------------------===//

/// Whether the phases from `first` to `phase` succeed; prints the module after them to `text`.
static bool reaches(const ModelSource &source, const CompileOptions &options, StringRef phase, std::string &text,
                    std::string &first) {
  auto workspace = std::make_unique<Workspace>(/*isSilent=*/true);
  OwningOpRef<ModuleOp> module = workspace->load(source);
  CompileOptions upTo = options;
  upTo.stopAfter = phase.str();
  upTo.dumpPhases.clear();
  upTo.printTimes = false;
  if (module)
    first = firstPhase(*module, options).str();
  bool isGood = module && (phase.empty() || compileGuarded(*module, upTo, ArtifactKind::SharedLibrary, ""));
  if (!isGood) {
    (void)module.release();
    (void)workspace.release();
    return false;
  }
  llvm::raw_string_ostream out(text);
  module->print(out, OpPrintingFlags().enableDebugInfo());
  out << "\n";
  return true;
}

/// Of several machines, the first for which compilation fails, or else the first.
static std::string failingTarget(const ModelSource &source, CompileOptions options) {
  auto targets = target::resolveTargets(options.target);
  if (!targets)
    return llvm::consumeError(targets.takeError()), options.target;
  if (targets->size() == 1)
    return options.target;
  for (const target::TargetInfo &target : *targets) {
    std::string text, first;
    options.target = target.name;
    if (!reaches(source, options, phases().back().name, text, first))
      return target.name;
  }
  return targets->front().name;
}

void writeReproducer(const ModelSource &source, const CompileOptions &given) {
  CompileOptions options = given;
  options.target = failingTarget(source, given);
  std::string before, first;
  if (!reaches(source, options, "", before, first))
    return;
  StringRef failing = "emit", start;
  bool isRunning = first.empty();
  for (const Phase &phase : phases()) {
    isRunning |= phase.name == first;
    if (!isRunning)
      continue;
    start = phase.name;
    std::string after;
    if (!reaches(source, options, phase.name, after, first)) {
      failing = phase.name;
      break;
    }
    if (&phase != &phases().back()) // replaying the last phase includes what follows it
      before = std::move(after);
  }
  llvm::errs() << "in phase: " << failing << "\n";
  llvm::Error error = support::writeFile("perpend-repro.mlir", [&](llvm::raw_ostream &file) { file << before; });
  if (error) {
    llvm::errs() << "no reproducer: " << llvm::toString(std::move(error)) << "\n";
    return;
  }
  llvm::errs() << "reproducer: perpend-repro.mlir\nreplay: perpend compile perpend-repro.mlir -o repro.so --start-from "
               << start << " --target " << options.target << " -O" << options.optLevel
               << (options.intrinsics.empty() ? "" : " --intrinsics " + options.intrinsics)
               << (options.precision == "f32" ? "" : " --precision " + options.precision)
               << (options.unpacked ? " --unpacked" : "") << (options.batchInvariant ? " --batch-invariant" : "")
               << (options.checked ? " --checked\n" : "\n");
}
} // namespace perpend::cli
