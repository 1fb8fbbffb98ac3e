//===- Program.cpp - a model under compilation, for Python ----------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "python/ProgramState.h"

#include "Pipeline.h"
#include "compiler/Compiler.h"
#include "compiler/ModelFile.h"
#include "compiler/VerifyModule.h"
#include "frontend/checkpoint/Import.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/OperatorDescription.h"
#include "graph/Graph.h"
#include "graph/MakeStates.h"
#include "graph/States.h"
#include "host/Host.h"
#include "llm/Module.h"
#include "support/DimensionNames.h"
#include "support/ReadableText.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace perpend::python {

//===----------------------------------------------------------------------===//
// Errors and types
//===----------------------------------------------------------------------===//

static void describe(Location location, raw_ostream &out) {
  if (auto file = location->findInstanceOf<FileLineColLoc>(); file && file.getLine())
    out << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn() << ": ";
}

ErrorText::ErrorText(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          add(support::readable(diagnostic.str(), "\n\t"));
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        llvm::raw_string_ostream out(text);
        out << (text.empty() ? "" : "\n");
        describe(diagnostic.getLocation(), out);
        out << diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          out << "\nnote: " << note.str();
        return success();
      }) {}

void ErrorText::add(const std::string &warning) {
  if (!llvm::is_contained(warnings, warning))
    warnings.push_back(warning);
}

std::string ErrorText::take(StringRef otherwise) {
  return text.empty() ? otherwise.str() : support::readable(std::exchange(text, {}), "\n\t");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Program::Program() : state(std::make_unique<State>()) {
  DialectRegistry registry;
  registerDialects(registry);
  state->context.appendDialectRegistry(registry);
  state->context.printOpOnDiagnostic(false);
}

Program::~Program() = default;

std::unique_lock<std::recursive_mutex> Program::lock() const { return std::unique_lock(state->mutex); }

static std::vector<support::DimensionOption> dimensionOptions(const Program::Dims &dims) {
  std::vector<support::DimensionOption> options;
  for (const auto &[subject, value] : dims)
    options.push_back({subject, value});
  return options;
}

static std::string named(const std::string &path, const std::string &text) {
  return path.empty() || StringRef(text).contains(path) ? text : path + ": " + text;
}

static bool isImported(Program &program, ErrorText &errors, std::string &error) {
  const Program::State &state = program.internals();
  program.warnings = std::move(errors.warnings);
  if (!state.module)
    error = named(state.path, errors.take("the model could not be imported"));
  return !!state.module;
}

std::unique_ptr<Program> Program::fromFile(const std::string &path, const Dims &dims, const Paths &operators,
                                           const checkpoint::CacheOptions &cache, std::string &error) {
  auto program = std::make_unique<Program>();
  llvm::Expected<ModelKind> kind = modelKindOf(path, /*mayBeCompiled=*/false);
  if (!kind)
    return error = llvm::toString(kind.takeError()), nullptr;
  ErrorText errors(program->state->context);
  program->state->path = path;
  program->state->module = loadModel(program->state->context, path, *kind, {dimensionOptions(dims), operators, cache});
  return isImported(*program, errors, error) ? std::move(program) : nullptr;
}

namespace {
/// Bytes owned by somebody else.
class BorrowedBuffer : public llvm::MemoryBuffer {
public:
  BorrowedBuffer(StringRef bytes, std::shared_ptr<void> owner) : owner(std::move(owner)) {
    init(bytes.begin(), bytes.end(), /*RequiresNullTerminator=*/false);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  std::shared_ptr<void> owner;
};
} // namespace

std::unique_ptr<Program> Program::fromCheckpoint(const std::string &path, int64_t context, const std::string &cacheType,
                                                 const std::string &entries, std::string &error) {
  auto program = std::make_unique<Program>();
  llvm::Expected<ModelKind> kind = modelKindOf(path, /*mayBeCompiled=*/false);
  if (!kind)
    return error = llvm::toString(kind.takeError()), nullptr;
  if (*kind != ModelKind::Gguf && *kind != ModelKind::Folder && *kind != ModelKind::Safetensors)
    return error = "'" + path +
                   "' is no checkpoint of a language model\nhint: a checkpoint is a .gguf file, or a folder with "
                   "config.json and safetensors files",
           nullptr;
  ErrorText errors(program->state->context);
  program->state->path = path;
  program->state->module = llm::makeModule(program->state->context, path, {context, cacheType, entries});
  return isImported(*program, errors, error) ? std::move(program) : nullptr;
}

bool Program::makeLanguageModel(const std::string &settings, const std::string &tokenizer, int64_t context,
                                std::string &error) {
  ErrorText errors(state->context);
  const bool isMade = succeeded(llm::completeModule(*state->module, settings, tokenizer, context));
  warnings = std::move(errors.warnings);
  if (!isMade)
    error = errors.take("the module is no language model");
  return isMade;
}

bool isKnownModelType(const std::string &modelType) { return checkpoint::isKnownModelType(modelType); }

std::unique_ptr<Program> Program::fromOnnxBytes(std::string_view bytes, std::shared_ptr<void> owner, const Dims &dims,
                                                const Paths &operators, std::string &error) {
  auto program = std::make_unique<Program>();
  ErrorText errors(program->state->context);
  auto buffer = std::make_shared<BorrowedBuffer>(bytes, std::move(owner));
  program->state->module =
      onnx::importOnnx(program->state->context, buffer, "model.onnx", "", {dimensionOptions(dims), operators});
  return isImported(*program, errors, error) ? std::move(program) : nullptr;
}

std::unique_ptr<Program> Program::fromText(std::string_view text, std::string &error) {
  auto program = std::make_unique<Program>();
  ErrorText errors(program->state->context);
  program->state->module = parseSourceString<ModuleOp>(text, &program->state->context, "module");
  if (program->state->module && succeeded(verifyObjects(*program->state->module, {})))
    return program;
  error = errors.take("the text is no module");
  return nullptr;
}

static SmallVector<graph::ConstantOp> constantsOf(ModuleOp module) {
  SmallVector<graph::ConstantOp> constants;
  module.walk([&](graph::ConstantOp constant) { constants.push_back(constant); });
  return constants;
}

/// A copy in another context. Constants are not copied: their memory is that of the original.
static OwningOpRef<ModuleOp> copyOf(ModuleOp module, MLIRContext &context, const std::shared_ptr<void> &owner) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  BytecodeWriterConfig config;
  config.setElideResourceDataFlag();
  if (failed(writeBytecodeToFile(module, out, config)))
    return {};
  OwningOpRef<ModuleOp> copy =
      parseSourceString<ModuleOp>(bytes, ParserConfig(&context, /*verifyAfterParse=*/false), "module");
  if (!copy)
    return {};
  for (auto [from, to] : llvm::zip_equal(constantsOf(module), constantsOf(*copy))) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(from.getValue());
    AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
    if (!blob)
      continue;
    auto keepAlive = [owner](void *, size_t, size_t) {};
    cast<DenseResourceElementsAttr>(to.getValue())
        .getRawHandle()
        .getResource()
        ->setBlob(AsmResourceBlob(blob->getData(), blob->getDataAlignment(), keepAlive, /*dataIsMutable=*/false));
  }
  return copy;
}

std::unique_ptr<Program> Program::join(const std::vector<std::pair<std::string, Program *>> &parts,
                                       std::shared_ptr<void> owner, std::string &error) {
  auto program = std::make_unique<Program>();
  MLIRContext &context = program->state->context;
  ErrorText errors(context);
  program->state->module = ModuleOp::create(UnknownLoc::get(&context));
  for (const auto &[name, part] : parts) {
    auto lock = part->lock();
    OwningOpRef<ModuleOp> copy = copyOf(*part->state->module, context, owner);
    if (!copy || failed(graph::addEntry(*program->state->module, name, std::move(copy)))) {
      error = errors.take("entry '" + name + "': its module could not be copied");
      return nullptr;
    }
  }
  return program;
}

bool Program::makeStates(const std::vector<std::string> &texts, std::string &error) {
  std::vector<graph::StateOption> states;
  for (const std::string &text : texts) {
    std::optional<graph::StateOption> option = graph::StateOption::parse(text);
    if (!option)
      return error =
                 "states: expected an input and an output such as \"past_*\": \"present_*:4096\", got '" + text + "'",
             false;
    states.push_back(*option);
  }
  auto entries = graph::entriesOf(*state->module);
  ErrorText errors(state->context);
  if (failed(graph::makeStates(entries, states)) || failed(verify(*state->module)) ||
      !llvm::all_of(entries, [](func::FuncOp entry) { return succeeded(graph::verifyStates(entry)); }))
    return error = errors.take("the states do not fit"), false;
  if (entries.empty())
    error = "states: expected a module at graph level";
  return !entries.empty();
}

std::string Program::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  state->module->print(out, OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(64));
  return text;
}

std::string Program::bytes() const {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  return succeeded(writeBytecodeToFile(*state->module, out)) ? bytes : "";
}

std::vector<std::string> Program::inputNames() const {
  std::vector<std::string> names;
  auto main = state->module->lookupSymbol<FunctionOpInterface>("main");
  auto entry = state->module->lookupSymbol<host::EntryOp>("main");
  unsigned count = entry ? entry.inputCount() : main ? main.getNumArguments() : 0;
  for (unsigned i = 0; i < count; ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, graph::nameAttribute);
    names.push_back(name ? name.str() : "input" + std::to_string(i));
  }
  return names;
}

void Program::setResults(const std::string &json) {
  (*state->module)->setAttr(graph::resultsAttribute, StringAttr::get(&state->context, json));
}

std::string errorOfOperator(const std::string &description) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<graph::GraphDialect>();
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(description);
  if (!value)
    return llvm::toString(value.takeError());
  std::string error;
  onnx::readOperator(&context, *value, error);
  return error;
}

std::string symbolOfDimension(const std::string &input, size_t axis, const std::string &dimension) {
  return support::symbolOfDimension(input, axis, dimension);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static std::string pythonName(StringRef member) {
  std::string result;
  for (char letter : member)
    result += llvm::isUpper(letter) ? std::string("_") + llvm::toLower(letter) : std::string(1, letter);
  return result;
}

const std::vector<OptionInfo> &compileOptions() {
  static const std::vector<OptionInfo> options = {
#define OPTION(member, flag, type, defaultValue, valueName, help) {pythonName(#member), typeNameOf(type()), help},
#include "Options.def"
  };
  return options;
}

static bool setOption(CompileOptions &options, const std::string &name, const OptionValue &value, std::string &error) {
#define OPTION(member, flag, type, defaultValue, valueName, help)                                                      \
  if (name == pythonName(#member))                                                                                     \
    return assignOption(options.member, name, value, error);
#include "Options.def"
  error = "there is no option '" + name + "'\nhint: the options are";
  for (const OptionInfo &option : compileOptions())
    error += " " + option.name;
  return false;
}

bool setCompileOptions(CompileOptions &options, const OptionValues &values, std::string &error) {
  return llvm::all_of(values, [&](const auto &each) { return setOption(options, each.first, each.second, error); });
}

bool compileModule(ModuleOp module, const std::string &path, const OptionValues &values, const std::string &output,
                   bool wantsExecutable, Report &report, std::string &error, target::WeightMemory *memory) {
  CompileOptions options;
  if (!setCompileOptions(options, values, error))
    return false;
  ErrorText errors(*module.getContext());
  CompileReport details;
  if (failed(perpend::compile(module, options, artifactKindOf(output, wantsExecutable), output, &details, memory))) {
    error = named(path, errors.take("compilation failed"));
    return false;
  }
  report.warnings = std::move(errors.warnings);
  for (const PhaseTime &time : details.times)
    report.times.emplace_back(time.phase, time.seconds);
  report.descriptor = details.descriptor;
  report.units = details.units;
  report.artifactBytes = details.artifactBytes;
  report.weightsBytes = details.weightsBytes;
  report.arenaBytes = details.arenaBytes;
  report.weights = std::move(details.weights);
  return true;
}

bool Program::lower(const std::string &phase, OptionValues options, std::string &error) {
  options.emplace_back("stop_after", phase);
  Report report;
  return compileModule(*state->module, state->path, options, /*output=*/"", /*wantsExecutable=*/false, report, error,
                       nullptr);
}

bool Program::compile(const OptionValues &values, const std::string &path, bool wantsExecutable, bool isOfProcess,
                      Report &report, std::string &error) const {
  static auto &memory = *new target::WeightMemory; // models may outlive destructors of statics
  OwningOpRef<ModuleOp> copy = state->module->clone();
  return compileModule(*copy, state->path, values, path, wantsExecutable, report, error,
                       isOfProcess ? &memory : nullptr);
}
} // namespace perpend::python
