//===- InspectCommand.cpp - perpend inspect -------------------------------===//

#include "cli/Command.h"
#include "cli/Report.h"
#include "support/WriteFile.h"

#include "llvm/ADT/StringExtras.h"

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
  if (source.kind == ModelKind::Library)
    return fail("option '--stage' needs an .onnx or .mlir file, '" + source.path + "' is compiled already");
  std::optional<std::string> text = printStage(source, options, stage);
  if (!text)
    return UserError;
  llvm::outs() << *text;
  return Good;
}

int runInspect(const Command &command, ArrayRef<StringRef> arguments) {
  ModelSource source;
  CompileOptions options;
  OptionList list;
  std::string stage, html;
  list.add("stage", stage, "STAGE", "print the module at this stage, without large weights");
  list.addOutputFile("html", html, "FILE", "write everything as a page that needs no other file");
  list.add("dim", source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("operators", source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options, {"target", "O"});
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
  if (!list.checkOutputs())
    return UserError;
  source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(source.path);
  if (!kind)
    return UserError;
  source.kind = *kind;
  if (!stage.empty())
    return printOneStage(source, options, stage);
  std::optional<ModelReport> report =
      *kind == ModelKind::Library ? inspectLibrary(source.path) : inspectModel(source, options);
  if (!report)
    return UserError;
  if (!html.empty())
    return writeHtml(*report, source, options, html);
  printText(*report, llvm::outs());
  return Good;
}
} // namespace perpend::cli
