//===- BenchLanguageModel.cpp - perpend llm bench -------------------------===//

#include "cli/llm/LanguageModels.h"
#include "support/WriteFile.h"

#include "perpend_llm.h"
#include "runtime/llm/Program.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <chrono>

namespace perpend::cli {
namespace {
struct FreeLlm {
  void operator()(perpend_llm *llm) const { perpend_llm_free(llm); }
};
struct FreeSequence {
  void operator()(perpend_llm_sequence *sequence) const { perpend_llm_sequence_free(sequence); }
};

struct BenchOptions {
  std::string threads = "1", json;
  int64_t promptTokens = 128, tokens = 64, turns = 5;
};

/// Measurements with one number of threads, in tokens per second.
struct Lane {
  int64_t threads;
  std::unique_ptr<perpend_llm_sequence, FreeSequence> sequence;
  std::vector<double> prefill, decode;
};
} // namespace

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static bool isGood(perpend_status status) {
  if (status != PERPEND_OK)
    fail(perpend_error_message());
  return status == PERPEND_OK;
}

/// Computes the text so far; `token`: the most likely one.
static bool computeNext(perpend_llm_sequence *sequence, int32_t &token) {
  const float *logits = nullptr;
  int64_t count = 0;
  if (!isGood(perpend_llm_sequence_logits(sequence, &logits, &count)))
    return false;
  token = static_cast<int32_t>(std::max_element(logits, logits + count) - logits);
  return true;
}

static bool measureTurn(Lane &lane, ArrayRef<int32_t> prompt, int64_t tokens) {
  perpend_llm_sequence *sequence = lane.sequence.get();
  int32_t token = 0;
  if (!isGood(perpend_llm_sequence_set(sequence, nullptr, 0)) ||
      !isGood(perpend_llm_sequence_set(sequence, prompt.data(), static_cast<int64_t>(prompt.size()))))
    return false;
  auto start = std::chrono::steady_clock::now();
  if (!computeNext(sequence, token))
    return false;
  lane.prefill.push_back(static_cast<double>(prompt.size()) / secondsSince(start));
  start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < tokens; ++i)
    if (!isGood(perpend_llm_sequence_add(sequence, &token, 1)) || !computeNext(sequence, token))
      return false;
  lane.decode.push_back(static_cast<double>(tokens) / secondsSince(start));
  return true;
}

static bool measure(const perpend_llm *llm, const BenchOptions &options, std::vector<Lane> &lanes) {
  std::vector<int32_t> prompt;
  uint32_t random = 1;
  for (int64_t i = 0; i < options.promptTokens; ++i) {
    random = random * 1664525u + 1013904223u;
    prompt.push_back(static_cast<int32_t>((random >> 8) % perpend_llm_vocabulary(llm)));
  }
  for (Lane &lane : lanes) { // plans memory, warms caches
    if (!measureTurn(lane, prompt, options.tokens))
      return false;
    lane.prefill.clear();
    lane.decode.clear();
  }
  for (int64_t turn = 0; turn < options.turns; ++turn)
    for (Lane &lane : lanes)
      if (!measureTurn(lane, prompt, options.tokens))
        return false;
  return true;
}

static std::pair<double, double> bestAndMedian(std::vector<double> values) {
  llvm::sort(values);
  const size_t half = values.size() / 2;
  return {values.back(), values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2};
}

static bool writeJson(const BenchOptions &options, StringRef model, StringRef precision, ArrayRef<Lane> lanes) {
  llvm::json::Array rows;
  for (const Lane &lane : lanes) {
    auto [bestPrefill, medianPrefill] = bestAndMedian(lane.prefill);
    auto [bestDecode, medianDecode] = bestAndMedian(lane.decode);
    rows.push_back(llvm::json::Object{{"threads", lane.threads},
                                      {"prefill_best", bestPrefill},
                                      {"prefill_median", medianPrefill},
                                      {"decode_best", bestDecode},
                                      {"decode_median", medianDecode}});
  }
  llvm::json::Value all = llvm::json::Object{{"model", llvm::json::fixUTF8(model)},
                                             {"precision", precision},
                                             {"unit", "tokens/s"},
                                             {"prompt_tokens", options.promptTokens},
                                             {"tokens", options.tokens},
                                             {"turns", options.turns},
                                             {"rows", std::move(rows)}};
  llvm::Error error =
      support::writeFile(options.json, [&](llvm::raw_ostream &out) { out << llvm::formatv("{0:2}", all) << "\n"; });
  return error ? fail(std::move(error)), false : true;
}

static void print(StringRef precision, ArrayRef<Lane> lanes) {
  llvm::outs() << "precision " << precision << "\n"
               << "tokens/s   prefill: best  median   decode: best  median\n";
  for (const Lane &lane : lanes) {
    auto [bestPrefill, medianPrefill] = bestAndMedian(lane.prefill);
    auto [bestDecode, medianDecode] = bestAndMedian(lane.decode);
    const char *plural = lane.threads == 1 ? " " : "s";
    llvm::outs() << llvm::format("%3lld thread%s    %10.1f %7.1f     %8.1f %7.1f\n",
                                 static_cast<long long>(lane.threads), plural, bestPrefill, medianPrefill, bestDecode,
                                 medianDecode);
  }
}

static int bench(perpend_model *model, const BenchOptions &options, ArrayRef<int64_t> threads, StringRef path) {
  perpend_llm *opened = nullptr;
  if (!isGood(perpend_llm_create(model, &opened)))
    return UserError;
  const std::unique_ptr<perpend_llm, FreeLlm> llm(opened);
  if (options.promptTokens + options.tokens > perpend_llm_context(opened))
    return fail("--prompt-tokens and --tokens: expected at most " + Twine(perpend_llm_context(opened)) +
                " together, the context of this model, got " + Twine(options.promptTokens + options.tokens));
  std::vector<Lane> lanes;
  for (int64_t count : threads) {
    perpend_llm_sequence_options sizes = PERPEND_LLM_SEQUENCE_DEFAULTS;
    sizes.threads = static_cast<int32_t>(count);
    perpend_llm_sequence *sequence = nullptr;
    if (!isGood(perpend_llm_sequence_create(opened, &sizes, &sequence)))
      return UserError;
    lanes.push_back({count, std::unique_ptr<perpend_llm_sequence, FreeSequence>(sequence), {}, {}});
  }
  if (!measure(opened, options, lanes))
    return UserError;
  const perpend_string text = llm::precisionOf(model);
  const StringRef precision(text.data, static_cast<size_t>(text.sizeBytes));
  print(precision, lanes);
  return options.json.empty() || writeJson(options, path, precision, lanes) ? Good : UserError;
}

int runLlmBench(const Command &command, ArrayRef<StringRef> arguments) {
  LanguageModelSource source;
  CompileOptions compiler;
  BenchOptions options;
  OptionList list;
  list.add("threads", options.threads, "N,...", "numbers of threads to measure (default 1)");
  list.add("prompt-tokens", options.promptTokens, "N", "tokens of the prompt (default 128)", 1);
  list.add("tokens", options.tokens, "N", "tokens to generate (default 64)", 1);
  list.add("turns", options.turns, "N", "how often to measure (default 5)", 1);
  list.addOutputFile("json", options.json, "FILE", "write the results as JSON");
  addCheckpointOptions(list, source, compiler);
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a model"))
    return *code;
  source.path = positional[0];
  std::vector<int64_t> threads;
  if (!parseCounts(options.threads, threads))
    return fail("option '--threads': expected numbers such as 1,2, got '" + options.threads + "'"), UsageError;
  if (!list.checkOutputs(source.path))
    return UserError;
  TemporaryFolder folder;
  ModelOwner model = loadLanguageModel(source, list, compiler, folder);
  return model ? bench(model.get(), options, threads, source.path) : UserError;
}
} // namespace perpend::cli
