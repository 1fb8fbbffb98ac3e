// The C interface: what it refuses, and tables that are damaged.
#include "perpend_tokenizer.h"
#include "tokenizer/Load.h"

#include <gtest/gtest.h>
#include <random>

using perpend::tokenizer::loadTokenizer;
using perpend::tokenizer::TableBytes;

static TableBytes tableOf(const char *name) { return llvm::cantFail(loadTokenizer(std::string(FIXTURES) + name)); }

static perpend_string view(const std::string &text) { return {text.data(), static_cast<int64_t>(text.size())}; }

static std::vector<int32_t> encode(const perpend_tokenizer *tokenizer, const std::string &text) {
  int32_t *ids = nullptr;
  int64_t count = 0;
  if (perpend_tokenizer_encode(tokenizer, view(text), PERPEND_ADD_SPECIAL | PERPEND_PARSE_SPECIAL, &ids, &count))
    return {};
  std::vector<int32_t> list(ids, ids + count);
  perpend_tokenizer_release(ids);
  return list;
}

static std::string decode(const perpend_tokenizer *tokenizer, const std::vector<int32_t> &ids) {
  char *text = nullptr;
  int64_t bytes = 0;
  if (perpend_tokenizer_decode(tokenizer, ids.data(), static_cast<int64_t>(ids.size()), PERPEND_SKIP_SPECIAL, &text,
                               &bytes))
    return perpend_error_message();
  std::string result(text ? text : "", static_cast<size_t>(bytes));
  perpend_tokenizer_release(text);
  return result;
}

TEST(Tokenizer, TextToIdsAndBack) {
  const TableBytes table = tableOf("byte-level.json");
  perpend_tokenizer *tokenizer = nullptr;
  ASSERT_EQ(perpend_tokenizer_create(table.data(), static_cast<int64_t>(table.sizeBytes()), &tokenizer), PERPEND_OK);
  const std::vector<int32_t> ids = encode(tokenizer, "Hello world");
  ASSERT_GT(ids.size(), 2u);
  EXPECT_EQ(ids.front(), perpend_tokenizer_find(tokenizer, view("<s>")));
  EXPECT_EQ(decode(tokenizer, ids), "Hello world");
  EXPECT_EQ(perpend_tokenizer_token(tokenizer, perpend_tokenizer_size(tokenizer)).data, nullptr);
  perpend_tokenizer_free(tokenizer);
}

TEST(Tokenizer, RefusesWrongArguments) {
  const TableBytes table = tableOf("pairs.model");
  const auto bytes = static_cast<int64_t>(table.sizeBytes());
  perpend_tokenizer *tokenizer = nullptr;
  EXPECT_EQ(perpend_tokenizer_create(nullptr, bytes, &tokenizer), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_tokenizer_create(table.data(), bytes, nullptr), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_tokenizer_create(table.data(), bytes - 1, &tokenizer), PERPEND_CORRUPT);
  EXPECT_EQ(perpend_tokenizer_create(table.data(), 8, &tokenizer), PERPEND_CORRUPT);
  std::vector<uint64_t> zeros(table.sizeBytes() / 8 + 1);
  EXPECT_EQ(perpend_tokenizer_create(zeros.data(), bytes, &tokenizer), PERPEND_INCOMPATIBLE);
  ASSERT_EQ(perpend_tokenizer_create(table.data(), bytes, &tokenizer), PERPEND_OK);
  int64_t count = 0;
  int32_t *ids = nullptr;
  EXPECT_EQ(perpend_tokenizer_encode(tokenizer, {nullptr, 1}, 0, &ids, &count), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_tokenizer_encode(tokenizer, {nullptr, 0}, 0, &ids, &count), PERPEND_OK);
  EXPECT_EQ(perpend_tokenizer_encode(tokenizer, view("a"), 0, nullptr, &count), PERPEND_INVALID_ARGUMENT);
  perpend_token_stream *stream = nullptr;
  EXPECT_EQ(perpend_token_stream_create(nullptr, 0, &stream), PERPEND_INVALID_ARGUMENT);
  perpend_token_stream_free(nullptr);
  perpend_tokenizer_free(tokenizer);
  perpend_tokenizer_free(nullptr);
}

/// Whatever its bits are, a table is refused or can be used.
TEST(Tokenizer, SurvivesDamagedTables) {
  std::mt19937 generator(7);
  int refused = 0, opened = 0;
  for (const char *name : {"byte-level.json", "byte-fallback.json", "word-suffix.json", "word-piece.json",
                           "unigram.json", "unigram.model", "pairs.model"}) {
    const TableBytes table = tableOf(name);
    for (int turn = 0; turn < 150; ++turn) {
      TableBytes damaged = table;
      auto *bytes = static_cast<unsigned char *>(const_cast<void *>(damaged.data()));
      // The head and the steps are few bytes that matter most.
      const size_t range = turn % 2 ? damaged.sizeBytes() : std::min<size_t>(damaged.sizeBytes(), 400);
      for (int i = 0; i <= turn % 4; ++i)
        bytes[8 + generator() % (range - 8)] ^= static_cast<unsigned char>(1u << generator() % 8);
      perpend_tokenizer *tokenizer = nullptr;
      if (perpend_tokenizer_create(damaged.data(), static_cast<int64_t>(damaged.sizeBytes()), &tokenizer)) {
        ++refused;
        continue;
      }
      ++opened;
      decode(tokenizer, encode(tokenizer, "Hello <s> world, caf\xC3\xA9 e\xCC\x81 \xFF\xE4\xBD 123  hello"));
      decode(tokenizer, {0, 1, 2, 3, 4, 5, 200, 300});
      perpend_tokenizer_free(tokenizer);
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(opened, 50);
}
