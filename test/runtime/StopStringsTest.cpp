// Stop strings: what is shown of a text does not depend on how it is cut into pieces.
#include "perpend_sampling.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace {
struct Result {
  std::string shown;
  int32_t found;
  bool operator==(const Result &other) const { return shown == other.shown && found == other.found; }
};

struct Stop {
  explicit Stop(const std::vector<std::string> &texts) {
    std::vector<perpend_string> strings;
    for (const std::string &text : texts)
      strings.push_back({text.data(), static_cast<int64_t>(text.size())});
    EXPECT_EQ(perpend_stop_create(strings.data(), static_cast<int32_t>(strings.size()), &stop), PERPEND_OK);
  }
  ~Stop() { perpend_stop_free(stop); }
  std::string add(const std::string &piece, int32_t *found = nullptr) {
    perpend_string released;
    int32_t index = -2;
    EXPECT_EQ(perpend_stop_add(stop, {piece.data(), static_cast<int64_t>(piece.size())}, &released, &index),
              PERPEND_OK);
    if (found)
      *found = index;
    return {released.data, static_cast<size_t>(released.sizeBytes)};
  }
  std::string finish() {
    perpend_string released;
    EXPECT_EQ(perpend_stop_finish(stop, &released), PERPEND_OK);
    return {released.data, static_cast<size_t>(released.sizeBytes)};
  }
  perpend_stop *stop = nullptr;
};
} // namespace

// By definition: the first end of a stop string, and the longest one that ends there.
static Result expectedOf(const std::string &text, const std::vector<std::string> &stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    int32_t found = -1;
    size_t length = 0;
    for (size_t i = 0; i < stops.size(); ++i)
      if (stops[i].size() <= end && stops[i].size() > length &&
          !text.compare(end - stops[i].size(), stops[i].size(), stops[i])) {
        found = static_cast<int32_t>(i);
        length = stops[i].size();
      }
    if (found >= 0)
      return {text.substr(0, end - length), found};
  }
  return {text, -1};
}

static Result resultOf(Stop &stop, const std::vector<std::string> &pieces) {
  Result result = {"", -1};
  for (const std::string &piece : pieces)
    result.shown += stop.add(piece, &result.found);
  const int32_t found = result.found;
  result.shown += stop.finish();
  result.found = found;
  return result;
}

TEST(StopStrings, AllPlacesToCut) {
  const std::vector<std::vector<std::string>> lists = {
      {"\n\nUser:", "</s>"}, {"aab"}, {"abc", "b"}, {"ababc"}, {"aa", "aab"}, {"c", "bc", "abc"}, {"x"}};
  const std::vector<std::string> texts = {
      "hello\n\nUser: more", "a</s", "</</s>", "aaab", "abc", "abababc", "aaaa", "xx", "", "caabcab", "\n\n\nUser:"};
  for (const auto &stops : lists)
    for (const std::string &text : texts) {
      Stop stop(stops); // used again for each text
      const Result expected = expectedOf(text, stops);
      for (size_t first = 0; first <= text.size(); ++first)
        for (size_t second = first; second <= text.size(); ++second)
          EXPECT_EQ(resultOf(stop, {text.substr(0, first), text.substr(first, second - first), text.substr(second)}),
                    expected)
              << text << " " << first << " " << second;
    }
}

TEST(StopStrings, RandomTexts) {
  std::mt19937 random(3);
  auto text = [&](size_t most) {
    std::string letters(1 + random() % most, 'a');
    for (char &letter : letters)
      letter = static_cast<char>('a' + random() % 2);
    return letters;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops, pieces;
    for (size_t i = random() % 4; i > 0; --i)
      stops.push_back(text(8));
    std::string all;
    for (size_t i = random() % 8; i > 0; --i)
      all += pieces.emplace_back(text(5));
    Stop stop(stops);
    EXPECT_EQ(resultOf(stop, pieces), expectedOf(all, stops)) << all;
  }
}

// Nothing is held back longer than it may be the beginning of a stop string.
TEST(StopStrings, ReleasesAsSoonAsPossible) {
  Stop stop({"<end>", "stop"});
  int32_t found = 0;
  EXPECT_EQ(stop.add("a<e", &found), "a");
  EXPECT_EQ(found, -1);
  EXPECT_EQ(stop.add("x"), "<ex");
  EXPECT_EQ(stop.add("sto"), "");
  EXPECT_EQ(stop.add("st"), "sto");
  EXPECT_EQ(stop.add("op and more", &found), "");
  EXPECT_EQ(found, 1);
  EXPECT_EQ(stop.add("ignored", &found), "");
  EXPECT_EQ(found, 1);
  EXPECT_EQ(stop.finish(), "");
  EXPECT_EQ(stop.add("sto", &found), "");
  EXPECT_EQ(found, -1);
  EXPECT_EQ(stop.finish(), "sto");
}

TEST(StopStrings, BytesOfAnyValue) {
  Stop stop({std::string("\0\xff", 2)});
  int32_t found = 0;
  EXPECT_EQ(stop.add(std::string("\xc3\0", 2), &found), "\xc3");
  EXPECT_EQ(stop.add("\xff", &found), "");
  EXPECT_EQ(found, 0);
}

TEST(StopStrings, Refuses) {
  perpend_stop *stop = nullptr;
  const perpend_string empty[] = {{"a", 1}, {"", 0}};
  EXPECT_EQ(perpend_stop_create(empty, 2, &stop), PERPEND_INVALID_ARGUMENT);
  EXPECT_STREQ(perpend_error_message(), "stop strings: expected text, got an empty string; hint: leave it out");
  EXPECT_EQ(perpend_stop_create(empty, -1, &stop), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_stop_create(nullptr, 1, &stop), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(stop, nullptr);
  ASSERT_EQ(perpend_stop_create(nullptr, 0, &stop), PERPEND_OK);
  perpend_string released;
  int32_t found = 0;
  EXPECT_EQ(perpend_stop_add(stop, {nullptr, 1}, &released, &found), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_stop_add(stop, {"a", -1}, &released, &found), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_stop_add(stop, {nullptr, 0}, &released, &found), PERPEND_OK);
  EXPECT_EQ(perpend_stop_finish(stop, nullptr), PERPEND_INVALID_ARGUMENT);
  perpend_stop_free(stop);
  perpend_stop_free(nullptr);
}
