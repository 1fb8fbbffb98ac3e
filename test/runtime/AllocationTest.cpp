// Counts every allocation of the process: a run with the shapes of the run before makes none.
#include "FakeFilter.h"
#include "FakeModel.h"
#include <atomic>
#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

static std::atomic<int64_t> allocations;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
}

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
  int64_t start = allocations;
  ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_GT(allocations, start) << "the counter must see the first run's";
  start = allocations;
  for (int i = 0; i < 100; ++i)
    perpend_session_run(session, inputs, 2, outputs, 2);
  EXPECT_EQ(allocations - start, 0);
  void *data = outputs[0].data;
  inputs[0].shape = inputs[1].shape = smaller;
  ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_EQ(outputs[0].data, data) << "memory is kept for smaller shapes";
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
  int64_t start = allocations;
  for (int64_t count : {1, 1000, 0, 500, 999})
    run(count);
  EXPECT_EQ(allocations - start, 0);
  perpend_session_free(session);
  perpend_model_free(model);
}
