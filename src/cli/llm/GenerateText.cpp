//===- GenerateText.cpp - perpend llm run and chat ------------------------===//
//
// Options and work are those of executables (runtime/llm/Program.h).
//
//===----------------------------------------------------------------------===//

#include "cli/llm/LanguageModels.h"

#include "runtime/llm/Program.h"

#include <deque>

namespace perpend::cli {
namespace {
/// The values of the program's options, as texts until all are parsed.
class ProgramArguments {
public:
  ProgramArguments()
      : texts(llm::programOptionCount), lists(llm::programOptionCount), switches(llm::programOptionCount) {}
  /// Without those of `leftOut`, which say nothing to this command.
  void addTo(OptionList &list, ArrayRef<StringRef> leftOut);
  /// False: printed.
  bool set(llm::ProgramOptions &options) const;

private:
  std::vector<std::string> texts;
  std::vector<std::vector<std::string>> lists; ///< of all options
  std::deque<bool> switches;                   ///< of all options
};
} // namespace

void ProgramArguments::addTo(OptionList &list, ArrayRef<StringRef> leftOut) {
  for (int32_t i = 0; i < llm::programOptionCount; ++i) {
    const llm::OptionInfo &info = llm::programOptions[i];
    if (llvm::is_contained(leftOut, info.flag))
      continue;
    if (info.kind == llm::OptionKind::List)
      list.add(info.flag, lists[i], info.valueName, info.help);
    else if (info.kind == llm::OptionKind::Switch)
      list.add(info.flag, switches[i], "", info.help);
    else
      list.add(info.flag, texts[i], info.valueName, info.help);
  }
}

bool ProgramArguments::set(llm::ProgramOptions &options) const {
  for (int32_t i = 0; i < llm::programOptionCount; ++i) {
    const llm::OptionInfo &info = llm::programOptions[i];
    if (info.kind == llm::OptionKind::Switch && switches[i])
      info.set(options, "");
    else if (!texts[i].empty() && !info.set(options, texts[i].c_str()))
      return false;
    for (const std::string &text : lists[i])
      if (!info.set(options, text.c_str()))
        return false;
  }
  return true;
}

static int runProgram(const Command &command, ArrayRef<StringRef> arguments, ArrayRef<StringRef> leftOut,
                      bool (*work)(perpend_model *model, const llm::ProgramOptions &options)) {
  LanguageModelSource source;
  CompileOptions compiler;
  OptionList list;
  ProgramArguments given;
  given.addTo(list, leftOut);
  addCheckpointOptions(list, source, compiler);
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a model"))
    return *code;
  source.path = positional[0];
  llm::ProgramOptions options;
  if (!given.set(options))
    return UsageError;
  TemporaryFolder folder;
  ModelOwner model = loadLanguageModel(source, list, compiler, folder);
  return model && work(model.get(), options) ? Good : UserError;
}

int runLlmRun(const Command &command, ArrayRef<StringRef> arguments) {
  return runProgram(command, arguments, {}, llm::generate);
}

int runLlmChat(const Command &command, ArrayRef<StringRef> arguments) {
  return runProgram(command, arguments, {"prompt", "raw"}, llm::converse);
}
} // namespace perpend::cli
