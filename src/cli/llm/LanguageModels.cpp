//===- LanguageModels.cpp - language models for commands ------------------===//

#include "cli/llm/LanguageModels.h"

#include "compiler/Precision.h"
#include "support/ZeroedMemory.h"
#include "target/TargetInfo.h"

#include "llvm/Support/Process.h"

using namespace mlir;

namespace perpend::cli {

static bool isCheckpoint(ModelKind kind) {
  return kind == ModelKind::Folder || kind == ModelKind::Safetensors || kind == ModelKind::Gguf;
}

/// Whether all machines of a compilation multiply bytes.
static bool haveBytes(StringRef targets, ModuleOp module) {
  llvm::Expected<std::vector<target::TargetInfo>> machines = target::resolveTargets(targets);
  if (!machines) // an error that the compilation reports
    return llvm::consumeError(machines.takeError()), false;
  return llvm::all_of(
      *machines, [&](const target::Machine &machine) { return hasPrecision(module.getContext(), "int8", machine); });
}

bool compileLanguageModel(const LanguageModelSource &source, const CompileOptions &options, ArtifactKind kind,
                          StringRef output, LanguageModelReport *report) {
  std::optional<ModelKind> modelKind = modelKindOf(source.path, /*mayBeCompiled=*/false);
  if (!modelKind)
    return false;
  if (!isCheckpoint(*modelKind))
    return fail("'" + source.path + "' is no checkpoint of a language model",
                "a checkpoint is a .gguf file, or a folder with config.json and safetensors files"),
           false;
  // Never destroyed after a crash, because its state is unknown.
  auto workspace = std::make_unique<Workspace>();
  OwningOpRef<ModuleOp> module;
  {
    const std::string folder = folderOf(output);
    support::MemoryInFiles inFiles(folder.c_str());
    module = llm::makeModule(workspace->context, source.path, source.module);
  }
  if (!module)
    return false;
  if (report && haveBytes(options.target, *module))
    report->bitsThatGain = llm::bitsOfGroupedWeights(*module);
  if (compileGuarded(*module, options, kind, output, report ? &report->compiler : nullptr, /*ownsConstants=*/true))
    return true;
  if (workspace->hasFoundBug()) {
    (void)module.release();
    (void)workspace.release();
  }
  return false;
}

void addCheckpointOptions(OptionList &list, LanguageModelSource &source, CompileOptions &compiler) {
  list.add("context", source.module.context, "N",
           "as in `perpend llm compile`, for a checkpoint that is compiled first", 1);
  list.add("cache-type", source.module.cacheType, "TYPE", "as in `perpend llm compile`");
  list.addCompiler(compiler, {"target", "O", "precision"});
  list.needSource({"context", "cache-type"});
}

ModelOwner loadLanguageModel(const LanguageModelSource &source, const OptionList &list, CompileOptions options,
                             const TemporaryFolder &folder) {
  std::optional<ModelKind> kind = modelKindOf(source.path);
  if (!kind)
    return nullptr;
  if (*kind == ModelKind::Library)
    return list.checkCompiled(source.path) ? loadLibrary(source.path) : nullptr;
  if (llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "compiling '" << source.path << "', each time anew; `perpend llm compile` keeps the result\n";
  const std::string library = folder.pathOf("model.so");
  if (!compileLanguageModel(source, options, ArtifactKind::SharedLibrary, library))
    return nullptr;
  return loadLibrary(library);
}
} // namespace perpend::cli
