// Regular expressions: what matches, what is refused, and that time does not explode.
#include "library/Regex.h"
#include <chrono>
#include <gtest/gtest.h>
#include <random>
#include <string>

using perpend::library::Regex;

static perpend_string view(const std::string &text) { return {text.data(), static_cast<int64_t>(text.size())}; }

static bool matches(const std::string &pattern, const std::string &text) {
  Regex regex;
  EXPECT_TRUE(regex.compile(view(pattern))) << pattern << ": " << regex.error();
  return regex.matchWhole(view(text)) == Regex::Outcome::Matches;
}

static std::string refusal(const std::string &pattern) {
  Regex regex;
  return regex.compile(view(pattern)) ? "" : regex.error();
}

struct Case {
  const char *pattern, *text;
  bool expected;
};

class Matches : public testing::TestWithParam<Case> {};

TEST_P(Matches, WholeText) { EXPECT_EQ(matches(GetParam().pattern, GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Regex, Matches,
    testing::Values(
        Case{"", "", true}, Case{"", "a", false}, Case{"a", "a", true}, Case{"a", "ab", false}, Case{"a*", "", true},
        Case{"a*", "aaaa", true}, Case{"a+b?", "aab", true}, Case{"a+b?", "b", false}, Case{"a|bc|d", "bc", true},
        Case{"a|bc|d", "d", true}, Case{"a|bc|d", "ad", false}, Case{"(a|b)*c", "ababc", true},
        Case{"(a|)b", "b", true}, Case{"(?:ab){2,3}", "abab", true}, Case{"(?:ab){2,3}", "ab", false},
        Case{"(?:ab){2,3}", "abababab", false}, Case{"a{3}", "aaa", true}, Case{"a{2,}", "aaaaa", true},
        Case{"a{2,}", "a", false}, Case{"a{0}b", "b", true}, Case{"a{,2}", "a{,2}", true}, Case{"x{0,3}", "", true},
        Case{"x{0,3}", "xxx", true}, Case{"x{0,3}", "xxxx", false}, Case{"a*?b", "aab", true},
        Case{"(a*)*b", "aab", true}, Case{"[a-c]+", "abc", true}, Case{"[^a-c]+", "xyz", true},
        Case{"[^a-c]", "b", false}, Case{"[]a]", "]", true}, Case{"[a\\]]", "]", true}, Case{"[a-]", "-", true},
        Case{"[\\d.]+", "3.14", true}, Case{"[^\\d]+", "ab", true}, Case{"\\w+@\\w+\\.com", "a_1@b.com", true},
        Case{"\\D\\S\\W", "ab!", true}, Case{"[[:alpha:]]+", "Az", true}, Case{"[[:^alpha:]]+", "09", true},
        Case{"[^[:space:]]", " ", false}, Case{".", "\n", false}, Case{"(?s).", "\n", true},
        Case{"(?i)abc", "aBC", true}, Case{"(?i:a)b", "AB", false}, Case{"(?i:a)b", "Ab", true},
        Case{"(?i)[^a]", "A", false}, Case{"(?i)\xC3\xA4", "\xC3\x84", true}, Case{"^a$", "a", true},
        Case{"a^b", "ab", false}, Case{"a\\b", "a", true}, Case{"a\\Bb", "ab", true}, Case{"\\bab\\b", "ab", true},
        Case{"(?m)a$\n^b", "a\nb", true}, Case{"a$\nb", "a\nb", false}, Case{"\\Aa\\z", "a", true},
        Case{"\\Qa.b\\E+", "a.bb", true}, Case{"\\x41\\x{1F600}", "A\xF0\x9F\x98\x80", true}, Case{"\\101", "A", true},
        Case{"\\t\\n\\.", "\t\n.", true}, Case{"[\\x{e4}-\\x{fc}]", "\xC3\xB6", true}, Case{".", "\xC3\xB6", true},
        Case{".", "\xFF", false}, Case{"[^a]", "\xFF", false}, Case{"(?P<name>a)(?<b>b)", "ab", true},
        Case{"(?i)a(?-i)b", "AB", false}, Case{"(?i)a(?-i)b", "Ab", true}, Case{"((a|b)+)?", "", true}));

TEST(Regex, FindsTheLeftmostAndLongest) {
  auto find = [](const std::string &pattern, const std::string &text, int64_t position) {
    Regex regex;
    EXPECT_TRUE(regex.compile(view(pattern)));
    perpend::library::RegexMatch match;
    bool isFound = regex.find(view(text), position, match) == Regex::Outcome::Matches;
    return isFound ? text.substr(0, match.begin) + "<" + text.substr(match.begin, match.end - match.begin) + ">" : "";
  };
  EXPECT_EQ(find("a|ab", "xabc", 0), "x<ab>");
  EXPECT_EQ(find("b|abcd", "abcd", 0), "<abcd>");
  EXPECT_EQ(find("b|abcx", "abcd", 0), "a<b>");
  EXPECT_EQ(find("[a-z]+", "ab cd", 2), "ab <cd>");
  EXPECT_EQ(find("[a-z]+", "ab 12", 2), "");
  EXPECT_EQ(find("b*", "abb", 0), "<>");
  EXPECT_EQ(find("b*", "abb", 1), "a<bb>");
  EXPECT_EQ(find("$", "ab", 0), "ab<>");
  EXPECT_EQ(find("^a", "aa", 1), "");
  EXPECT_EQ(find("\\bb", "ab b", 1), "ab <b>");
  EXPECT_EQ(find(".", "a\xC3\xB6", 1), "a<\xC3\xB6>");
  EXPECT_EQ(find("a", "", 0), "");
}

TEST(Regex, WrongPatternsAreRefused) {
  EXPECT_EQ(refusal("a("), "a '(' has no ')'");
  EXPECT_EQ(refusal("a)"), "a ')' has no '('");
  EXPECT_EQ(refusal("[a"), "a '[' has no ']'");
  EXPECT_EQ(refusal("*a"), "a repetition has nothing before it");
  EXPECT_EQ(refusal("a**"), "two repetitions follow one another");
  EXPECT_EQ(refusal("a{3,2}"), "a repetition must be {n,m} with n <= m <= 1000");
  EXPECT_EQ(refusal("a{1001}"), "a repetition must be {n,m} with n <= m <= 1000");
  EXPECT_EQ(refusal("(?=a)"), "'(?' is followed by no flags that RE2 has; looking around is not possible");
  EXPECT_EQ(refusal("(?<=a)"), "looking around is not possible");
  EXPECT_EQ(refusal("(a)\\1"),
            "a '\\' is followed by a letter or digit without meaning (there are no back-references)");
  EXPECT_EQ(refusal("\\"), "the pattern ends with '\\'");
  EXPECT_EQ(refusal("[z-a]"), "a range of a set ends before it begins");
  EXPECT_EQ(refusal("\\x{110000}"), "\\x{...} is beyond Unicode");
  EXPECT_NE(refusal("\\pL"), "");
  EXPECT_EQ(refusal("((a{1000}){1000}){1000}"), "the pattern is too large");
  EXPECT_EQ(refusal(std::string(1000, '(')), "groups are nested too deeply");
}

TEST(Regex, TimeDoesNotExplode) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches("(a*)*(a*)*(a|aa)+b", std::string(2000, 'a')));
  Regex regex;
  perpend::library::RegexMatch match;
  ASSERT_TRUE(regex.compile(view("a*b")));
  EXPECT_EQ(regex.find(view(std::string(1 << 20, 'a')), 0, match), Regex::Outcome::Differs);
  std::string alternatives;
  for (int i = 0; i < 20000; ++i)
    alternatives += "a|";
  EXPECT_TRUE(matches(alternatives + "b", "b"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Random patterns and texts: no crash, no endless loop; and a pattern of quoted bytes matches itself.
TEST(Regex, Random) {
  std::mt19937 random(7);
  const std::string letters = "ab[]()|*+?{}^$\\.-,0123:dwsDWSQEx<>P=!i\xC3\xA4\xFF\n";
  for (int run = 0; run < 20000; ++run) {
    std::string pattern, text, quoted;
    for (int i = static_cast<int>(random() % 12); i > 0; --i)
      pattern += letters[random() % letters.size()];
    for (int i = static_cast<int>(random() % 8); i > 0; --i)
      text += letters[random() % letters.size()];
    Regex regex;
    if (regex.compile(view(pattern)))
      (void)regex.matchWhole(view(text));
    for (char letter : text)
      if (static_cast<unsigned char>(letter) < 0x80)
        quoted += (isalnum(letter) ? "" : "\\") + std::string(1, letter);
    std::string plain;
    for (char letter : text)
      if (static_cast<unsigned char>(letter) < 0x80)
        plain += letter;
    EXPECT_TRUE(matches(quoted, plain)) << quoted;
  }
}
