//===- CheckCommand.cpp - perpend check -----------------------------------===//

#include "arrays/Compare.h"
#include "cli/Command.h"
#include "cli/Inputs.h"
#include "cli/References.h"
#include "cli/Runner.h"
#include "cli/Session.h"
#include "host/Host.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace perpend::cli {
namespace {
struct CheckOptions {
  ModelSource source;
  CompileOptions compiler;
  InputOptions inputs;
  std::string against = "interpreter";
  unsigned runs = 1;
};
} // namespace

/// A model with states runs so often, so that the values of one run are those that the next one reads.
static constexpr unsigned runsWithStates = 3;

static std::optional<std::vector<Array>> interpretSource(const CheckOptions &options, ArrayRef<Array> inputs) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.loadEntry(options.source);
  if (!module)
    return std::nullopt;
  return interpretModule(*module, inputs, options.runs);
}

/// The host program that the phase `plan` makes, in the interpreter.
static std::optional<std::vector<Array>> interpretPlan(const CheckOptions &options, ArrayRef<Array> inputs) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.loadEntry(options.source);
  CompileOptions upTo = options.compiler;
  upTo.stopAfter = "plan";
  bool isPlanned = module && module->lookupSymbol<host::EntryOp>("main");
  if (!module || (!isPlanned && !compileGuarded(*module, upTo, ArtifactKind::SharedLibrary, "")))
    return std::nullopt;
  return interpretModule(*module, inputs, options.runs);
}

static std::optional<std::vector<Array>> referenceOf(StringRef name, const CheckOptions &options,
                                                     ArrayRef<Array> inputs, const perpend_model *model,
                                                     bool isOptimised = true) {
  if (name == "interpreter")
    return interpretSource(options, inputs);
  if (name == "plan")
    return interpretPlan(options, inputs);
  if (options.source.kind == ModelKind::Onnx)
    return runOnnxRuntime(options.source.path, inputs, model, isOptimised);
  fail("onnxruntime needs an .onnx file, got '" + options.source.path + "'");
  return std::nullopt;
}

namespace {
/// The outputs compared with a reference.
struct Agreement {
  Agreement(const perpend_model *model, ArrayRef<Array> outputs, ArrayRef<Array> reference, StringRef precision) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      arrays::Comparison comparison = arrays::compare(outputs[i], reference[i], precision);
      const auto number = static_cast<int32_t>(i), outputCount = perpend_model_output_count(model);
      const perpend_tensor_info *info =
          number < outputCount ? perpend_model_output(model, number) : perpend_model_state(model, number - outputCount);
      StringRef name = info->name;
      lines += "  " + describe(name, comparison, outputs[i], reference[i]) + "\n";
      isGood &= comparison.isGood;
      hasNumbers &= comparison.problem.empty();
      if (!comparison.isGood)
        maxAbsolute = std::fmax(maxAbsolute, comparison.maxAbsolute);
    }
  }

  bool isGood = true, hasNumbers = true;
  double maxAbsolute = 0; ///< over the outputs that differ
  std::string lines;
};
} // namespace

/// ONNX Runtime's optimiser fuses operators into kernels that round differently. A purely numerical difference from it
/// is accepted if the outputs agree without the optimiser. nullopt: they do not, or it cannot run without.
static std::optional<Agreement> withoutOptimiser(const Agreement &optimised, const CheckOptions &options,
                                                 ArrayRef<Array> inputs, ArrayRef<Array> outputs,
                                                 const perpend_model *model) {
  if (optimised.isGood || !optimised.hasNumbers)
    return std::nullopt;
  std::optional<std::vector<Array>> reference = referenceOf("onnxruntime", options, inputs, model, false);
  if (!reference)
    return std::nullopt;
  Agreement agreement(model, outputs, *reference, options.compiler.precision);
  return agreement.isGood ? std::optional(agreement) : std::nullopt;
}

static bool agreesWith(StringRef name, ArrayRef<Array> reference, const CheckOptions &options, ArrayRef<Array> inputs,
                       ArrayRef<Array> outputs, const perpend_model *model) {
  Agreement agreement(model, outputs, reference, options.compiler.precision);
  if (std::optional<Agreement> plain =
          name == "onnxruntime" ? withoutOptimiser(agreement, options, inputs, outputs, model) : std::nullopt) {
    llvm::outs() << "against onnxruntime without graph optimisations:\n"
                 << plain->lines
                 << "the outputs agree; with its graph optimisations, whose fused kernels round otherwise, onnxruntime "
                    "differs by "
                    "up to "
                 << shortText(agreement.maxAbsolute) << "\n";
    return true;
  }
  llvm::outs() << "against " << name << ":\n"
               << agreement.lines << (agreement.isGood ? "the outputs agree\n" : "the outputs DIFFER\n");
  return agreement.isGood;
}

namespace {
/// The results of a model on one machine.
struct Variant {
  std::string target; ///< empty: the only one
  ModelOwner model;
  std::vector<Array> outputs;
};
} // namespace

/// The outputs of the last run, then the states. nullopt, printed: a run failed.
static std::optional<std::vector<Array>> runOften(perpend_model *model, const Inputs &inputs, unsigned runs) {
  std::unique_ptr<Session> session = Session::create(model, 0);
  std::optional<std::vector<Array>> outputs;
  for (unsigned run = 0; session && run < runs; ++run)
    if (outputs = session->run(inputs.arrays, inputs.advice()); !outputs)
      return std::nullopt;
  std::optional<std::vector<Array>> states = outputs ? session->states() : std::nullopt;
  if (!states)
    return std::nullopt;
  llvm::append_range(*outputs, *states);
  return outputs;
}

/// Empty, printed, if a run failed.
static std::vector<Variant> runVariants(ModelOwner model, StringRef path, StringRef entry, const Inputs &inputs,
                                        unsigned runs) {
  std::vector<Variant> variants;
  for (auto &[target, variant] : comparedVariantsOf(std::move(model), path, entry)) {
    std::optional<std::vector<Array>> outputs = runOften(variant.get(), inputs, runs);
    if (!outputs)
      return {};
    variants.push_back({target, std::move(variant), std::move(*outputs)});
  }
  return variants;
}

/// Compares the outputs of each variant with one reference. nullopt, printed: there is no reference.
static std::optional<bool> checkAgainst(StringRef name, const CheckOptions &options, ArrayRef<Array> inputs,
                                        ArrayRef<Variant> variants) {
  llvm::outs().flush(); // the interpreter may take long
  std::optional<std::vector<Array>> reference = referenceOf(name, options, inputs, variants[0].model.get());
  if (!reference)
    return std::nullopt;
  bool isGood = true;
  for (const Variant &variant : variants) {
    if (!variant.target.empty())
      llvm::outs() << variant.target << " ";
    bool isSame = agreesWith(name, *reference, options, inputs, variant.outputs, variant.model.get());
    llvm::outs().flush();
    CompileOptions own = options.compiler;
    if (!variant.target.empty())
      own.target = variant.target;
    if (!isSame && name == "interpreter")
      llvm::outs() << "first difference: " << findFirstDifference(options.source, own, inputs) << "\n";
    isGood &= isSame;
  }
  return isGood;
}

static int check(CheckOptions options, ArrayRef<StringRef> references) {
  TemporaryFolder folder;
  CompileReport report;
  ModelOwner model = loadOrCompile(options.source, options.compiler, folder, &report);
  if (model && !announceRunner(model.get()))
    return UserError;
  std::optional<Inputs> made = model ? makeInputs(model.get(), options.source, options.inputs) : std::nullopt;
  if (!made)
    return UserError;
  if (perpend_model_state_count(model.get()))
    options.runs = runsWithStates;
  std::vector<Variant> variants =
      runVariants(std::move(model), artifactPathOf(options.source, options.compiler, folder), options.source.entry,
                  *made, options.runs);
  if (variants.empty())
    return UserError;
  llvm::outs() << made->drawnText();
  if (!report.precision.type.empty() && !report.precision.products) {
    llvm::outs() << "nothing of this model can be " << report.precision.type << "\n";
    options.compiler.precision = "f32"; // the reference computes in f32
  }
  bool isGood = true;
  for (StringRef name : references) {
    std::optional<bool> isSame = checkAgainst(name, options, made->arrays, variants);
    if (!isSame)
      return UserError;
    isGood &= *isSame;
  }
  return isGood ? Good : UserError;
}

int runCheck(const Command &command, ArrayRef<StringRef> arguments) {
  CheckOptions options;
  std::string runner;
  OptionList list;
  list.add("against", options.against, "NAMES",
           "references, separated by commas: interpreter (default), plan (what is launched, in the interpreter), "
           "onnxruntime");
  options.inputs.addTo(list);
  addRunnerOption(list, runner);
  list.add("entry", options.source.entry, "NAME", "the entry, of a model with several (default: the first)");
  list.add("dim", options.source.dimensions, "NAME=VALUE", "as in `perpend compile`");
  list.add("state", options.source.states, "INPUT=OUTPUT", "as in `perpend compile`");
  list.add("cache", options.source.cache.tokens, "N", "as in `perpend compile`");
  list.add("cache-type", options.source.cache.type, "TYPE", "as in `perpend compile`");
  list.add("texts", options.source.cache.texts, "N", "as in `perpend compile`", 1);
  list.add("operators", options.source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options.compiler, {"target", "O", "precision", "override-phase", "schedules", "database",
                                      "intrinsics", "unpacked", "batch-invariant", "checked", "plan", "weights"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  llvm::SmallVector<StringRef> references(llvm::split(options.against, ','));
  for (StringRef name : references)
    if (name != "interpreter" && name != "plan" && name != "onnxruntime")
      return fail("option '--against': unknown reference '" + name + "'", "references: interpreter, plan, onnxruntime"),
             UsageError;
  useRunner(runner);
  options.source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(options.source.path, /*mayBeCompiled=*/false);
  if (!kind)
    return UserError;
  options.source.kind = *kind;
  if (*kind == ModelKind::Library)
    return fail("'" + options.source.path + "' is compiled already", "check takes the model that it was compiled from");
  return check(options, references);
}
} // namespace perpend::cli
