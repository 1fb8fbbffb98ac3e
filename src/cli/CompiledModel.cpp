//===- CompiledModel.cpp - compiled models for commands -------------------===//

#include "cli/CompiledModel.h"
#include "cli/Session.h"

#include "support/TemporaryFolders.h"
#include "target/Accelerator.h"

#include "../runtime/Isa.h"

#include "llvm/Support/Path.h"

#include <cstdlib>

namespace perpend::cli {

TemporaryFolder::TemporaryFolder() {
  if (std::error_code error = support::makeTemporaryFolder(path))
    fail("cannot create a temporary folder: " + error.message(), "set TMPDIR to a writable folder");
}

TemporaryFolder::~TemporaryFolder() {
  if (!path.empty())
    support::removeTemporaryFolder(path);
}

std::string TemporaryFolder::pathOf(StringRef name) const {
  llvm::SmallString<128> file(path);
  llvm::sys::path::append(file, name);
  return file.str().str();
}

ModelOwner loadLibrary(StringRef path) {
  perpend_model *model = nullptr;
  if (perpend_model_load(path.str().c_str(), &model) != PERPEND_OK)
    fail(perpend_error_message());
  return ModelOwner(model);
}

llvm::json::Object descriptionOf(const perpend_model *model) {
  llvm::Expected<llvm::json::Value> descriptor = llvm::json::parse(perpend_model_descriptor(model));
  if (!descriptor)
    return llvm::consumeError(descriptor.takeError()), llvm::json::Object();
  llvm::json::Object *object = descriptor->getAsObject();
  return object ? std::move(*object) : llvm::json::Object();
}

/// What a variant needs, such as "avx512f, avx512dq".
static std::string missingOf(const llvm::json::Object &variant) {
  std::string missing;
  const llvm::json::Array *names = variant.getArray("isa");
  for (const llvm::json::Value &value : names ? *names : llvm::json::Array())
    if (std::string name = value.getAsString().value_or("").str();
        !runtime::hasInstructionSet(name.c_str()) || !runtime::requestInstructionSet(name.c_str()))
      missing += (missing.empty() ? "" : ", ") + name;
  return missing;
}

const llvm::json::Object &objectOf(const llvm::json::Value &value) {
  static const llvm::json::Object none;
  const llvm::json::Object *object = value.getAsObject();
  return object ? *object : none;
}

ModelOwner selectEntry(ModelOwner model, StringRef entry) {
  if (entry.empty() || !model)
    return model;
  perpend_model *selected = nullptr;
  if (perpend_model_entry(model.get(), entry.str().c_str(), &selected) != PERPEND_OK)
    fail(perpend_error_message());
  return ModelOwner(selected);
}

std::vector<std::pair<std::string, ModelOwner>> comparedVariantsOf(ModelOwner model, StringRef path, StringRef entry) {
  constexpr const char *force = "PERPEND_TARGET"; // runtime/variants/ChooseVariant.h
  std::vector<std::pair<std::string, ModelOwner>> variants;
  const bool isForeign = foreignLibraryOf(model.get());
  const llvm::json::Object facts = descriptionOf(model.get());
  const llvm::json::Array *machines = facts.getArray("variants");
  if (const char *forced = std::getenv(force); !machines || (forced && *forced)) {
    variants.emplace_back("", std::move(model));
    return variants;
  }
  for (const llvm::json::Value &machine : *machines) {
    const llvm::json::Object &object = objectOf(machine);
    std::string name = object.getString("target").value_or("").str();
    if (isForeign) {
      variants.emplace_back(name, selectEntry(loadOrDescribe(path, name), entry));
      continue;
    }
    perpend_model *variant = nullptr;
    setenv(force, name.c_str(), /*replace=*/1);
    if (perpend_model_load(path.str().c_str(), &variant) == PERPEND_OK)
      variants.emplace_back(name, selectEntry(ModelOwner(variant), entry));
    else
      llvm::outs() << name << ": not compared, this machine lacks " << missingOf(object) << "\n";
  }
  unsetenv(force);
  return variants;
}

SessionOwner createSession(perpend_model *model, int64_t threads) {
  perpend_session_options options = {};
  options.threads = static_cast<int32_t>(threads);
  perpend_session *session = nullptr;
  if (perpend_session_create(model, &options, &session) != PERPEND_OK)
    fail(perpend_error_message());
  return SessionOwner(session);
}

/// Of the name of what a target's artifacts are, unless they are programs for the command line.
static StringRef endingFor(const CompileOptions &options) {
  auto targets = target::resolveTargets(options.target);
  if (!targets)
    return llvm::consumeError(targets.takeError()), ".so"; // the compiler says what is wrong
  const target::Accelerator *accelerator = target::acceleratorOf(targets->front().code);
  return accelerator ? accelerator->ending : ".so";
}

std::string artifactPathOf(const ModelSource &source, const CompileOptions &options, const TemporaryFolder &folder) {
  return source.kind == ModelKind::Library ? source.path : folder.pathOf(("model" + endingFor(options)).str());
}

ModelOwner loadOrCompile(const ModelSource &source, const CompileOptions &options, const TemporaryFolder &folder,
                         CompileReport *report) {
  if (source.kind == ModelKind::Library)
    return selectEntry(loadOrDescribe(source.path), source.entry);
  std::string library = artifactPathOf(source, options, folder);
  if (!compileModel(source, options, ArtifactKind::SharedLibrary, library, report))
    return nullptr;
  return selectEntry(loadOrDescribe(library), source.entry);
}

ModelOwner loadCompiled(mlir::ModuleOp module, const CompileOptions &options, const TemporaryFolder &folder) {
  static int number = 0; // a path is not loaded twice
  std::string library = folder.pathOf("part" + std::to_string(number++) + endingFor(options).str());
  if (!compileGuarded(module, options, ArtifactKind::SharedLibrary, library))
    return nullptr;
  return loadOrDescribe(library);
}

Execution::Execution(perpend_model *model, perpend_session *session, ArrayRef<Array> arrays, StringRef advice)
    : session(session), outputs(perpend_model_output_count(model)), advice(advice) {
  for (const Array &array : arrays)
    inputs.push_back(array.view());
}

bool Execution::run() {
  for (perpend_tensor &output : outputs)
    output = {}; // the session's memory
  if (forgets)
    (void)perpend_session_truncate(session, 0); // an error if none grows
  if (perpend_session_run(session, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                          static_cast<int32_t>(outputs.size())) == PERPEND_OK)
    return true;
  failRun(perpend_error_message(), advice);
  return false;
}

std::optional<std::vector<Array>> runOnce(perpend_model *model, perpend_session *session, ArrayRef<Array> inputs,
                                          StringRef advice) {
  Execution execution(model, session, inputs, advice);
  if (!execution.run())
    return std::nullopt;
  std::vector<Array> arrays;
  for (const perpend_tensor &output : execution.results())
    arrays.push_back(Array::copyOf(output));
  return arrays;
}

std::string describeTensor(const perpend_tensor_info &info) {
  std::string text = std::string(info.name) + ": " + perpend_type_name(info.type) + " [";
  for (int32_t i = 0; i < info.rank; ++i)
    text += (i ? ", " : "") + std::string(info.dimTexts[i]);
  return text + "]";
}
} // namespace perpend::cli
