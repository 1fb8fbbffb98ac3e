// Texts and lists from run to run: who owns what, and for how long.
#include "FakeTexts.h"
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

using Strings = std::vector<std::string>;

class Texts : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  }
  void TearDown() override {
    perpend_session_free(session);
    perpend_model_free(model);
  }
  void setWords(const Strings &texts) {
    words = texts;
    views.clear();
    for (const std::string &word : words)
      views.push_back({word.data(), static_cast<int64_t>(word.size())});
    shape[0] = static_cast<int64_t>(views.size());
    inputs[0] = {views.data(), shape, 1, PERPEND_STRING};
  }
  perpend_status run() { return perpend_session_run(session, inputs, 2, outputs, 2); }
  static Strings textsOf(const perpend_tensor &tensor) {
    Strings result;
    auto *texts = static_cast<const perpend_string *>(tensor.data);
    for (int64_t i = 0; i < tensor.shape[0]; ++i)
      result.emplace_back(texts[i].data, static_cast<size_t>(texts[i].sizeBytes));
    return result;
  }
  static std::vector<Strings> listOf(const perpend_tensor &tensor) {
    std::vector<Strings> result;
    auto &list = *static_cast<const perpend_sequence *>(tensor.data);
    for (int64_t i = 0; i < list.count; ++i)
      result.push_back(textsOf(list.elements[i]));
    return result;
  }

  perpend_module module = fake_texts::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  Strings words;
  std::vector<perpend_string> views;
  int64_t shape[1] = {0};
  perpend_sequence none{nullptr, 0};
  perpend_tensor inputs[2] = {{}, {&none, nullptr, 0, PERPEND_SEQUENCE}}, outputs[2] = {};
};

TEST_F(Texts, OutputsOfOneRunAreInputsOfTheNext) {
  const std::string long1(3000, 'x'), long2(9000, 'y');
  setWords({"one", long1, "three", long2});
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  const Strings backward = {long2, "three", long1, "one"};
  std::vector<Strings> list = {words};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(textsOf(outputs[0]), i % 2 ? words : backward) << i;
    EXPECT_EQ(listOf(outputs[1]), list) << i;
    inputs[0] = outputs[0];
    inputs[1] = outputs[1];
    list.push_back(i % 2 ? words : backward);
    ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  }
}

TEST_F(Texts, OutputsMayTakeTurnsBetweenTwoArrays) {
  perpend_tensor turns[2][2] = {};
  setWords({"one", std::string(3000, 'x'), "three"});
  std::vector<Strings> list;
  for (int i = 0; i < 12; ++i) {
    const perpend_tensor *before = turns[(i + 1) % 2];
    if (i) {
      inputs[0] = before[0];
      inputs[1] = before[1];
    }
    perpend_tensor *now = turns[i % 2];
    ASSERT_EQ(perpend_session_run(session, inputs, 2, now, 2), PERPEND_OK) << perpend_error_message();
    Strings backward(words.rbegin(), words.rend());
    list.push_back(i % 2 ? backward : words);
    EXPECT_EQ(textsOf(now[0]), i % 2 ? words : backward) << i;
    EXPECT_EQ(listOf(now[1]), list) << i;
  }
}

TEST_F(Texts, OutputsAreInputsOfRunsAfterOneThatFailed) {
  const Strings first = {"one", std::string(3000, 'x'), "three"}, backward = {"three", std::string(3000, 'x'), "one"};
  setWords(first);
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  const perpend_tensor reversed = outputs[0], longer = outputs[1];
  for (int i = 0; i < 3; ++i) {
    setWords({std::string(3000, 'b'), "bad", "bad", std::string(2000, 'c'), i ? "refused" : "text without data"});
    if (!i)
      views.back().data = nullptr;
    inputs[1] = longer;
    ASSERT_EQ(run(), i ? PERPEND_INVALID_DATA : PERPEND_INVALID_ARGUMENT);
    EXPECT_EQ(textsOf(reversed), backward) << i;
    EXPECT_EQ(listOf(longer), std::vector<Strings>{first}) << i;
  }
  inputs[0] = reversed;
  inputs[1] = longer;
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(textsOf(outputs[0]), first);
  EXPECT_EQ(listOf(outputs[1]), (std::vector<Strings>{first, backward}));
  EXPECT_EQ(textsOf(reversed), backward) << "until the run after this one";
}

TEST_F(Texts, OutputsOfTheCallerKeepTheirPointersThroughErrors) {
  perpend_string own[2] = {};
  perpend_sequence ownList{};
  setWords({"a", "b"});
  outputs[0] = {own, shape, 1, PERPEND_STRING};
  outputs[1] = {&ownList, nullptr, 0, PERPEND_SEQUENCE};
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(textsOf(outputs[0]), (Strings{"b", "a"}));
  setWords({"a", "refused"});
  ASSERT_EQ(run(), PERPEND_INVALID_DATA);
  EXPECT_EQ(outputs[0].data, own);
  EXPECT_EQ(outputs[1].data, &ownList);
  setWords({"c", "d"});
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(textsOf(outputs[0]), (Strings{"d", "c"}));
  EXPECT_EQ(listOf(outputs[1]), std::vector<Strings>{words});
}

TEST_F(Texts, OutputsOfTheSessionAreForgottenAfterErrors) {
  setWords({"a", "b"});
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  views[0] = {nullptr, 3};
  EXPECT_EQ(run(), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(outputs[0].data, nullptr);
  setWords({"refused"});
  EXPECT_EQ(run(), PERPEND_INVALID_DATA);
  EXPECT_EQ(outputs[1].data, nullptr);
  setWords({"c", "d"});
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(textsOf(outputs[0]), (Strings{"d", "c"}));
  inputs[0].type = PERPEND_F32;
  EXPECT_EQ(run(), PERPEND_TYPE_MISMATCH);
  EXPECT_EQ(textsOf(outputs[0]), (Strings{"d", "c"})) << "nothing was touched";
}

TEST(Spelling, TextsMayLieInMemoryThatTheOutputsLeave) {
  perpend_module module = fake_texts::makeSpellingModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  const std::string word = "inputs are read before the memory of outputs moves";
  perpend_string text{word.data(), static_cast<int64_t>(word.size())};
  perpend_tensor letters{};
  std::vector<uint8_t> numbers(1 << 20);
  const int64_t one = 1;
  for (int64_t count = text.sizeBytes; count <= static_cast<int64_t>(numbers.size()); count *= 10) {
    perpend_tensor inputs[] = {{&text, &one, 1, PERPEND_STRING}, {numbers.data(), &count, 1, PERPEND_U8}};
    ASSERT_EQ(perpend_session_run(session, inputs, 2, &letters, 1), PERPEND_OK) << perpend_error_message();
    auto *data = static_cast<const char *>(letters.data);
    EXPECT_EQ(std::string(data, word.size()), word) << count;
    text.data = data; // the session's, which the next run is too long for
  }
  perpend_session_free(session);
  perpend_model_free(model);
}

/// `count` runs of a session of its own, whose results are the inputs of the next one; how many are wrong.
static int wrongRuns(perpend_model *model, const std::string &name, int count) {
  perpend_session *session = nullptr;
  if (perpend_session_create(model, nullptr, &session) != PERPEND_OK)
    return count;
  const std::string first = name + std::string(3000, 'x'), second = name + " b";
  perpend_string texts[] = {{first.data(), static_cast<int64_t>(first.size())},
                            {second.data(), static_cast<int64_t>(second.size())}};
  const int64_t shape[] = {2};
  perpend_sequence none{nullptr, 0};
  perpend_tensor inputs[] = {{texts, shape, 1, PERPEND_STRING}, {&none, nullptr, 0, PERPEND_SEQUENCE}}, outputs[2] = {};
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    if (perpend_session_run(session, inputs, 2, outputs, 2) != PERPEND_OK)
      return count;
    auto *got = static_cast<const perpend_string *>(outputs[0].data);
    wrong += std::string(got[i % 2].data, static_cast<size_t>(got[i % 2].sizeBytes)) != second ||
             std::string(got[1 - i % 2].data, static_cast<size_t>(got[1 - i % 2].sizeBytes)) != first;
    inputs[0] = outputs[0];
  }
  perpend_session_free(session);
  return wrong;
}

TEST_F(Texts, SessionsOnSeveralThreadsHaveTextsOfTheirOwn) {
  int wrong[4] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { wrong[i] = wrongRuns(model, "thread " + std::to_string(i), 2000); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::vector<int>(wrong, wrong + 4), std::vector<int>(4, 0));
}
