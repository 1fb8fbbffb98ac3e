// Outputs whose extents depend on data: session memory, memory of the caller, errors of a run.
#include "FakeFilter.h"
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace {

class DataSizes : public testing::Test {
protected:
  void SetUp() override { load(module.run); }
  void TearDown() override { unload(); }
  /// A new model and session whose program is `program`: a model reads its module when it is made.
  void load(int32_t (*program)(perpend_frame *)) {
    unload();
    output = {}; // it was the session's
    module.run = program;
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  }
  void unload() {
    perpend_session_free(std::exchange(session, nullptr));
    perpend_model_free(std::exchange(model, nullptr));
  }
  perpend_status run(std::vector<float> x) {
    data = std::move(x);
    shape = static_cast<int64_t>(data.size());
    perpend_tensor input{data.data(), &shape, 1, PERPEND_F32};
    return perpend_session_run(session, &input, 1, &output, 1);
  }
  std::vector<float> result() const {
    auto *begin = static_cast<const float *>(output.data);
    return std::vector<float>(begin, begin + output.shape[0]);
  }
  static bool says(const char *part) { return std::string(perpend_error_message()).find(part) != std::string::npos; }

  perpend_module module = fake_filter::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  std::vector<float> data;
  int64_t shape = 0;
  perpend_tensor output{};
};

TEST_F(DataSizes, TheSessionSaysHowManyThereAre) {
  for (int64_t count : {3, 0, 200, 1}) {
    std::vector<float> x(200, -1.0f), expected(static_cast<size_t>(count), 4.0f);
    std::fill_n(x.begin(), count, 2.0f);
    ASSERT_EQ(run(x), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(output.rank, 1);
    ASSERT_NE(output.data, nullptr);
    EXPECT_EQ(result(), expected);
  }
}

TEST_F(DataSizes, TheShapeIsUnknownBeforeARun) {
  float x = 1;
  int64_t one = 1, extent = 0;
  perpend_tensor input{&x, &one, 1, PERPEND_F32};
  EXPECT_EQ(perpend_session_output_shape(session, &input, 1, 0, &extent), PERPEND_SHAPE_UNKNOWN);
  EXPECT_TRUE(says("output 'kept'") && says("hint: leave its data NULL")) << perpend_error_message();
  EXPECT_EQ(perpend_model_output(model, 0)->dims[0], -1);
  EXPECT_STREQ(perpend_model_output(model, 0)->dimTexts[0], "count");
}

TEST_F(DataSizes, MemoryOfTheCallerMustHaveTheShape) {
  float memory[4] = {};
  int64_t two = 2, four = 4, negative = -1;
  output = {memory, &two, 1, PERPEND_F32};
  ASSERT_EQ(run({1, -1, 3}), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(output.data, memory);
  EXPECT_EQ(result(), (std::vector<float>{2, 6}));
  output.shape = &four;
  EXPECT_EQ(run({1, -1, 3}), PERPEND_SHAPE_MISMATCH);
  EXPECT_TRUE(says("dimension 0: expected 2, got 4")) << perpend_error_message();
  EXPECT_EQ(output.data, memory);
  output.shape = &two;
  EXPECT_EQ(run({1, NAN}), PERPEND_INVALID_DATA);
  EXPECT_EQ(output.data, memory) << "the caller's pointer stays";
  output.shape = &negative;
  EXPECT_EQ(run({1}), PERPEND_SHAPE_MISMATCH);
  output = {memory, &two, 1, PERPEND_I32};
  EXPECT_EQ(run({1, 2}), PERPEND_TYPE_MISMATCH);
}

TEST_F(DataSizes, MemoryOfTheCallerMustNotOverlap) {
  std::vector<float> x{1, 2, 3};
  int64_t three = 3;
  perpend_tensor input{x.data(), &three, 1, PERPEND_F32};
  output = {x.data(), &three, 1, PERPEND_F32};
  EXPECT_EQ(perpend_session_run(session, &input, 1, &output, 1), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3}));
}

TEST_F(DataSizes, AnOutputOfAnEarlierRunIsNoInput) {
  ASSERT_EQ(run({1, 2, 3}), PERPEND_OK);
  int64_t three = 3;
  perpend_tensor input{output.data, &three, 1, PERPEND_F32}, next{};
  EXPECT_EQ(perpend_session_run(session, &input, 1, &next, 1), PERPEND_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected memory of its own")) << perpend_error_message();
}

TEST_F(DataSizes, AnErrorOfTheDataTakesTheOutputBack) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  ASSERT_NE(output.data, nullptr);
  EXPECT_EQ(run({1, 2, std::nanf("")}), PERPEND_INVALID_DATA);
  EXPECT_TRUE(says("node 'filter': expected a number, position, got 2; hint:")) << perpend_error_message();
  EXPECT_EQ(output.data, nullptr);
  ASSERT_EQ(run({5}), PERPEND_OK);
  EXPECT_EQ(result(), std::vector<float>{10});
}

TEST_F(DataSizes, SizesThatCannotBeAreErrors) {
  load([](perpend_frame *frame) { return frame->reserve(frame->growing, -4, 0); });
  EXPECT_EQ(run({1}), PERPEND_OUT_OF_MEMORY);
  load([](perpend_frame *frame) { return frame->reserve(frame->growing, INT64_MAX, 0); });
  EXPECT_EQ(run({1}), PERPEND_OUT_OF_MEMORY);
  load([](perpend_frame *frame) { return frame->reserve(frame->growing, int64_t{1} << 60, 0); });
  EXPECT_EQ(run({1}), PERPEND_OUT_OF_MEMORY);
  load(fake_filter::run);
  ASSERT_EQ(run({5}), PERPEND_OK);
  EXPECT_EQ(result(), std::vector<float>{10});
}

TEST_F(DataSizes, ExtentsThatDoNotFitTheElementsAreErrors) {
  load([](perpend_frame *frame) {
    frame->outputDims[0] = 1000;
    return frame->reserve(frame->growing, 4, 0);
  });
  EXPECT_EQ(run({1}), PERPEND_INVALID_DATA);
  EXPECT_EQ(output.data, nullptr);
}

} // namespace
