// What `perpend llm run` and `chat`, and executables of language models, do with a model.
#ifndef PERPEND_RUNTIME_LLM_PROGRAM_H
#define PERPEND_RUNTIME_LLM_PROGRAM_H
#include "include/perpend_llm.h"

namespace perpend::llm {

enum class OptionKind { Switch, Text, Count, Number, Seed, List };

struct ProgramOptions;
struct OptionInfo {
  const char *flag;
  OptionKind kind;
  const char *valueName, *help;
  // Sets the option; `value` must stay as long as the options. False: printed.
  bool (*set)(ProgramOptions &options, const char *value);
};
extern const OptionInfo programOptions[];
extern const int32_t programOptionCount;

constexpr int32_t mostStopStrings = 16, mostBiases = 64;

struct ProgramOptions {
  ProgramOptions();
  // Those of `sampler`, where they are given, then those of the checkpoint, then the program's own. It has no more life
  // than these options.
  perpend_sampler_options samplerFor(const perpend_llm *llm) const;
  const char *prompt = nullptr, *system = nullptr, *session = nullptr;
  bool isRaw = false, isVerbose = false;
  int64_t maxTokens = -1, threads = 0;
  int32_t beams = 0;
  double lengthPenalty = 1;
  perpend_sampler_options sampler; // NaN, and a negative topK: not given
  perpend_string stops[mostStopStrings];
  int32_t stopCount = 0;
  int32_t biasTokens[mostBiases];
  float biases[mostBiases];
};

// What products of the model are computed in, as its descriptor says.
perpend_string precisionOf(const perpend_model *model);

// Prints what follows the prompt to standard output. False: an error was printed.
bool generate(perpend_model *model, const ProgramOptions &options);
// A conversation: a line of standard input is a turn; answers go to standard output. False: an error was printed.
bool converse(perpend_model *model, const ProgramOptions &options);

} // namespace perpend::llm
#endif
