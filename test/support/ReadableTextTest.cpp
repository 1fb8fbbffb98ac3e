#include "support/ReadableText.h"
#include <gtest/gtest.h>

using perpend::support::counted;
using perpend::support::quoted;
using perpend::support::readable;

namespace {

TEST(ReadableText, KeepsUtf8) {
  for (const char *text : {"", "plain", "größe", "日本語", "\U0001F600", "a\\b \"c\""})
    EXPECT_EQ(readable(text), text);
}

TEST(ReadableText, EscapesControlCharacters) {
  EXPECT_EQ(readable("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1B[31m\\x7F");
  EXPECT_EQ(readable("\xc2\x9b"
                     "31m\xc2\xa0"),
            "\\xC2\\x9B31m\xc2\xa0"); // U+009B begins a command, too
  EXPECT_EQ(readable(llvm::StringRef("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(readable("a\nb\r", "\n"), "a\nb\\x0D");
}

TEST(ReadableText, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(readable("\xff"
                     "a\xc3"),
            "\\xFFa\\xC3");
  EXPECT_EQ(readable("\xed\xa0\x80"), "\\xED\\xA0\\x80"); // half of a surrogate pair
}

TEST(ReadableText, QuotesAndCutsBetweenCharacters) {
  EXPECT_EQ(quoted("a\"b\\c\n", 10), "\"a\\\"b\\\\c\\n\"");
  EXPECT_EQ(quoted("日本語", 3), "\"日本語\"");
  EXPECT_EQ(quoted("日本語", 2), "\"日本\"...");
  EXPECT_EQ(quoted("\xff\xfe", 1), "\"\\xFF\"...");
}

TEST(ReadableText, CountsOneAndSeveral) {
  EXPECT_EQ(counted(1, "input") + ", " + counted(0, "result"), "1 input, 0 results");
}
} // namespace
