//===- CheckCommand.cpp - perpend check -----------------------------------===//

#include "cli/Command.h"
#include "cli/Compare.h"
#include "cli/Inputs.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::cli {
namespace {
struct CheckOptions {
  ModelSource source;
  CompileOptions compiler;
  InputOptions inputs;
  std::string against = "interpreter";
};
} // namespace

static std::optional<std::vector<Array>> interpretSource(const ModelSource &source, ArrayRef<Array> inputs) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.load(source);
  if (!module)
    return std::nullopt;
  return interpretModule(*module, inputs);
}

static std::optional<std::vector<Array>> referenceOf(StringRef name, const CheckOptions &options,
                                                     ArrayRef<Array> inputs, const perpend_model *model) {
  if (name == "interpreter")
    return interpretSource(options.source, inputs);
  if (options.source.kind == ModelKind::Onnx)
    return runOnnxRuntime(options.source.path, inputs, model);
  fail("onnxruntime needs an .onnx file, got '" + options.source.path + "'");
  return std::nullopt;
}

static bool agrees(const perpend_model *model, ArrayRef<Array> outputs, ArrayRef<Array> reference) {
  bool isGood = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Comparison comparison = compare(outputs[i], reference[i]);
    StringRef name = perpend_model_output(model, static_cast<int32_t>(i))->name;
    llvm::outs() << "  " << describe(name, comparison, outputs[i], reference[i]) << "\n";
    isGood &= comparison.isGood;
  }
  return isGood;
}

static int check(const CheckOptions &options, ArrayRef<StringRef> references) {
  TemporaryFolder folder;
  ModelOwner model = loadOrCompile(options.source, options.compiler, folder);
  std::optional<Inputs> made = model ? makeInputs(model.get(), options.source, options.inputs) : std::nullopt;
  SessionOwner session = made ? createSession(model.get(), 0) : nullptr;
  if (!session)
    return UserError;
  ArrayRef<Array> inputs = made->arrays;
  std::optional<std::vector<Array>> outputs = runOnce(model.get(), session.get(), inputs, made->advice());
  if (!outputs)
    return UserError;
  llvm::outs() << made->drawnText();
  bool isGood = true;
  for (StringRef name : references) {
    llvm::outs().flush(); // the interpreter may take long
    std::optional<std::vector<Array>> reference = referenceOf(name, options, inputs, model.get());
    if (!reference)
      return UserError;
    llvm::outs() << "against " << name << ":\n";
    bool isSame = agrees(model.get(), *outputs, *reference);
    llvm::outs() << (isSame ? "the outputs agree\n" : "the outputs DIFFER\n");
    llvm::outs().flush();
    if (!isSame && name == "interpreter")
      llvm::outs() << "first difference: " << findFirstDifference(options.source, options.compiler, inputs) << "\n";
    isGood &= isSame;
  }
  return isGood ? Good : UserError;
}

int runCheck(const Command &command, ArrayRef<StringRef> arguments) {
  CheckOptions options;
  OptionList list;
  list.add("against", options.against, "NAMES", "references, separated by commas: interpreter (default), onnxruntime");
  options.inputs.addTo(list);
  list.add("dim", options.source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("operators", options.source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options.compiler, {"target", "O", "override-phase"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  llvm::SmallVector<StringRef> references(llvm::split(options.against, ','));
  for (StringRef name : references)
    if (name != "interpreter" && name != "onnxruntime")
      return fail("option '--against': unknown reference '" + name + "'", "references: interpreter, onnxruntime"),
             UsageError;
  options.source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(options.source.path, /*mayBeCompiled=*/false);
  if (!kind)
    return UserError;
  options.source.kind = *kind;
  if (*kind == ModelKind::Library)
    return fail("'" + options.source.path + "' is compiled already", "check takes the .onnx or .mlir file");
  return check(options, references);
}
} // namespace perpend::cli
