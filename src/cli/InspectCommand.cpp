//===- InspectCommand.cpp - perpend inspect -------------------------------===//

#include "cli/Command.h"
#include "cli/Report.h"
#include "support/WriteFile.h"
#include "target/TargetInfo.h"
#include "tile/schedule/KernelTraces.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::cli {

static int writeHtml(const ModelReport &report, const ModelSource &source, const CompileOptions &options,
                     StringRef path) {
  std::vector<StageText> stages;
  if (source.kind != ModelKind::Library)
    for (const std::string &name : stageNames()) {
      std::optional<std::string> text = printStage(source, options, name);
      if (!text)
        return UserError;
      stages.push_back({name, std::move(*text)});
    }
  if (llvm::Error error = support::writeFile(path, [&](llvm::raw_ostream &out) { printHtml(report, stages, out); }))
    return fail(std::move(error));
  llvm::outs() << "wrote " << path << "\n";
  return Good;
}

static int printOneStage(const ModelSource &source, const CompileOptions &options, StringRef stage) {
  std::optional<std::string> text = printStage(source, options, stage);
  if (!text)
    return UserError;
  llvm::outs() << *text;
  return Good;
}

/// Prints traces in the format that `perpend compile --schedules` reads.
static int printTraces(const ModelSource &source, CompileOptions options) {
  llvm::Expected<target::TargetInfo> target = target::resolveTarget(options.target);
  if (!target)
    return fail(target.takeError());
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.load(source);
  options.stopAfter = "schedule";
  if (!module || !compileGuarded(*module, options, ArtifactKind::SharedLibrary, "")) {
    if (workspace.hasFoundBug())
      writeReproducer(source, options);
    (void)module.release();
    return UserError;
  }
  llvm::outs() << tile::printSchedules(*module, target->name);
  return Good;
}

int runInspect(const Command &command, ArrayRef<StringRef> arguments) {
  ModelSource source;
  CompileOptions options;
  OptionList list;
  std::string stage, html;
  bool wantsSchedules = false;
  list.add("stage", stage, "STAGE", "print the module at this stage, without large weights");
  list.add("schedules", wantsSchedules, "", "print the traces of kernels, as `perpend compile --schedules` reads them");
  list.addOutputFile("html", html, "FILE", "write everything as a self-contained page");
  list.add("entry", source.entry, "NAME", "the entry, of a model with several (default: the first)");
  list.add("dim", source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("state", source.states, "INPUT=OUTPUT", "as in `perpend compile`");
  list.add("cache", source.cache.tokens, "N", "as in `perpend compile`");
  list.add("cache-type", source.cache.type, "TYPE", "as in `perpend compile`");
  list.add("texts", source.cache.texts, "N", "as in `perpend compile`", 1);
  list.add("operators", source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options,
                   {"target", "O", "precision", "database", "intrinsics", "unpacked", "batch-invariant", "plan"});
  list.needSource({"stage", "schedules", "dim", "operators", "state", "cache", "cache-type", "texts"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  std::vector<std::string> stages = stageNames();
  if (!stage.empty() && !llvm::is_contained(stages, stage)) {
    std::string guess = nearest(stage, stages);
    return fail("option '--stage': no stage is named '" + stage + "'",
                (guess.empty() ? "" : "did you mean '" + guess + "'? ") + "stages: " + llvm::join(stages, ", ")),
           UsageError;
  }
  if (!list.checkOutputs(positional[0]))
    return UserError;
  source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(source.path);
  if (!kind)
    return UserError;
  source.kind = *kind;
  if (*kind == ModelKind::Library && !list.checkCompiled(source.path))
    return UsageError;
  if (wantsSchedules)
    return printTraces(source, options);
  if (!stage.empty())
    return printOneStage(source, options, stage);
  std::optional<ModelReport> report =
      *kind == ModelKind::Library ? inspectLibrary(source.path, source.entry) : inspectModel(source, options);
  if (!report)
    return UserError;
  if (!html.empty())
    return writeHtml(*report, source, options, html);
  printText(*report, llvm::outs());
  return Good;
}
} // namespace perpend::cli
