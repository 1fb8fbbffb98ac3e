//===- LanguageModels.h - language models for commands ----------*- C++ -*-===//

#ifndef PERPEND_CLI_LLM_LANGUAGEMODELS_H
#define PERPEND_CLI_LLM_LANGUAGEMODELS_H

#include "cli/Command.h"
#include "cli/CompiledModel.h"
#include "llm/Module.h"

namespace perpend::cli {

/// A checkpoint, and how it becomes a program.
struct LanguageModelSource {
  std::string path;
  llm::ModuleOptions module;
};

/// What `perpend llm compile` prints of a compilation.
struct LanguageModelReport {
  CompileReport compiler;
  int64_t bitsThatGain = 0; ///< of weights that `--precision int8` would make faster; 0: there are none
};

/// Compiles a checkpoint. False: printed.
bool compileLanguageModel(const LanguageModelSource &source, const CompileOptions &options, ArtifactKind kind,
                          StringRef output, LanguageModelReport *report = nullptr);

/// The options of a checkpoint that a command compiles first.
void addCheckpointOptions(OptionList &list, LanguageModelSource &source, CompileOptions &compiler);

/// Loads what `perpend llm compile` has made, or compiles a checkpoint into `folder` first. Null: printed.
ModelOwner loadLanguageModel(const LanguageModelSource &source, const OptionList &list, CompileOptions options,
                             const TemporaryFolder &folder);

int runLlmCompile(const Command &command, ArrayRef<StringRef> arguments);
int runLlmRun(const Command &command, ArrayRef<StringRef> arguments);
int runLlmChat(const Command &command, ArrayRef<StringRef> arguments);
int runLlmBench(const Command &command, ArrayRef<StringRef> arguments);
} // namespace perpend::cli

#endif
