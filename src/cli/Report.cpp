//===- Report.cpp - facts about a model -----------------------------------===//

#include "cli/Report.h"
#include "Pipeline.h"
#include "cli/CompiledModel.h"
#include "cli/Runner.h"
#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/Graph.h"
#include "graph/Repeats.h"
#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "host/Arena.h"
#include "support/ReadableText.h"
#include "target/TargetInfo.h"
#include "tile/Attributes.h"
#include "tile/kernel/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;

namespace perpend::cli {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

std::vector<std::string> stageNames() {
  std::vector<std::string> names = {"graph"};
  for (const Phase &phase : phases())
    names.push_back(phase.name.str());
  names.insert(names.end(), {"llvm", "asm"});
  return names;
}

std::optional<std::string> printStage(const ModelSource &source, const CompileOptions &options, StringRef stage) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.load(source);
  if (!module)
    return std::nullopt;
  auto explain = [&] {
    if (workspace.hasFoundBug())
      writeReproducer(source, options);
    return std::nullopt;
  };
  std::string text;
  llvm::raw_string_ostream out(text);
  bool isIr = stage == "llvm", isAssembly = stage == "asm";
  if (isIr || isAssembly) {
    if (failed(printLlvm(*module, options, isIr ? &out : nullptr, isAssembly ? &out : nullptr)))
      return explain();
    return text;
  }
  CompileOptions upTo = options;
  upTo.stopAfter = stage.str();
  if (stage != "graph" && !compileGuarded(*module, upTo, ArtifactKind::SharedLibrary, ""))
    return explain();
  printElided(*module, out);
  return text;
}

//===----------------------------------------------------------------------===//
// A model that is not compiled
//===----------------------------------------------------------------------===//

static std::string nameOf(DictionaryAttr attributes, StringRef fallback) {
  auto name = attributes ? attributes.getAs<StringAttr>(graph::nameAttribute) : StringAttr();
  return name ? support::readable(name) : fallback.str();
}

static std::string textOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream(text) << graph::nameOf(tensor.getElementType()) << " "
                                 << graph::toString(graph::shapeOf(tensor));
  return text;
}

/// Describes an input whose extents of 1 are repeated along these dimensions.
static std::string textOfRepeats(ArrayRef<int64_t> dims) {
  if (dims.empty())
    return "";
  return "; may be 1 in dimension " +
         llvm::join(llvm::map_range(dims, [](int64_t dim) { return std::to_string(dim); }), ", ");
}

/// Describes a state, whose largest shape is given.
static std::string textOfGrowth(std::optional<int64_t> growing) {
  return growing ? "; dimension " + std::to_string(*growing) + " grows, this is the most" : "";
}

static void collectSignature(func::FuncOp main, ModelReport &report) {
  std::vector<SmallVector<int64_t>> repeats(main.getNumArguments());
  for (const graph::Repeat &repeat : graph::repeatsOf(main))
    repeats[repeat.input].push_back(repeat.dim);
  for (BlockArgument argument : main.getArguments().take_front(graph::inputCountOf(main))) {
    unsigned input = argument.getArgNumber();
    report.inputs.push_back(
        {nameOf(main.getArgAttrDict(input), "input"), textOf(argument.getType()) + textOfRepeats(repeats[input])});
  }
  for (auto [i, type] : llvm::enumerate(main.getResultTypes().take_front(graph::outputCountOf(main))))
    report.outputs.push_back({nameOf(main.getResultAttrDict(static_cast<unsigned>(i)), "output"), textOf(type)});
  for (const graph::State &state : graph::statesOf(main))
    report.states.push_back({support::readable(state.name), textOf(state.capacity) + textOfGrowth(state.growing)});
  report.symbols = graph::symbolsOf(main);
  report.dataSymbols = graph::dataSymbolsOf(main);
}

static void collectOperators(func::FuncOp main, ModelReport &report) {
  std::map<std::string, int64_t> counts;
  main.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    ++counts[op->getName().getStringRef().str()];
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
      auto type = cast<RankedTensorType>(constant.getType());
      report.weightsBytes += type.getNumElements() * tile::elementBytes(type.getElementType());
    }
    return isa<graph::SymbolInterface>(op) ? WalkResult::advance() : WalkResult::skip(); // skips scalar code
  });
  for (const auto &[name, count] : counts)
    report.operators.push_back({name, count});
  llvm::sort(report.operators,
             [](const auto &a, const auto &b) { return std::tie(b.count, a.name) < std::tie(a.count, b.name); });
}

static void collectKernels(ModuleOp module, ModelReport &report) {
  for (const KernelFacts &facts : kernelFactsOf(module)) {
    KernelReport kernel{facts.name, "", "", "", ""};
    if (Attribute attribute = module.lookupSymbol(facts.name)->getAttr(tile::scheduleAttribute))
      llvm::raw_string_ostream(kernel.schedule) << attribute;
    kernel.nodes = support::readable(llvm::join(facts.nodes, ", "));
    if (facts.work) {
      kernel.operations = support::readable(facts.work->operations.str());
      kernel.bytes = support::readable(facts.work->bytes.str());
    }
    report.kernels.push_back(kernel);
  }
}

static void collectBuffers(host::EntryOp entry, ModelReport &report) {
  llvm::StringMap<int64_t> symbols;
  for (const std::string &symbol : report.symbols)
    symbols[symbol] = ModelReport::symbolValue;
  host::LiveRanges ranges = host::liveRangesOf(entry);
  auto sizeOf = [&](host::BufferOp buffer) -> std::optional<int64_t> {
    return buffer.getBytes().values()[0].evaluate(symbols).value_or(0);
  };
  auto arena = host::planArena(entry, host::hostMemory, ranges, sizeOf);
  report.arenaBytes = arena->bytes;
  for (auto [planned, bytes, offset] : llvm::zip_equal(arena->buffers, arena->sizes, arena->offsets)) {
    host::BufferOp buffer = planned;
    graph::SymbolicInt parts = buffer.getParts().values()[0];
    host::LiveRange range = ranges.buffers.lookup(buffer);
    report.buffers.push_back({buffer.getBytes().values()[0].str(), parts == graph::SymbolicInt(1) ? "" : parts.str(),
                              bytes, offset, static_cast<int32_t>(range.first), static_cast<int32_t>(range.last)});
  }
}

std::optional<ModelReport> inspectModel(const ModelSource &source, const CompileOptions &options) {
  Workspace workspace;
  OwningOpRef<ModuleOp> module = workspace.loadEntry(source);
  if (!module)
    return std::nullopt;
  ModelReport report;
  report.path = source.path;
  auto name = (*module)->getAttrOfType<StringAttr>(graph::modelNameAttribute);
  report.name = name ? support::readable(name) : "model";
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main) {
    fail("'" + source.path + "' is a host program", "its text says what it does; --stage prints later stages");
    return std::nullopt;
  }
  collectSignature(main, report);
  collectOperators(main, report);
  if (llvm::Expected<target::TargetInfo> target = target::resolveTarget(options.target)) {
    report.target = target->describe();
    report.precision = options.precision;
  } else {
    return fail(target.takeError()), std::nullopt;
  }
  CompileOptions upTo = options;
  upTo.stopAfter = "plan";
  if (!compileGuarded(*module, upTo, ArtifactKind::SharedLibrary, "")) {
    if (workspace.hasFoundBug())
      writeReproducer(source, options);
    return std::nullopt;
  }
  auto entry = module->lookupSymbol<host::EntryOp>("main");
  for (StringRef requirement : graph::describeRequirements(entry, /*eachEquationOnce=*/true))
    report.requirements.push_back(support::readable(requirement));
  collectKernels(*module, report);
  collectBuffers(entry, report);
  return report;
}

static std::vector<std::string> textsIn(const llvm::json::Object &facts, StringRef key) {
  std::vector<std::string> texts;
  if (const llvm::json::Array *array = facts.getArray(key))
    for (const llvm::json::Value &text : *array)
      texts.push_back(text.getAsString().value_or("").str());
  return texts;
}

static SmallVector<int64_t> numbersIn(const llvm::json::Object &facts, StringRef key) {
  SmallVector<int64_t> numbers;
  if (const llvm::json::Array *array = facts.getArray(key))
    for (const llvm::json::Value &number : *array)
      numbers.push_back(number.getAsInteger().value_or(0));
  return numbers;
}

/// The part of a descriptor that is about an entry: all of it, if there is one.
static const llvm::json::Object &factsOfEntry(const llvm::json::Object &facts, StringRef name) {
  if (const llvm::json::Array *entries = facts.getArray("entries"))
    for (const llvm::json::Value &entry : *entries)
      if (objectOf(entry).getString("name").value_or("") == name)
        return objectOf(entry);
  return facts;
}

std::optional<ModelReport> inspectLibrary(StringRef path, StringRef entry) {
  ModelReport report;
  ModelOwner model = selectEntry(describeLibrary(path, report.refusal), entry);
  if (!model)
    return std::nullopt;
  if (const ForeignLibrary *library = foreignLibraryOf(model.get())) {
    report.runner = describeRunner(*library);
    report.needs = library->extensions;
  }
  const int32_t entryCount = perpend_model_entry_count(model.get());
  for (int32_t i = 0; i < entryCount && entryCount > 1; ++i)
    report.entries.push_back(perpend_model_entry_name(model.get(), i));
  report.path = path.str();
  report.name = support::readable(perpend_model_name(model.get()));
  auto add = [](std::vector<TensorReport> &list, const perpend_tensor_info *info) {
    std::string text = describeTensor(*info), name = info->name;
    list.push_back({support::readable(name), text.substr(name.size() + 2)});
  };
  for (int32_t i = 0; i < perpend_model_input_count(model.get()); ++i)
    add(report.inputs, perpend_model_input(model.get(), i));
  for (int32_t i = 0; i < perpend_model_output_count(model.get()); ++i)
    add(report.outputs, perpend_model_output(model.get(), i));
  for (int32_t i = 0; i < perpend_model_state_count(model.get()); ++i)
    add(report.states, perpend_model_state(model.get(), i));
  for (int32_t i = 0; i < perpend_model_kernel_count(model.get()); ++i)
    report.kernels.push_back({perpend_model_kernel_name(model.get(), i), "", "", "", ""});
  const llvm::json::Object facts = descriptionOf(model.get()), &own = factsOfEntry(facts, entry);
  if (const llvm::json::Array *files = facts.getArray("weightsFiles"))
    for (const llvm::json::Value &file : *files)
      report.weightsFiles.emplace_back(objectOf(file).getString("file").value_or("").str(),
                                       objectOf(file).getInteger("bytes").value_or(0));
  if (const llvm::json::Array *inputs = own.getArray("inputs"))
    for (auto [input, entry] : llvm::zip(*inputs, report.inputs))
      entry.type += textOfRepeats(numbersIn(objectOf(input), "repeats"));
  if (const llvm::json::Array *states = facts.getArray("states"))
    for (auto [state, entry] : llvm::zip(*states, report.states))
      entry.type += textOfGrowth(objectOf(state).getInteger("growing"));
  if (report.refusal.empty() || !facts.getArray("variants"))
    report.target = facts.getString("target").value_or("").str();
  report.precision = facts.getString("precision").value_or("").str();
  report.isChecked = facts.getBoolean("checked").value_or(false);
  report.weightsBytes = static_cast<uint64_t>(facts.getInteger("weightsBytes").value_or(0));
  if (const llvm::json::Array *variants = facts.getArray("variants"))
    for (const llvm::json::Value &value : *variants) {
      const llvm::json::Object &variant = objectOf(value);
      report.variants.push_back({variant.getString("target").value_or("").str(), textsIn(variant, "isa"),
                                 variant.getInteger("codeBytes").value_or(0),
                                 variant.getInteger("weightsBytes").value_or(0)});
    }
  report.symbols = textsIn(own, "symbols");
  report.dataSymbols = textsIn(own, "dataSymbols");
  for (StringRef requirement : textsIn(own, "requirements"))
    report.requirements.push_back(support::readable(requirement));
  return report;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string baseExtensionOf(StringRef name) {
  llvm::Expected<target::TargetInfo> target = target::resolveTarget(name);
  if (target)
    return target->features.front();
  llvm::consumeError(target.takeError()); // of another version of the compiler
  return "of the base level";
}

/// In the order in which they are tried.
static void printVariants(const ModelReport &report, llvm::raw_ostream &out) {
  for (const VariantReport &variant : report.variants)
    out << "variant  " << variant.target << (variant.target == report.target ? " (runs here)" : "") << ": code "
        << variant.codeBytes << " bytes, weights " << variant.weightsBytes << " bytes, isa "
        << (variant.isa.empty() ? baseExtensionOf(variant.target) : llvm::join(variant.isa, " ")) << "\n";
}

void printText(const ModelReport &report, llvm::raw_ostream &out) {
  out << "model '" << report.name << "' (" << report.path << ")\n";
  if (!report.refusal.empty())
    out << "runs     not here: " << report.refusal << "\n";
  if (!report.runner.empty())
    out << "         " << report.runner << "\n";
  if (!report.target.empty())
    out << "target   " << report.target << "\n";
  if (!report.needs.empty())
    out << "needs    " << llvm::join(report.needs, " ") << "\n";
  if (!report.precision.empty() && report.precision != "f32")
    out << "products " << report.precision << " with sums of " << (report.precision == "int8" ? "i32" : "f32") << "\n";
  if (report.isChecked)
    out << "checked  a kernel that would leave a tensor's memory ends the run with an error\n";
  if (!report.entries.empty())
    out << "entries  " << llvm::join(report.entries, ", ") << " (of one of them: --entry NAME)\n";
  for (const TensorReport &input : report.inputs)
    out << "input    " << input.name << ": " << input.type << "\n";
  for (const TensorReport &output : report.outputs)
    out << "output   " << output.name << ": " << output.type << "\n";
  for (const TensorReport &state : report.states)
    out << "state    " << state.name << ": " << state.type << "\n";
  if (!report.symbols.empty())
    out << "symbols  " << llvm::join(report.symbols, ", ")
        << (report.dataSymbols.empty() ? "" : "; a run finds " + llvm::join(report.dataSymbols, ", ")) << "\n";
  for (const std::string &requirement : report.requirements)
    out << "requires " << requirement << "\n";
  out << "weights  " << report.weightsBytes << " bytes\n";
  for (const auto &[file, bytes] : report.weightsFiles)
    out << "file     " << file << ": " << bytes << " bytes, has weights\n";
  printVariants(report, out);
  if (!report.operators.empty())
    out << "\noperators:\n";
  for (const OperatorReport &entry : report.operators)
    out << llvm::format("  %6lld  ", static_cast<long long>(entry.count)) << entry.name << "\n";
  out << "\nkernels: " << report.kernels.size() << "\n";
  for (const KernelReport &kernel : report.kernels)
    out << "  " << kernel.name << (kernel.schedule.empty() ? "" : "  ") << kernel.schedule << "\n";
  if (report.buffers.empty())
    return;
  out << "\nmemory plan" << (report.symbols.empty() ? "" : ", where every symbol is 2")
      << (report.hasParts() ? ", with one thread" : "") << ": " << report.arenaBytes
      << " bytes\n  buffer     bytes    offset  alive     size\n";
  for (auto [i, buffer] : llvm::enumerate(report.buffers))
    out << llvm::format("  %6zu %9lld %9lld  %-8s  ", i, static_cast<long long>(buffer.bytes),
                        static_cast<long long>(buffer.offset),
                        (std::to_string(buffer.first) + ".." + std::to_string(buffer.last)).c_str())
        << buffer.size << (buffer.parts.empty() ? "" : " for each of at most " + buffer.parts + " threads") << "\n";
}
} // namespace perpend::cli
