//===- CompileLanguageModel.cpp - perpend llm compile ---------------------===//

#include "cli/EarlyEnd.h"
#include "cli/llm/LanguageModels.h"
#include "compiler/Description.h"
#include "support/WriteFile.h"

#include "target/TargetInfo.h"

#include "llvm/Support/Path.h"

#include <chrono>

namespace perpend::cli {

/// What a compilation in another precision prints already (printReport).
static void printPrecision(const LanguageModelReport &report, StringRef cacheType) {
  if (!report.compiler.precision.type.empty())
    return;
  llvm::outs() << "precision f32: weights as the checkpoint has them, ";
  if (cacheType != "f32")
    llvm::outs() << "the cache in " << cacheType << ", ";
  llvm::outs() << "all else in f32\n";
  if (!report.bitsThatGain)
    return;
  // With 8 bits, reading the weights takes most of the time of a token.
  llvm::outs()
      << "hint: --precision int8 also rounds what is multiplied with the weights to bytes, as other engines do: "
      << (report.bitsThatGain < 8 ? "up to twice as fast\n"
                                  : "prompts up to twice as fast, tokens in 0.85 of the time\n");
}

int runLlmCompile(const Command &command, ArrayRef<StringRef> arguments) {
  LanguageModelSource source;
  CompileOptions options;
  Limits limits;
  OptionList list;
  std::string output;
  bool wantsExecutable = false;
  list.addOutputFile("o", output, "FILE", "what to write");
  list.add("output", output, "FILE", "");
  list.add("exe", wantsExecutable, "", "write a program with the options of `perpend llm run` and `chat`");
  list.add("context", source.module.context, "N",
           "room for N tokens in a conversation (default: as many as the model was trained with)", 1);
  list.add(
      "cache-type", source.module.cacheType, "TYPE",
      "of keys and values in the cache: f32 (default), f16 or bf16, which take half of the memory, or int8, a quarter");
  list.add("entries", source.module.entries, "LIST",
           "further entries: embed (hidden states of texts), verify (logits of several tokens at once)");
  list.addCompiler(options, {"target", "O", "precision", "database", "intrinsics", "times", "plan", "weights", "name"});
  limits.addTo(list);
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a checkpoint"))
    return *code;
  source.path = positional[0];
  if (output.empty())
    return fail("no output", "-o chat"), UsageError;
  if (auto targets = target::resolveTargets(options.target); !targets)
    return fail(targets.takeError()), UsageError;
  if (!limits.apply())
    return UsageError;
  if (!list.checkOutputs(source.path))
    return UserError;
  if (llvm::Error error = support::checkReplaceableFile(output))
    return fail(std::move(error));
  if (options.name.empty())
    options.name = identifier(llvm::sys::path::stem(output));
  LanguageModelReport report;
  auto start = std::chrono::steady_clock::now();
  const ArtifactKind kind = wantsExecutable ? ArtifactKind::Executable : ArtifactKind::SharedLibrary;
  if (!compileLanguageModel(source, options, kind, output, &report))
    return UserError;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  printReport(report.compiler, options, output, seconds.count(), /*wantsReasons=*/false);
  printPrecision(report, source.module.cacheType);
  return Good;
}
} // namespace perpend::cli
