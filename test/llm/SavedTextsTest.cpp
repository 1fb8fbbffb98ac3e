// Texts of language models that are cut back, forked, saved and loaded; and the files of sessions.
#include "Checksum.h"
#include "LlmTest.h"
#include "llm/Conversation.h"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sys/resource.h>
#include <sys/stat.h>

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

} // namespace
