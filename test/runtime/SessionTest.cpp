#include "FakeModel.h"
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

static void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

class Session : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
    setBatch(4);
  }
  void TearDown() override {
    perpend_model_free(model); // the session keeps it alive
    perpend_session_free(session);
  }
  void setBatch(int64_t n) {
    shape[0] = n;
    x.resize(static_cast<size_t>(n) * 3);
    y.resize(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 1.0f;
    }
    inputs[0] = {x.data(), shape, 2, PERPEND_F32};
    inputs[1] = {y.data(), shape, 2, PERPEND_F32};
  }
  perpend_status run() { return perpend_session_run(session, inputs, 2, outputs, 2); }
  void expectResult() {
    auto *z = static_cast<float *>(outputs[0].data), *rows = static_cast<float *>(outputs[1].data);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(z[i], 2 * (x[i] + y[i])) << i;
    for (size_t i = 0; i < x.size(); i += 3)
      ASSERT_EQ(rows[i / 3], x[i] + x[i + 1] + x[i + 2] + 3) << i;
  }

  perpend_module module = fake::makeModule();
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  std::vector<float> x, y;
  int64_t shape[2] = {4, 3};
  perpend_tensor inputs[2] = {}, outputs[2] = {};
};

TEST_F(Session, RunsWithMemoryOfTheSession) {
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(outputs[0].rank, 2);
  EXPECT_EQ(outputs[0].shape[0], 4);
  EXPECT_EQ(outputs[0].shape[1], 3);
  EXPECT_EQ(outputs[1].shape[0], 4);
  EXPECT_EQ(outputs[0].type, PERPEND_F32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(outputs[0].data) % 64, 0u);
  expectResult();
}

TEST_F(Session, FollowsChangingBatches) {
  for (int64_t n : {1, 7, 1000, 3, 20000, 2}) {
    setBatch(n);
    ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
    EXPECT_EQ(outputs[0].shape[0], n);
    expectResult();
  }
}

TEST_F(Session, WritesToMemoryOfTheCaller) {
  std::vector<float> z(12), rows(4);
  int64_t rowsShape[] = {4};
  outputs[0] = {z.data(), shape, 2, PERPEND_F32};
  outputs[1] = {rows.data(), rowsShape, 1, PERPEND_F32};
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(outputs[0].data, z.data());
  expectResult();
  rowsShape[0] = 5;
  EXPECT_EQ(run(), PERPEND_SHAPE_MISMATCH);
  expectMessage("output 'rows', dimension 0: expected 4, got 5");
  outputs[1].type = PERPEND_I32;
  EXPECT_EQ(run(), PERPEND_TYPE_MISMATCH);
  expectMessage("output 'rows': type: expected f32, got i32");
  outputs[0].rank = 1;
  EXPECT_EQ(run(), PERPEND_INVALID_ARGUMENT);
  expectMessage("output 'z': rank: expected 2, got 1");
}

TEST_F(Session, OutputShapeNeedsNoData) {
  setBatch(9);
  inputs[0].data = inputs[1].data = nullptr;
  int64_t result[2] = {};
  ASSERT_EQ(perpend_session_output_shape(session, inputs, 2, 0, result), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(result[0], 9);
  EXPECT_EQ(result[1], 3);
  EXPECT_EQ(perpend_session_output_shape(session, inputs, 2, 2, result), PERPEND_INVALID_ARGUMENT);
  setBatch(9);
  ASSERT_EQ(run(), PERPEND_OK);
  expectResult();
}

TEST_F(Session, ReportsWrongInputs) {
  EXPECT_EQ(perpend_session_run(session, inputs, 1, outputs, 2), PERPEND_INVALID_ARGUMENT);
  expectMessage("number of inputs: expected 2, got 1");
  EXPECT_EQ(perpend_session_run(session, inputs, 2, outputs, 1), PERPEND_INVALID_ARGUMENT);
  expectMessage("number of outputs: expected 2, got 1");
  inputs[1].type = PERPEND_F64;
  EXPECT_EQ(run(), PERPEND_TYPE_MISMATCH);
  expectMessage("input 'y': type: expected f32, got f64");
  setBatch(4);
  inputs[0].rank = 3;
  EXPECT_EQ(run(), PERPEND_INVALID_ARGUMENT);
  expectMessage("input 'x': rank: expected 2, got 3; hint: its shape is [n, 3]");
  setBatch(4);
  int64_t wide[] = {4, 4};
  inputs[0].shape = wide;
  EXPECT_EQ(run(), PERPEND_SHAPE_MISMATCH);
  expectMessage("input 'x', dimension 1: expected 3, got 4; hint: its shape is [n, 3]");
  int64_t longer[] = {5, 3};
  setBatch(4);
  inputs[1].shape = longer;
  EXPECT_EQ(run(), PERPEND_SHAPE_MISMATCH);
  expectMessage("input 'y', dimension 0: expected 4, got 5");
  setBatch(4);
  inputs[1].data = nullptr;
  EXPECT_EQ(run(), PERPEND_INVALID_ARGUMENT);
  expectMessage("input 'y': expected data, got NULL");
  setBatch(0);
  EXPECT_EQ(run(), PERPEND_SHAPE_MISMATCH);
  expectMessage("input 'x', dimension 0: expected at least 1, got 0");
  setBatch(4);
  EXPECT_EQ(run(), PERPEND_OK) << "an error must not spoil the session";
  expectResult();
}

/// The model, where x and y may have one row for n.
class RepeatingSession : public Session {
protected:
  static int32_t bind(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error) {
    symbols[0] = dims[0][0];
    symbols[1] = dims[1][0];
    for (int i : {0, 1})
      if (dims[i][0] == 1)
        symbols[i] = dims[1 - i][0];
    *error = {1, 0, symbols[0], dims[1][0], nullptr};
    return symbols[0] != symbols[1];
  }
  void SetUp() override {
    fake::describe(tables, "fake");
    fake::describeOutputs(tables);
    tables.entry.symbols = tables.texts({"n", "m"});
    tables.entry.inputs =
        tables.records({tables.tensor("x", PERPEND_F32, {"n", "3"}), tables.tensor("y", PERPEND_F32, {"m", "3"})});
    tables.entry.repeats = tables.records<perpend_repeat_record>({{0, 0, 0}, {1, 0, 1}});
    tables.finish(module);
    module.bind = bind;
    Session::SetUp();
  }
  fake::Tables tables;
  int64_t one[2] = {1, 3};
};

TEST_F(RepeatingSession, RepeatsInputsOfOneRow) {
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  expectResult();
  inputs[1].shape = one;
  y = {1, 1, 1};
  for (int64_t n : {4, 7, 1, 2}) {
    shape[0] = n;
    x.assign(static_cast<size_t>(n) * 3, 5.0f);
    inputs[0].data = x.data();
    inputs[1].data = y.data();
    ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
    EXPECT_EQ(outputs[0].shape[0], n);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(static_cast<float *>(outputs[0].data)[i], 12.0f) << n;
  }
  setBatch(4);
  std::vector<float> row{10, 20, 30};
  inputs[0] = {row.data(), one, 2, PERPEND_F32};
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(static_cast<float *>(outputs[0].data)[11], 62.0f);
}

TEST_F(RepeatingSession, SaysThatADimensionMayBeOne) {
  int64_t other[] = {3, 3};
  inputs[1].shape = other;
  EXPECT_EQ(run(), PERPEND_SHAPE_MISMATCH);
  expectMessage("input 'y', dimension 0: expected 4 or 1, got 3; hint: its shape is [m, 3]");
}

TEST_F(Session, ReportsSizesBeyond64Bits) {
  setBatch(4);
  shape[0] = INT64_MAX / 8;
  int64_t result[2];
  EXPECT_EQ(perpend_session_output_shape(session, inputs, 2, 0, result), PERPEND_OUT_OF_MEMORY);
  expectMessage("does not fit 64 bits");
}

TEST_F(Session, ReportsOverlap) {
  outputs[0] = {x.data(), shape, 2, PERPEND_F32};
  EXPECT_EQ(run(), PERPEND_INVALID_ARGUMENT);
  expectMessage("output 'z': expected memory of its own, got an overlap with 'x'");
}

TEST_F(Session, ReportsNullHandles) {
  EXPECT_EQ(perpend_session_run(nullptr, inputs, 2, outputs, 2), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_session_create(nullptr, nullptr, &session), PERPEND_INVALID_ARGUMENT);
  perpend_session_options options{-1};
  perpend_session *other = nullptr;
  EXPECT_EQ(perpend_session_create(model, &options, &other), PERPEND_INVALID_ARGUMENT);
  expectMessage("threads: expected 0 (all cores) to 1024, got -1");
}

TEST_F(Session, Profiles) {
  ASSERT_EQ(perpend_session_profile(session, 1), PERPEND_OK);
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(run(), PERPEND_OK);
  ASSERT_EQ(perpend_session_profile(session, 0), PERPEND_OK);
  ASSERT_EQ(run(), PERPEND_OK);
  for (int32_t i = 0; i < 3; ++i) {
    int64_t timeNs = 0, calls = 0;
    ASSERT_EQ(perpend_session_kernel_profile(session, i, &timeNs, &calls), PERPEND_OK);
    EXPECT_EQ(calls, 5);
    EXPECT_GT(timeNs, 0);
  }
  int64_t timeNs, calls;
  EXPECT_EQ(perpend_session_kernel_profile(session, 3, &timeNs, &calls), PERPEND_INVALID_ARGUMENT);
}

TEST_F(Session, SaysHowManyThreadsItHas) {
  static int64_t whenSized, whenRun;
  static perpend_module asking; // outlives the model, which TearDown frees
  asking = module;
  asking.sizes = [](const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims) {
    whenSized = symbols[1];
    fake::sizes(symbols, bufferBytes, outputDims);
  };
  asking.run = [](perpend_frame *frame) {
    whenRun = frame->symbols[1];
    return fake::run(frame);
  };
  perpend_model_free(model);
  ASSERT_EQ(perpend_model_from_module(&asking, &model), PERPEND_OK);
  for (int32_t threads : {1, 3, 1024, 0}) {
    perpend_session_options options{threads};
    perpend_session_free(session);
    outputs[0] = outputs[1] = {}; // they were the session's
    ASSERT_EQ(perpend_session_create(model, &options, &session), PERPEND_OK);
    ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
    EXPECT_EQ(whenSized, whenRun);
    EXPECT_TRUE(threads ? whenRun == threads : whenRun >= 1) << whenRun;
  }
}

TEST_F(Session, UsesOffsetsOfTheCompiler) {
  static const uint8_t *arena, *sum;
  static fake::Tables tables; // outlive the model, which TearDown frees
  static perpend_module planned;
  planned = module;
  fake::describe(tables);
  tables.entry.offsets = tables.records<int64_t>({128, 0});
  tables.entry.arenaBytes = 128 + 12 * 4;
  tables.finish(planned);
  planned.run = [](perpend_frame *frame) {
    arena = frame->arena;
    sum = frame->arena + frame->offsets[0];
    return fake::run(frame);
  };
  perpend_session_free(session);
  perpend_model_free(model);
  ASSERT_EQ(perpend_model_from_module(&planned, &model), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(sum, arena + 128);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena) % 64, 0u);
  expectResult();
}

TEST_F(Session, RunsModelsWithoutInputsAndOutputs) {
  static int runs = 0;
  perpend_module empty{};
  fake::Tables tables;
  fake::describe(tables, "e");
  tables.finish(empty);
  empty.bind = [](const int64_t *const *, int64_t *, perpend_bind_error *) { return 0; };
  empty.sizes = [](const int64_t *, int64_t *, int64_t *) {};
  empty.run = [](perpend_frame *) {
    ++runs;
    return int32_t{PERPEND_OK};
  };
  perpend_model *emptyModel = nullptr;
  perpend_session *emptySession = nullptr;
  ASSERT_EQ(perpend_model_from_module(&empty, &emptyModel), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_session_create(emptyModel, nullptr, &emptySession), PERPEND_OK);
  EXPECT_EQ(perpend_session_run(emptySession, nullptr, 0, nullptr, 0), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(runs, 1);
  perpend_session_free(emptySession);
  perpend_model_free(emptyModel);
}

TEST_F(Session, SessionsRunConcurrently) {
  auto work = [this](int64_t n) {
    perpend_session *own = nullptr;
    perpend_session_options options{3};
    ASSERT_EQ(perpend_session_create(model, &options, &own), PERPEND_OK);
    std::vector<float> data(static_cast<size_t>(n) * 3, 1.0f);
    int64_t dims[] = {n, 3};
    perpend_tensor in[] = {{data.data(), dims, 2, PERPEND_F32}, {data.data(), dims, 2, PERPEND_F32}}, out[2] = {};
    for (int round = 0; round < 200; ++round) {
      ASSERT_EQ(perpend_session_run(own, in, 2, out, 2), PERPEND_OK) << perpend_error_message();
      for (int64_t i = 0; i < n * 3; ++i)
        ASSERT_EQ(static_cast<float *>(out[0].data)[i], 4.0f);
    }
    perpend_session_free(own);
  };
  std::thread a(work, 300), b(work, 17), c(work, 1000);
  a.join();
  b.join();
  c.join();
}

static std::atomic<bool> isInside, mayLeave;

TEST_F(Session, SecondThreadIsRefused) {
  perpend_module slow = module;
  slow.run = [](perpend_frame *) {
    isInside = true;
    while (!mayLeave)
      std::this_thread::yield();
    return int32_t{PERPEND_OK};
  };
  perpend_model *slowModel = nullptr;
  perpend_session *slowSession = nullptr;
  ASSERT_EQ(perpend_model_from_module(&slow, &slowModel), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(slowModel, nullptr, &slowSession), PERPEND_OK);
  std::thread first([&] { perpend_session_run(slowSession, inputs, 2, outputs, 2); });
  while (!isInside)
    std::this_thread::yield();
  perpend_tensor others[2] = {};
  EXPECT_EQ(perpend_session_run(slowSession, inputs, 2, others, 2), PERPEND_BUSY);
  expectMessage("one thread at a time");
  int64_t timeNs = -1, calls = -1; // the other thread is writing them
  EXPECT_EQ(perpend_session_kernel_profile(slowSession, 0, &timeNs, &calls), PERPEND_BUSY);
  EXPECT_EQ(calls, -1);
  mayLeave = true;
  first.join();
  perpend_session_free(slowSession);
  perpend_model_free(slowModel);
}

// A session of another entry of the same model, here of the same functions.
class SharedSession : public Session {
public:
  void SetUp() override {
    Session::SetUp();
    ASSERT_EQ(perpend_model_entry(model, "main", &entry), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create_shared(entry, session, &other), PERPEND_OK) << perpend_error_message();
  }
  void TearDown() override {
    perpend_session_free(other);
    perpend_model_free(entry);
    Session::TearDown();
  }
  perpend_status runOther() { return perpend_session_run(other, inputs, 2, otherOutputs, 2); }

  perpend_model *entry = nullptr;
  perpend_session *other = nullptr;
  perpend_tensor otherOutputs[2] = {};
};

TEST_F(SharedSession, HasOutputsOfItsOwn) {
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  setBatch(1000); // the arena grows for both
  ASSERT_EQ(runOther(), PERPEND_OK) << perpend_error_message();
  EXPECT_NE(outputs[0].data, otherOutputs[0].data);
  setBatch(4);
  expectResult(); // what the first has computed before
  ASSERT_EQ(run(), PERPEND_OK);
  expectResult();
}

TEST_F(SharedSession, OutputsOfOneAreInputsOfTheOther) {
  ASSERT_EQ(run(), PERPEND_OK);
  inputs[0].data = outputs[0].data;
  ASSERT_EQ(runOther(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(static_cast<float *>(otherOutputs[0].data)[2], 2 * (2 * (2.0f + 1) + 1));
}

TEST_F(SharedSession, LivesLongerThanItsOwner) {
  perpend_session_free(session);
  session = nullptr;
  ASSERT_EQ(runOther(), PERPEND_OK) << perpend_error_message();
  outputs[0] = otherOutputs[0];
  outputs[1] = otherOutputs[1];
  expectResult();
}

TEST_F(SharedSession, IsOfTheSameModel) {
  perpend_model *stranger = nullptr;
  perpend_session *refused = nullptr;
  ASSERT_EQ(perpend_model_from_module(&module, &stranger), PERPEND_OK);
  EXPECT_EQ(perpend_session_create_shared(stranger, session, &refused), PERPEND_INVALID_ARGUMENT);
  expectMessage("session: expected an entry of the other session's model 'fake'");
  perpend_model_free(stranger);
  EXPECT_EQ(perpend_session_create_shared(entry, nullptr, &refused), PERPEND_INVALID_ARGUMENT);
}

TEST_F(SharedSession, OneRunsAtATime) {
  static SharedSession *self;
  static perpend_status inner;
  self = this;
  static const auto original = module.run;
  perpend_module busy = module;
  busy.run = [](perpend_frame *frame) {
    inner = self->runOther();
    return original(frame);
  };
  perpend_model *outer = nullptr;
  perpend_session *first = nullptr;
  ASSERT_EQ(perpend_model_from_module(&busy, &outer), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(outer, nullptr, &first), PERPEND_OK);
  perpend_session_free(other);
  perpend_model_free(entry);
  ASSERT_EQ(perpend_model_entry(outer, "main", &entry), PERPEND_OK);
  ASSERT_EQ(perpend_session_create_shared(entry, first, &other), PERPEND_OK);
  EXPECT_EQ(perpend_session_run(first, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_EQ(inner, PERPEND_BUSY);
  perpend_session_free(first);
  perpend_model_free(outer);
}
