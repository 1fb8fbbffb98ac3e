// The C interface of language models, on a model that is written by hand.
#include "Checksum.h"
#include "FakeLanguageModel.h"
#include "llm/Conversation.h"
#include "perpend_llm.h"
#include "runtime/llm/Settings.h"
#include "templates/Template.h"
#include "tokenizer/Load.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <vector>

extern "C" const perpend_state_functions perpend_state_functions_v1;

// What happens where a file would be brought to the disk.
static std::function<int(int file)> syncing;
extern "C" int fsync(int file) { return syncing ? syncing(file) : 0; }

namespace perpend::llm {
static std::string complaint;
bool complain(const char *format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  complaint = text;
  return false;
}
bool reportError() { return complain("%s", perpend_error_message()); }
} // namespace perpend::llm

namespace {

using Tokens = std::vector<int32_t>;

void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

perpend_string view(const std::string &text) { return {text.data(), static_cast<int64_t>(text.size())}; }
perpend_string view(const char *text) { return {text, static_cast<int64_t>(strlen(text))}; }

std::string textOf(perpend_string text) { return text.data ? std::string(text.data, text.sizeBytes) : ""; }

/// What the model says greedily after these tokens.
Tokens expected(Tokens text, size_t count) {
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

INSTANTIATE_TEST_SUITE_P(Forms, Llm, testing::Values(fake::Form::Both, fake::Form::Single, fake::Form::Chunk));

const Tokens prompt = {50, 60, 70, 80, 90};

TEST_P(Llm, TheCheckpointSaysHowToChoose) {
  open();
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.topP = 0.5;
  perpend_llm_sampling(llm, &options);
  EXPECT_EQ(options.temperature, 0.25);
  EXPECT_EQ(options.topK, 7);
  EXPECT_EQ(options.topP, 0.5);
  EXPECT_EQ(options.minP, 0);
  EXPECT_EQ(options.repetitionPenalty, 1);
}

TEST_P(Llm, GeneratesGreedily) {
  open();
  create();
  EXPECT_EQ(perpend_llm_vocabulary(llm), fake::vocabulary);
  EXPECT_EQ(perpend_llm_context(llm), fake::context);
  set(prompt);
  Answer answer = generate(sequence, 10);
  EXPECT_EQ(answer.tokens, expected(prompt, 10));
  EXPECT_EQ(answer.finish, PERPEND_LLM_LENGTH);
  EXPECT_EQ(fake::computedTokens, 14); // the last token is not computed
  EXPECT_EQ(fake::runs, GetParam() == fake::Form::Single ? 14 : 10);
}

TEST_P(Llm, ComputesLongTextsInChunks) {
  open();
  create(3);
  Tokens text(20);
  std::iota(text.begin(), text.end(), 100);
  set(text);
  EXPECT_EQ(generate(sequence, 4).tokens, expected(text, 4));
  EXPECT_EQ(fake::runs, GetParam() == fake::Form::Single ? 23 : 10);
}

TEST_P(Llm, StreamsTheWholeText) {
  open();
  create();
  set(prompt);
  Answer answer = generate(sequence, 20);
  Tokens all = prompt;
  all.insert(all.end(), answer.tokens.begin(), answer.tokens.end());
  EXPECT_EQ(decode(prompt) + answer.text, decode(all));
  EXPECT_GT(answer.pieces.size(), 10u);
}

TEST_P(Llm, KeepsWhatTextsHaveInCommon) {
  open();
  create();
  set(prompt);
  generate(sequence, 6);
  const int64_t before = fake::computedTokens;
  Tokens next = prompt;
  for (int32_t token : expected(prompt, 6))
    next.push_back(token);
  next.insert(next.end(), {7, 8, 9});
  set(next);
  EXPECT_EQ(generate(sequence, 1).tokens, expected(next, 1));
  EXPECT_EQ(fake::computedTokens - before, 4); // the last one of the answer, and three new ones
  Tokens other = {50, 60, 71};
  set(other);
  int64_t cached = 0;
  perpend_llm_sequence_tokens(sequence, nullptr, nullptr, &cached);
  EXPECT_EQ(cached, 2);
  EXPECT_EQ(generate(sequence, 5).tokens, expected(other, 5));
  set({50, 60});
  EXPECT_EQ(generate(sequence, 5).tokens, expected({50, 60}, 5)); // all cached, but without its logits
  set({51});
  EXPECT_EQ(generate(sequence, 3).tokens, expected({51}, 3));
}

TEST_P(Llm, SaysLogprobs) {
  open();
  create();
  set(prompt);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.temperature = 0;
  sampler.topLogprobs = 2;
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  options.maxTokens = 3;
  ASSERT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
  double others = 0; // of the model's logits: 9, 8, and -i / 100 of the rest
  perpend_llm_piece piece{};
  double chosen = 0;
  const int32_t *tokens = nullptr;
  const double *logprobs = nullptr;
  int32_t count = 0;
  auto ask = [&] { return perpend_llm_sequence_logprobs(sequence, &chosen, &tokens, &logprobs, &count); };
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT); // no choice yet
  for (int token : expected(prompt, 3)) {
    ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK) << perpend_error_message();
    others = 0;
    for (int i = 0; i < fake::vocabulary; ++i)
      others += i == token || i == token + 1 ? 0 : std::exp(-i / 100.0);
    const double total = std::log(std::exp(9.0) + std::exp(8.0) + others);
    ASSERT_EQ(ask(), PERPEND_OK) << perpend_error_message();
    EXPECT_NEAR(chosen, 9 - total, 1e-5);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(tokens[0], token);
    EXPECT_EQ(tokens[1], token + 1);
    EXPECT_EQ(logprobs[0], chosen);
    EXPECT_NEAR(logprobs[1], 8 - total, 1e-5);
  }
  ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK); // the end
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  expectMessage("has chosen a token, got another");
  set(prompt);
  ASSERT_EQ(perpend_llm_sequence_start(sequence, nullptr), PERPEND_OK);
  ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK);
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  expectMessage("create the sampler with topLogprobs of 0 or more");
  ASSERT_EQ(perpend_llm_sequence_truncate(sequence, 2), PERPEND_OK);
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_llm_sequence_logprobs(nullptr, &chosen, &tokens, &logprobs, &count), PERPEND_INVALID_ARGUMENT);
}

// Callers own the struct, and those of an earlier header have no more room.
TEST_P(Llm, PiecesKeepTheirSize) {
  open();
  create();
  set(prompt);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.topLogprobs = 2;
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  ASSERT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
  constexpr size_t known = 16 + sizeof(perpend_string);
  alignas(perpend_llm_piece) unsigned char bytes[known + 64];
  memset(bytes, 0xA5, sizeof bytes);
  ASSERT_EQ(perpend_llm_sequence_next(sequence, reinterpret_cast<perpend_llm_piece *>(bytes)), PERPEND_OK);
  EXPECT_TRUE(std::all_of(bytes + known, std::end(bytes), [](unsigned char byte) { return byte == 0xA5; }));
}

TEST_P(Llm, RollsBack) {
  open();
  create();
  set(prompt);
  Answer whole = generate(sequence, 8);
  ASSERT_EQ(perpend_llm_sequence_truncate(sequence, 7), PERPEND_OK);
  const int64_t before = fake::computedTokens;
  Tokens rest = generate(sequence, 6).tokens;
  EXPECT_EQ(rest, Tokens(whole.tokens.begin() + 2, whole.tokens.end()));
  EXPECT_EQ(fake::computedTokens - before, 6);
  EXPECT_EQ(perpend_llm_sequence_truncate(sequence, 14), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected 0 to 13 tokens, got 14");
}

TEST_P(Llm, Forks) {
  open();
  create();
  set(prompt);
  generate(sequence, 3);
  perpend_llm_sequence *copy = nullptr;
  ASSERT_EQ(perpend_llm_sequence_fork(sequence, &copy), PERPEND_OK) << perpend_error_message();
  const int64_t before = fake::computedTokens;
  Tokens text = prompt;
  for (int32_t token : expected(prompt, 3))
    text.push_back(token);
  EXPECT_EQ(generate(copy, 4).tokens, expected(text, 4));
  EXPECT_EQ(fake::computedTokens - before, 4);
  EXPECT_EQ(generate(sequence, 4).tokens, expected(text, 4));
  perpend_llm_sequence_free(copy);
}

TEST_P(Llm, SavesAndLoads) {
  open();
  create();
  set(prompt);
  const Tokens said = expected(prompt, 9);
  generate(sequence, 5);
  int64_t size = 0, written = 0;
  ASSERT_EQ(perpend_llm_sequence_save(sequence, nullptr, 0, &size), PERPEND_OK) << perpend_error_message();
  std::vector<char> bytes(static_cast<size_t>(size));
  EXPECT_EQ(perpend_llm_sequence_save(sequence, bytes.data(), size - 1, &written), PERPEND_INVALID_ARGUMENT);
  ASSERT_EQ(perpend_llm_sequence_save(sequence, bytes.data(), size, &written), PERPEND_OK);
  EXPECT_EQ(written, size);
  perpend_llm_sequence *other = nullptr;
  perpend_llm_sequence_options options = PERPEND_LLM_SEQUENCE_DEFAULTS;
  options.threads = 1;
  ASSERT_EQ(perpend_llm_sequence_create(llm, &options, &other), PERPEND_OK);
  const int32_t own[] = {70, 71};
  ASSERT_EQ(perpend_llm_sequence_set(other, own, 2), PERPEND_OK);
  const Tokens answer = generate(other, 1).tokens;
  for (size_t i = 0; i < bytes.size(); ++i) { // a byte is missing, or another one
    EXPECT_NE(perpend_llm_sequence_load(other, bytes.data(), static_cast<int64_t>(i)), PERPEND_OK) << i;
    bytes[i] ^= 4;
    EXPECT_NE(perpend_llm_sequence_load(other, bytes.data(), size), PERPEND_OK) << i;
    bytes[i] ^= 4;
  }
  ASSERT_EQ(perpend_llm_sequence_truncate(other, 2), PERPEND_OK);
  EXPECT_EQ(generate(other, 1).tokens, answer); // as before
  ASSERT_EQ(perpend_llm_sequence_load(other, bytes.data(), size), PERPEND_OK) << perpend_error_message();
  const int32_t *tokens = nullptr;
  int64_t count = 0, cached = 0;
  perpend_llm_sequence_tokens(other, &tokens, &count, &cached);
  EXPECT_EQ(count, 10);
  EXPECT_EQ(cached, 9);
  const int64_t before = fake::computedTokens;
  EXPECT_EQ(generate(other, 4).tokens, Tokens(said.begin() + 5, said.end()));
  EXPECT_EQ(fake::computedTokens - before, 4);
  // A text that was cut back, and one that is empty.
  for (int64_t kept : {7, 0}) {
    ASSERT_EQ(perpend_llm_sequence_truncate(sequence, kept), PERPEND_OK);
    ASSERT_EQ(perpend_llm_sequence_save(sequence, bytes.data(), size, &written), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_llm_sequence_load(other, bytes.data(), written), PERPEND_OK) << perpend_error_message();
    perpend_llm_sequence_tokens(other, &tokens, &count, &cached);
    EXPECT_EQ(count, kept);
    EXPECT_EQ(cached, kept);
    if (kept)
      EXPECT_EQ(generate(other, 3).tokens, Tokens(said.begin() + 2, said.begin() + 5));
  }
  ASSERT_EQ(perpend_llm_sequence_set(other, prompt.data(), 5), PERPEND_OK);
  EXPECT_EQ(generate(other, 9).tokens, said);
  perpend_llm_sequence_free(other);
}

// Bytes that nothing but their meaning gives away: the checksums are right.
TEST_P(Llm, RefusesWhatWasNotSavedSo) {
  open();
  create();
  set(prompt);
  generate(sequence, 5);
  auto save = [&] {
    std::string bytes(4096, '\0');
    int64_t size = 0;
    EXPECT_EQ(perpend_llm_sequence_save(sequence, bytes.data(), 4096, &size), PERPEND_OK) << perpend_error_message();
    return bytes.substr(0, static_cast<size_t>(size));
  };
  auto seal = [](std::string bytes, size_t before) { // the size of all, and the checksum up to the states
    const uint64_t size = bytes.size();
    memcpy(&bytes[16], &size, sizeof size);
    const uint32_t checksum = perpend::runtime::crc32c(bytes.data() + 16, before - 16);
    memcpy(&bytes[12], &checksum, sizeof checksum);
    return bytes;
  };
  constexpr size_t head = 48, ten = head + 40, seven = head + 32;
  const std::string longer = save();
  ASSERT_EQ(perpend_llm_sequence_truncate(sequence, 7), PERPEND_OK);
  const std::string shorter = save();
  std::string unknown = longer;
  const int32_t token = fake::vocabulary;
  memcpy(&unknown[head], &token, sizeof token);
  const std::pair<std::string, const char *> cases[] = {
      {seal(longer.substr(0, ten) + shorter.substr(seven), ten), "its states are not those of its tokens"},
      {seal(shorter.substr(0, seven) + longer.substr(ten), seven), "its states are not those of its tokens"},
      {seal(longer.substr(0, ten + 40), ten), "its states are not those of its tokens"},
      {seal(longer.substr(0, longer.size() - 8), ten), "states: some are missing, or there are more"},
      {seal(unknown, ten), "it has tokens that the model does not know"}};
  set({70, 71});
  const Tokens answer = generate(sequence, 3).tokens;
  for (const auto &[bytes, message] : cases) {
    EXPECT_EQ(perpend_llm_sequence_load(sequence, bytes.data(), static_cast<int64_t>(bytes.size())), PERPEND_CORRUPT);
    expectMessage(message);
    int64_t count = 0, cached = 0;
    perpend_llm_sequence_tokens(sequence, nullptr, &count, &cached);
    EXPECT_EQ(count, 5);
    EXPECT_EQ(cached, 4);
  }
  EXPECT_EQ(perpend_llm_sequence_load(sequence, nullptr, 0), PERPEND_INVALID_ARGUMENT);
  ASSERT_EQ(perpend_llm_sequence_truncate(sequence, 2), PERPEND_OK);
  EXPECT_EQ(generate(sequence, 3).tokens, answer);
  const std::string same = seal(longer, ten);
  EXPECT_EQ(same, longer);
  EXPECT_EQ(perpend_llm_sequence_load(sequence, same.data(), static_cast<int64_t>(same.size())), PERPEND_OK);
}

TEST_P(Llm, SavesAfterFailedRuns) {
  open();
  create();
  set(prompt);
  generate(sequence, 2);
  fake::failure = PERPEND_CORRUPT;
  const float *logits = nullptr;
  ASSERT_NE(perpend_llm_sequence_logits(sequence, &logits, nullptr), PERPEND_OK);
  std::vector<char> bytes(4096);
  int64_t size = 0;
  ASSERT_EQ(perpend_llm_sequence_save(sequence, bytes.data(), 4096, &size), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_llm_sequence_load(sequence, bytes.data(), size), PERPEND_OK) << perpend_error_message();
  const Tokens said = expected(prompt, 5);
  EXPECT_EQ(generate(sequence, 3).tokens, Tokens(said.begin() + 2, said.end()));
}

std::string bytesOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> namesIn(const std::filesystem::path &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  return names;
}

TEST_P(Llm, ReplacesFilesOfSessions) {
  open();
  create();
  set(prompt);
  std::string folder = testing::TempDir() + "sessions-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  const std::string path = folder + "/session";
  perpend::llm::Conversation conversation;
  auto save = [&] { return conversation.save(path.c_str(), sequence); };
  ASSERT_TRUE(save()) << perpend::llm::complaint;
  const std::string before = bytesOf(path);
  generate(sequence, 6);
  // What cannot be written, or brought to the disk, leaves the file as it was, and no other.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{before.size(), limit.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(save());
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(perpend::llm::complaint, "session '" + path + "': File too large");
  EXPECT_EQ(namesIn(folder), std::vector<std::string>{"session"});
  int64_t written = 0;
  syncing = [&](int file) {
    struct stat status{};
    written = fstat(file, &status) ? -1 : status.st_size;
    EXPECT_EQ(bytesOf(path), before);
    return errno = EIO, -1;
  };
  EXPECT_FALSE(save());
  EXPECT_EQ(perpend::llm::complaint, "session '" + path + "': Input/output error");
  EXPECT_EQ(namesIn(folder), std::vector<std::string>{"session"});
  EXPECT_EQ(bytesOf(path), before);
  // Another program saves at the same time.
  bool isSaved = false;
  syncing = [&](int) {
    syncing = nullptr;
    isSaved = save();
    return 0;
  };
  EXPECT_TRUE(save()) << perpend::llm::complaint;
  EXPECT_TRUE(isSaved) << perpend::llm::complaint;
  EXPECT_EQ(namesIn(folder), std::vector<std::string>{"session"});
  EXPECT_EQ(static_cast<int64_t>(bytesOf(path).size()), written);
  set({1});
  perpend::llm::Conversation again;
  EXPECT_TRUE(again.load(path.c_str(), sequence)) << perpend::llm::complaint;
  int64_t count = 0;
  perpend_llm_sequence_tokens(sequence, nullptr, &count, nullptr);
  EXPECT_EQ(count, 11);
  std::filesystem::remove_all(folder);
}

TEST_P(Llm, EndsWithStopTokens) {
  const Tokens said = expected(prompt, 5);
  open("", {639, said[4]});
  create();
  set(prompt);
  Answer answer = generate(sequence, -1);
  EXPECT_EQ(answer.tokens, said);
  EXPECT_EQ(answer.finish, PERPEND_LLM_STOP);
  EXPECT_EQ(answer.stopString, -1);
  EXPECT_EQ(answer.pieces.back(), "");
  perpend_llm_piece piece{};
  EXPECT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK); // the end stays
  EXPECT_EQ(piece.token, -1);
  EXPECT_EQ(piece.finish, PERPEND_LLM_STOP);
}

TEST_P(Llm, EndsWithStopStrings) {
  open();
  create();
  set(prompt);
  const std::string whole = generate(sequence, 12).text;
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = whole.substr(4, 3);
  set(prompt);
  Answer answer = generate(sequence, 12, {"never said", stop});
  EXPECT_EQ(answer.text, whole.substr(0, whole.find(stop)));
  EXPECT_EQ(answer.finish, PERPEND_LLM_STOP);
  EXPECT_EQ(answer.stopString, 1);
}

TEST_P(Llm, EndsWhenTheContextIsFull) {
  open();
  create();
  set(prompt);
  Answer answer = generate(sequence, -1);
  EXPECT_EQ(answer.finish, PERPEND_LLM_LENGTH);
  EXPECT_EQ(answer.tokens, expected(prompt, fake::context - prompt.size()));
  Answer nothing = generate(sequence, -1);
  EXPECT_EQ(nothing.finish, PERPEND_LLM_LENGTH);
  EXPECT_TRUE(nothing.tokens.empty());
  Tokens tooLong(fake::context + 1, 50);
  EXPECT_EQ(perpend_llm_sequence_set(sequence, tooLong.data(), fake::context + 1), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected at most 32 tokens, the context of this model, got 33; hint: a shorter text");
  EXPECT_EQ(perpend_llm_sequence_add(sequence, tooLong.data(), 1), PERPEND_INVALID_ARGUMENT);
}

TEST_P(Llm, GoesOnAfterFailedRuns) {
  open();
  create();
  set(prompt);
  const float *logits = nullptr;
  for (perpend_status status : {PERPEND_OUT_OF_MEMORY, PERPEND_CORRUPT}) {
    fake::failure = status;
    EXPECT_EQ(perpend_llm_sequence_logits(sequence, &logits, nullptr), status);
  }
  EXPECT_EQ(generate(sequence, 6).tokens, expected(prompt, 6));
}

TEST_P(Llm, RendersConversations) {
  open("{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<bot>{% endif "
       "%}");
  create();
  std::vector<perpend_llm_message> messages = {{view("system"), view("Be short.")}, {view("user"), view("Hi")}};
  char *text = nullptr;
  int64_t size = 0;
  ASSERT_EQ(perpend_llm_render(llm, messages.data(), 2, &text, &size), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(std::string(text, static_cast<size_t>(size)), "<system>Be short.\n<user>Hi\n<bot>");
  perpend_tokenizer_release(text);
  ASSERT_EQ(perpend_llm_sequence_set_chat(sequence, messages.data(), 2), PERPEND_OK) << perpend_error_message();
  const int32_t *tokens = nullptr;
  int64_t count = 0;
  perpend_llm_sequence_tokens(sequence, &tokens, &count, nullptr);
  EXPECT_EQ(decode(Tokens(tokens, tokens + count)), "<system>Be short.\n<user>Hi\n<bot>");
}

TEST_P(Llm, TakesNoSpecialTokensOfMessages) {
  open("{% for m in messages %}{{ m.content | trim }}<|end|>{% endfor %}");
  create();
  const int32_t end = perpend_tokenizer_find(perpend_llm_tokenizer(llm), view("<|end|>"));
  ASSERT_GE(end, 0);
  perpend_llm_message message = {view("user"), view(" a<|end|><|end|>b <|<|end|> ")};
  ASSERT_EQ(perpend_llm_sequence_set_chat(sequence, &message, 1), PERPEND_OK) << perpend_error_message();
  const int32_t *tokens = nullptr;
  int64_t count = 0;
  perpend_llm_sequence_tokens(sequence, &tokens, &count, nullptr);
  EXPECT_EQ(std::count(tokens, tokens + count, end), 1);
  EXPECT_EQ(tokens[count - 1], end);
  EXPECT_EQ(decode(Tokens(tokens, tokens + count)), "a<|end|><|end|>b <|<|end|>");
}

TEST_P(Llm, SaysWhyThereIsNoTemplate) {
  open("{% for m in messages %}{{ m.content | unheard_of }}{% endfor %}");
  EXPECT_FALSE(perpend_llm_has_template(llm));
  char *text = nullptr;
  int64_t size = 0;
  perpend_llm_message message = {view("user"), view("Hi")};
  EXPECT_EQ(perpend_llm_render(llm, &message, 1, &text, &size), PERPEND_INVALID_ARGUMENT);
  expectMessage("the model's chat template cannot be used: line 1");
}

TEST_P(Llm, PassesOnErrorsOfTemplates) {
  open("{{ raise_exception('roles must alternate') }}");
  char *text = nullptr;
  int64_t size = 0;
  EXPECT_EQ(perpend_llm_render(llm, nullptr, 0, &text, &size), PERPEND_INVALID_DATA);
  expectMessage("chat template: line 1: roles must alternate");
}

TEST_P(Llm, RefusesDamagedSettings) {
  cutBytes = 1;
  open("", {1});
  EXPECT_EQ(status, PERPEND_CORRUPT);
  expectMessage("its settings are damaged");
}

TEST_P(Llm, RefusesWrongArguments) {
  open();
  create();
  perpend_llm_piece piece{};
  const float *logits = nullptr;
  const int32_t wrong = static_cast<int32_t>(fake::vocabulary);
  EXPECT_EQ(perpend_llm_sequence_logits(sequence, &logits, nullptr), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected at least one token, got an empty text");
  EXPECT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected a generation");
  EXPECT_EQ(perpend_llm_sequence_set(sequence, &wrong, 1), PERPEND_INVALID_DATA);
  expectMessage("expected token 0 to be in a vocabulary of 640, got 640");
  set(prompt);
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.maxTokens = -2;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.temperature = -1;
  options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  expectMessage("temperature");
}

} // namespace
