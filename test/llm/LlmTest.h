// A language model that is written by hand, behind the C interface: what the tests of it share.
#ifndef PERPEND_TEST_LLM_LLMTEST_H
#define PERPEND_TEST_LLM_LLMTEST_H

#include "FakeLanguageModel.h"
#include "perpend_llm.h"
#include "runtime/llm/Settings.h"
#include "templates/Template.h"
#include "tokenizer/Load.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

extern "C" const perpend_state_functions perpend_state_functions_v1;

using Tokens = std::vector<int32_t>;

inline void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

inline perpend_string view(const std::string &text) { return {text.data(), static_cast<int64_t>(text.size())}; }
inline perpend_string view(const char *text) { return {text, static_cast<int64_t>(strlen(text))}; }

inline std::string textOf(perpend_string text) { return text.data ? std::string(text.data, text.sizeBytes) : ""; }

/// What the model says greedily after these tokens.
inline Tokens expected(Tokens text, size_t count) {
  const size_t start = text.size();
  int64_t next = 0;
  for (int32_t token : text)
    next = fake::follow(next, token);
  for (size_t i = 0; i < count; ++i) {
    text.push_back(static_cast<int32_t>(next));
    next = fake::follow(next, next);
  }
  return Tokens(text.begin() + static_cast<ptrdiff_t>(start), text.end());
}

struct Answer {
  Tokens tokens;
  std::string text;
  std::vector<std::string> pieces;
  int32_t finish = 0, stopString = -1;
};

class Llm : public testing::TestWithParam<fake::Form> {
protected:
  void SetUp() override {
    fake::computedTokens = fake::runs = 0;
    fake::failure = 0;
    fake::runsToFailure = 0;
  }
  void open(const std::string &chatTemplate = "", std::vector<int32_t> stops = {}) {
    auto made = perpend::tokenizer::loadTokenizer(FIXTURES "byte-level.json");
    ASSERT_TRUE(static_cast<bool>(made));
    tables = std::make_unique<fake::Tables>();
    fake::describeLanguageModel(*tables, GetParam());
    perpend::llm::SettingsHead head{};
    head.magic = perpend::llm::settingsMagic;
    head.version = perpend::llm::settingsVersion;
    head.contextTokens = fake::context;
    head.startToken = head.endToken = -1;
    head.stopTokenCount = static_cast<uint32_t>(stops.size());
    head.topK = 7;
    head.temperature = 0.25;
    head.topP = head.minP = head.repetitionPenalty = NAN;
    std::string settings(reinterpret_cast<const char *>(&head), sizeof head);
    settings.append(reinterpret_cast<const char *>(stops.data()), stops.size() * sizeof(int32_t));
    std::vector<perpend_asset_record> assets = {
        tables->asset(perpend::llm::settingsAsset, settings.data(), settings.size() - cutBytes),
        tables->asset(perpend::llm::tokenizerAsset, made->data(), made->sizeBytes())};
    std::string error;
    if (!chatTemplate.empty()) {
      std::optional<std::string> compiled = perpend::templates::compileTemplate(chatTemplate, error);
      assets.push_back(compiled ? tables->asset(perpend::llm::templateAsset, compiled->data(), compiled->size())
                                : tables->asset(perpend::llm::refusalAsset, error.data(), error.size()));
    }
    tables->head.assets = tables->records(assets.data(), static_cast<uint32_t>(assets.size()));
    module = {};
    module.bind = others.bind = fake::bindTokens;
    module.sizes = others.sizes = fake::sizesOfTokens;
    module.run = others.run = fake::runTokens;
    module.states = &perpend_state_functions_v1;
    module.others = &others;
    tables->finish(module);
    perpend_model *model = nullptr;
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    status = perpend_llm_create(model, &llm);
    perpend_model_free(model); // the other one keeps what it needs
  }
  void create(int32_t chunkTokens = 0) {
    ASSERT_EQ(status, PERPEND_OK) << perpend_error_message();
    perpend_llm_sequence_options options = PERPEND_LLM_SEQUENCE_DEFAULTS;
    options.threads = 1;
    options.chunkTokens = chunkTokens;
    ASSERT_EQ(perpend_llm_sequence_create(llm, &options, &sequence), PERPEND_OK) << perpend_error_message();
  }
  void TearDown() override {
    perpend_llm_sequence_free(sequence);
    perpend_llm_free(llm);
  }
  void set(const Tokens &tokens) {
    ASSERT_EQ(perpend_llm_sequence_set(sequence, tokens.data(), static_cast<int64_t>(tokens.size())), PERPEND_OK)
        << perpend_error_message();
  }
  static Answer generate(perpend_llm_sequence *sequence, int64_t maxTokens,
                         const std::vector<std::string> &stops = {}) {
    Answer answer;
    perpend_sampler_options greedy = PERPEND_SAMPLER_DEFAULTS;
    greedy.temperature = 0;
    std::vector<perpend_string> texts;
    for (const std::string &stop : stops)
      texts.push_back(view(stop));
    perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
    options.sampler = &greedy;
    options.maxTokens = maxTokens;
    options.stopStrings = texts.data();
    options.stopStringCount = static_cast<int32_t>(texts.size());
    EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
    perpend_llm_piece piece{};
    while (!piece.finish) {
      if (perpend_llm_sequence_next(sequence, &piece) != PERPEND_OK) {
        ADD_FAILURE() << perpend_error_message();
        break;
      }
      if (piece.token >= 0)
        answer.tokens.push_back(piece.token);
      answer.pieces.push_back(textOf(piece.text));
      answer.text += answer.pieces.back();
    }
    answer.finish = piece.finish;
    answer.stopString = piece.stopString;
    return answer;
  }
  std::string decode(const Tokens &tokens) {
    char *text = nullptr;
    int64_t size = 0;
    EXPECT_EQ(perpend_tokenizer_decode(perpend_llm_tokenizer(llm), tokens.data(), static_cast<int64_t>(tokens.size()),
                                       PERPEND_SKIP_SPECIAL, &text, &size),
              PERPEND_OK)
        << perpend_error_message();
    std::string result(text, static_cast<size_t>(size));
    perpend_tokenizer_release(text);
    return result;
  }

  std::unique_ptr<fake::Tables> tables;
  perpend_module module{};
  perpend_entry_functions others{};
  perpend_llm *llm = nullptr;
  perpend_llm_sequence *sequence = nullptr;
  perpend_status status = PERPEND_OK;
  size_t cutBytes = 0;
};

inline const Tokens prompt = {50, 60, 70, 80, 90};

#endif
