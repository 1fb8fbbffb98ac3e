// A run with sizes seen before does not call the allocator.
#include "CountCalls.h"
#include "FakeFilter.h"
#include "FakeModel.h"
#include "FakeTexts.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

TEST(Allocation, NoneInARunWithUnchangedShapes) {
  perpend_module module = fake::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  perpend_session_options options{2};
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(model, &options, &session), PERPEND_OK);
  std::vector<float> x(3000, 1.0f);
  int64_t shape[] = {1000, 3}, smaller[] = {10, 3};
  perpend_tensor inputs[] = {{x.data(), shape, 2, PERPEND_F32}, {x.data(), shape, 2, PERPEND_F32}}, outputs[2] = {};
  Count first;
  ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_GT(first.allocated(), 0) << "the counter must see the first run's";
  Count later;
  for (int i = 0; i < 100; ++i)
    perpend_session_run(session, inputs, 2, outputs, 2);
  EXPECT_EQ(later.allocated(), 0);
  EXPECT_EQ(later.freed(), 0);
  void *data = outputs[0].data;
  inputs[0].shape = inputs[1].shape = smaller;
  ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_EQ(outputs[0].data, data) << "memory is kept for smaller shapes";
  perpend_session_free(session);
  perpend_model_free(model);
}

// A sequence that grows by one in each run: the arena and both outputs are allocated anew when they have grown by half.
TEST(Allocation, FewInRunsThatGrowStepByStep) {
  perpend_module module = fake::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  std::vector<float> x(3000, 1.0f);
  perpend_tensor inputs[2], outputs[2] = {};
  Count all;
  for (int64_t n = 1; n <= 1000; ++n) {
    const int64_t shape[] = {n, 3};
    inputs[0] = inputs[1] = {x.data(), shape, 2, PERPEND_F32};
    ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(static_cast<float *>(outputs[0].data)[3 * n - 1], 4.0f);
  }
  // Three buffers of at most 12000 bytes, from 64 on, and the tables of each plan.
  EXPECT_LE(all.allocated(), 4 * 14);
  Count smaller;
  for (int64_t n : {999, 1000, 500}) {
    const int64_t shape[] = {n, 3};
    inputs[0].shape = inputs[1].shape = shape;
    ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK);
    ASSERT_EQ(static_cast<float *>(outputs[0].data)[3 * n - 1], 4.0f);
  }
  EXPECT_EQ(smaller.allocated(), 0) << "the offsets of larger buffers serve smaller ones";
  perpend_session_free(session);
  perpend_model_free(model);
}

TEST(Allocation, NoneInARunWithSizesSeenBefore) {
  perpend_module module = fake_filter::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  std::vector<float> x(1000, 1.0f);
  perpend_tensor input{x.data(), nullptr, 1, PERPEND_F32}, output{};
  auto run = [&](int64_t count) {
    input.shape = &count;
    ASSERT_EQ(perpend_session_run(session, &input, 1, &output, 1), PERPEND_OK);
    ASSERT_EQ(output.shape[0], count);
  };
  run(1000);
  Count later;
  for (int64_t count : {1, 1000, 0, 500, 999})
    run(count);
  EXPECT_EQ(later.allocated(), 0);
  EXPECT_EQ(later.freed(), 0);
  perpend_session_free(session);
  perpend_model_free(model);
}

// With a library call, whose function allocates nothing itself.
TEST(Allocation, NoneForTextsAndListsOfSizesSeenBefore) {
  perpend_module module = fake_texts::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  std::vector<std::string> words;
  for (size_t i = 0; i < 300; ++i)
    words.push_back(std::string(i * 7, static_cast<char>('a' + i % 26)));
  std::vector<perpend_string> views;
  for (const std::string &word : words)
    views.push_back({word.data(), static_cast<int64_t>(word.size())});
  int64_t shape[] = {300};
  std::vector<perpend_tensor> elements(20, {views.data(), shape, 1, PERPEND_STRING});
  perpend_sequence list{elements.data(), 20};
  perpend_tensor inputs[] = {{views.data(), shape, 1, PERPEND_STRING}, {&list, nullptr, 0, PERPEND_SEQUENCE}},
                 outputs[2] = {};
  auto run = [&] { ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK); };
  run();
  run(); // the memory of two runs takes turns
  Count later;
  for (int64_t count : {300, 1, 0, 299, 300}) {
    shape[0] = count;
    list.count = count / 15;
    run();
  }
  EXPECT_EQ(later.allocated(), 0);
  EXPECT_EQ(later.freed(), 0);
  perpend_session_free(session);
  perpend_model_free(model);
}
