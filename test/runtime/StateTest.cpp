#include "FakeStates.h"
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" const perpend_state_functions perpend_state_functions_v1;

namespace {

void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

/// CRC-32C bit by bit, not the runtime's.
uint32_t crcOf(const char *data, size_t count) {
  uint32_t value = ~0u;
  for (size_t i = 0; i < count; ++i) {
    value ^= static_cast<uint8_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
  }
  return ~value;
}

perpend_module makeModule(fake::Tables &tables) {
  perpend_module module{};
  module.weights = reinterpret_cast<const uint8_t *>(fake::firstCount);
  module.weightsBytes = sizeof fake::firstCount;
  module.bind = fake::bindStates;
  module.sizes = fake::sizesOfStates;
  module.run = fake::runStates;
  module.states = &perpend_state_functions_v1;
  tables.finish(module);
  return module;
}

/// The values of all states of a session.
struct Values {
  std::vector<float> rows;
  int64_t count = 0;
  std::vector<float> ring;
  bool operator==(const Values &) const = default;
};

Values valuesOf(perpend_session *session) {
  perpend_tensor rows{}, count{}, ring{};
  EXPECT_EQ(perpend_session_state(session, 0, &rows), PERPEND_OK);
  EXPECT_EQ(perpend_session_state(session, 1, &count), PERPEND_OK);
  EXPECT_EQ(perpend_session_state(session, 2, &ring), PERPEND_OK);
  auto *first = static_cast<float *>(rows.data), *second = static_cast<float *>(ring.data);
  return {{first, first + rows.shape[0] * 2}, *static_cast<int64_t *>(count.data), {second, second + 4}};
}

class States : public testing::Test {
protected:
  void SetUp() override {
    fake::describeStates(tables);
    module = makeModule(tables);
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  }
  void TearDown() override {
    perpend_session_free(session);
    perpend_model_free(model);
  }
  static perpend_status run(perpend_session *session, std::vector<float> x, int64_t *length = nullptr) {
    int64_t shape[2] = {static_cast<int64_t>(x.size() / 2), 2};
    perpend_tensor input{x.data(), shape, 2, PERPEND_F32}, output{};
    perpend_status status = perpend_session_run(session, &input, 1, &output, 1);
    if (status == PERPEND_OK && length)
      *length = *static_cast<int64_t *>(output.data);
    return status;
  }
  perpend_status run(std::vector<float> x, int64_t *length = nullptr) { return run(session, std::move(x), length); }
  std::vector<char> save(perpend_session *from) {
    int64_t bytes = 0;
    EXPECT_EQ(perpend_session_save(from, nullptr, 0, &bytes), PERPEND_OK) << perpend_error_message();
    std::vector<char> data(static_cast<size_t>(bytes));
    EXPECT_EQ(perpend_session_save(from, data.data(), bytes, &bytes), PERPEND_OK) << perpend_error_message();
    return data;
  }
  perpend_status load(perpend_session *to, const std::vector<char> &data) {
    return perpend_session_load(to, data.data(), static_cast<int64_t>(data.size()));
  }

  fake::Tables tables;
  perpend_module module{};
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
};

TEST_F(States, AreDeclared) {
  ASSERT_EQ(perpend_model_state_count(model), 3);
  EXPECT_STREQ(perpend_model_state(model, 0)->name, "rows");
  EXPECT_EQ(perpend_model_state(model, 0)->dims[0], 8);
  EXPECT_EQ(perpend_model_state(model, 3), nullptr);
  EXPECT_EQ(perpend_model_state(model, -1), nullptr);
  EXPECT_EQ(perpend_model_input_count(model), 1);
  EXPECT_EQ(perpend_model_output_count(model), 1);
}

TEST_F(States, RunsUpdateThem) {
  EXPECT_EQ(valuesOf(session), (Values{{}, 5, {0, 0, 0, 0}}));
  int64_t length = 0;
  ASSERT_EQ(run({1, 2}, &length), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(length, 1);
  ASSERT_EQ(run({3, 4, 5, 6}, &length), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(length, 3);
  EXPECT_EQ(valuesOf(session), (Values{{1, 2, 3, 4, 5, 6}, 7, {0, 1, 3, 0}}));
}

TEST_F(States, ARunWithTheSameShapesSeesTheNewLength) {
  for (int64_t i = 1; i <= 8; ++i) {
    int64_t length = 0;
    ASSERT_EQ(run({1, 2}, &length), PERPEND_OK) << perpend_error_message();
    EXPECT_EQ(length, i);
  }
}

TEST_F(States, ResetGivesTheFirstValuesAgain) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  ASSERT_EQ(perpend_session_reset(session), PERPEND_OK);
  EXPECT_EQ(valuesOf(session), (Values{{}, 5, {0, 0, 0, 0}}));
  ASSERT_EQ(run({7, 8}), PERPEND_OK);
  EXPECT_EQ(valuesOf(session), (Values{{7, 8}, 6, {0, 7, 0, 0}}));
}

TEST_F(States, AForkGoesItsOwnWay) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  perpend_session *fork = nullptr;
  ASSERT_EQ(perpend_session_fork(session, &fork), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(run(fork, {3, 4}), PERPEND_OK);
  EXPECT_EQ(valuesOf(session), (Values{{1, 2}, 6, {0, 1, 0, 0}}));
  EXPECT_EQ(valuesOf(fork), (Values{{1, 2, 3, 4}, 7, {0, 1, 3, 0}}));
  ASSERT_EQ(run({9, 9}), PERPEND_OK);
  EXPECT_EQ(valuesOf(fork), (Values{{1, 2, 3, 4}, 7, {0, 1, 3, 0}}));
  perpend_session_free(fork);
}

TEST_F(States, TruncateForgetsRows) {
  ASSERT_EQ(run({1, 2, 3, 4, 5, 6}), PERPEND_OK);
  EXPECT_EQ(perpend_session_truncate(session, 4), PERPEND_INVALID_ARGUMENT);
  expectMessage("state 'rows': length: expected 0 to 3, got 4");
  EXPECT_EQ(perpend_session_truncate(session, -1), PERPEND_INVALID_ARGUMENT);
  ASSERT_EQ(perpend_session_truncate(session, 1), PERPEND_OK);
  ASSERT_EQ(run({7, 8}), PERPEND_OK);
  EXPECT_EQ(valuesOf(session).rows, (std::vector<float>{1, 2, 7, 8}));
}

TEST_F(States, ARefusedRunLeavesThemAsTheyWere) {
  ASSERT_EQ(run({1, 2, 3, 4}), PERPEND_OK);
  const Values before = valuesOf(session);
  EXPECT_EQ(run(std::vector<float>(14, 1.0f)), PERPEND_SHAPE_MISMATCH);
  expectMessage("state 'rows' needs length + n <= 8, got 9");
  EXPECT_EQ(valuesOf(session), before);
  ASSERT_EQ(run(std::vector<float>(12, 1.0f)), PERPEND_OK) << perpend_error_message();
}

TEST_F(States, ARunThatFailedWhileItOverwroteLosesThem) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  const std::vector<char> saved = save(session);
  EXPECT_EQ(run({-1, 2}), PERPEND_INVALID_DATA);
  EXPECT_EQ(valuesOf(session).rows, (std::vector<float>{1, 2})) << "what only grows, or is computed, stays";
  EXPECT_EQ(valuesOf(session).count, 6);
  EXPECT_EQ(run({1, 2}), PERPEND_STATE_LOST);
  expectMessage("perpend_session_reset");
  int64_t bytes = 0;
  EXPECT_EQ(perpend_session_save(session, nullptr, 0, &bytes), PERPEND_STATE_LOST);
  ASSERT_EQ(load(session, saved), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(run({3, 4}), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(valuesOf(session), (Values{{1, 2, 3, 4}, 7, {0, 1, 3, 0}}));
  EXPECT_EQ(run({-1, 2}), PERPEND_INVALID_DATA);
  ASSERT_EQ(perpend_session_reset(session), PERPEND_OK);
  EXPECT_EQ(run({1, 2}), PERPEND_OK);
}

TEST_F(States, SavedStatesAreReadBack) {
  ASSERT_EQ(run({1, 2, 3, 4}), PERPEND_OK);
  const Values values = valuesOf(session);
  const std::vector<char> saved = save(session);
  perpend_session *other = nullptr;
  ASSERT_EQ(perpend_session_create(model, nullptr, &other), PERPEND_OK);
  ASSERT_EQ(load(other, saved), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(valuesOf(other), values);
  EXPECT_EQ(save(other), saved);
  std::vector<char> tooSmall(saved.size() - 1);
  int64_t bytes = 0;
  EXPECT_EQ(perpend_session_save(session, tooSmall.data(), static_cast<int64_t>(tooSmall.size()), &bytes),
            PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, static_cast<int64_t>(saved.size()));
  perpend_session_free(other);
}

TEST_F(States, DamagedBytesAreRefused) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  const std::vector<char> saved = save(session);
  const Values before = valuesOf(session);
  for (size_t size = 0; size < saved.size(); ++size) {
    auto part = std::make_unique<char[]>(size + 1); // so that a sanitiser sees the end
    memcpy(part.get(), saved.data(), size);
    EXPECT_EQ(perpend_session_load(session, part.get(), static_cast<int64_t>(size)), PERPEND_CORRUPT) << size;
  }
  for (size_t at = 0; at < saved.size(); ++at)
    for (int bit : {0, 7}) {
      std::vector<char> damaged = saved;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_NE(load(session, damaged), PERPEND_OK) << at;
    }
  EXPECT_EQ(perpend_session_load(session, saved.data(), -1), PERPEND_CORRUPT);
  EXPECT_EQ(perpend_session_load(session, nullptr, 8), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(valuesOf(session), before);
}

/// With a checksum that fits, so that the fields themselves are compared.
TEST_F(States, HostileBytesAreRefused) {
  ASSERT_EQ(run({1, 2}), PERPEND_OK);
  const std::vector<char> saved = save(session);
  const Values before = valuesOf(session);
  for (size_t at = 12; at < saved.size(); at += 4)
    for (uint32_t word : {0u, 1u, 2u, 9u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      if (at >= 24 && at < 32)
        continue; // the checksum
      std::vector<char> hostile = saved;
      memcpy(hostile.data() + at, &word, sizeof word);
      const uint32_t checksum = crcOf(hostile.data() + 32, hostile.size() - 32);
      memcpy(hostile.data() + 24, &checksum, sizeof checksum);
      perpend_session *other = nullptr;
      ASSERT_EQ(perpend_session_create(model, nullptr, &other), PERPEND_OK);
      if (load(other, hostile) != PERPEND_OK) // else: other elements, or none less
        EXPECT_EQ(valuesOf(other), (Values{{}, 5, {0, 0, 0, 0}})) << at;
      else
        EXPECT_LE(valuesOf(other).rows.size(), 16u);
      perpend_session_free(other);
    }
  EXPECT_EQ(valuesOf(session), before);
}

TEST_F(States, OfAnotherModelAreRefused) {
  const std::vector<char> saved = save(session);
  fake::Tables others;
  fake::describeStates(others, "3");
  perpend_module smaller = makeModule(others);
  perpend_model *other = nullptr;
  perpend_session *small = nullptr;
  ASSERT_EQ(perpend_model_from_module(&smaller, &other), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(other, nullptr, &small), PERPEND_OK);
  EXPECT_EQ(load(small, saved), PERPEND_OK) << "a smaller capacity is enough";
  ASSERT_EQ(run({1, 2, 3, 4, 5, 6, 7, 8}), PERPEND_OK);
  EXPECT_EQ(load(small, save(session)), PERPEND_SHAPE_MISMATCH);
  expectMessage("state 'rows', dimension 0: expected at most 3, got 4");
  perpend_session_free(small);
  perpend_model_free(other);
}

TEST_F(States, SessionsOfSeveralThreadsAreIndependent) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      perpend_session *own = nullptr;
      ASSERT_EQ(perpend_session_create(model, nullptr, &own), PERPEND_OK);
      const auto value = static_cast<float>(number);
      for (int turn = 0; turn < 200; ++turn) {
        for (int i = 0; i < 8; ++i)
          ASSERT_EQ(run(own, {value, value}), PERPEND_OK) << perpend_error_message();
        ASSERT_EQ(valuesOf(own).rows, std::vector<float>(16, value));
        ASSERT_EQ(perpend_session_reset(own), PERPEND_OK);
      }
      perpend_session_free(own);
    });
  for (std::thread &thread : threads)
    thread.join();
}

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

TEST(LargeStates, TakeMemoryWhenTheyAreWritten) {
  fake::Tables tables;
  fake::describeStates(tables, "8589934592"); // 64 GiB
  perpend_module module = makeModule(tables);
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  const int64_t before = residentBytes();
  ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  float x[2] = {1, 2};
  int64_t shape[2] = {1, 2};
  perpend_tensor input{x, shape, 2, PERPEND_F32}, output{};
  ASSERT_EQ(perpend_session_run(session, &input, 1, &output, 1), PERPEND_OK) << perpend_error_message();
  EXPECT_LT(residentBytes() - before, 16 << 20);
  perpend_session_free(session);
  perpend_model_free(model);
}

/// Of a window: runs read the last 100 rows, of 8 bytes.
class Windows : public States {
protected:
  static constexpr int64_t most = 1 << 22;
  void SetUp() override {
    fake::describeStates(tables, "4194304", 100);
    module = makeModule(tables);
    module.bind = fake::bindManyRows;
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  }

  /// Rows from the length on, of which each has its number twice.
  void extend(perpend_session *of, int64_t from, int64_t to) {
    std::vector<float> rows;
    for (int64_t i = from; i < to; ++i)
      rows.insert(rows.end(), 2, static_cast<float>(i));
    ASSERT_EQ(run(of, std::move(rows)), PERPEND_OK) << perpend_error_message();
  }
  void extend(int64_t from, int64_t to) { extend(session, from, to); }

  /// The first row that is not given back, where all later ones have their values.
  int64_t firstOf(perpend_session *of) {
    perpend_tensor rows{};
    EXPECT_EQ(perpend_session_state(of, 0, &rows), PERPEND_OK);
    auto *values = static_cast<const float *>(rows.data);
    int64_t first = rows.shape[0];
    while (first && values[2 * first - 1] == static_cast<float>(first - 1))
      --first;
    return first;
  }
};

TEST_F(Windows, GiveTheMemoryOfEarlierRowsBack) {
  const int64_t before = residentBytes();
  for (int64_t i = 0; i < most; i += 1 << 14)
    extend(i, i + (1 << 14));
  EXPECT_LT(residentBytes() - before, 2 << 20) << "of 32 MiB";
  const int64_t first = firstOf(session);
  EXPECT_LE(first, most - 100);
  EXPECT_GT(first, most - 100 - 256 - 8192);
}

TEST_F(Windows, KeepAllRowsThatAreReadAtAnyLength) {
  for (int64_t i = 0; i < 40000; i += 61) {
    extend(i, i + 61);
    ASSERT_LE(firstOf(session), std::max<int64_t>(i + 61 - 100, 0));
  }
}

TEST_F(Windows, AreCutBackWhileTheirRowsAreThere) {
  extend(0, 20000);
  const int64_t first = firstOf(session);
  ASSERT_EQ(first, 16384);
  ASSERT_EQ(perpend_session_truncate(session, first + 100), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_session_truncate(session, first + 99), PERPEND_STATE_LOST);
  expectMessage("state 'rows': length: expected 0 or at least 16484, got 16483");
  EXPECT_EQ(firstOf(session), first) << "nothing has changed";
  extend(first + 100, 30000);
  EXPECT_EQ(firstOf(session), 24576);
  ASSERT_EQ(perpend_session_truncate(session, 0), PERPEND_OK) << perpend_error_message();
  extend(0, 300);
  EXPECT_EQ(firstOf(session), 0);
  ASSERT_EQ(perpend_session_truncate(session, 10), PERPEND_OK) << perpend_error_message();
  extend(10, 40000);
  EXPECT_EQ(firstOf(session), 32768);
  ASSERT_EQ(perpend_session_reset(session), PERPEND_OK);
  extend(0, 10);
  EXPECT_EQ(firstOf(session), 0);
}

TEST_F(Windows, AreForkedAndSavedWithoutForgottenRows) {
  extend(0, 1 << 20);
  const int64_t before = residentBytes();
  perpend_session *fork = nullptr, *loaded = nullptr;
  ASSERT_EQ(perpend_session_fork(session, &fork), PERPEND_OK) << perpend_error_message();
  const std::vector<char> saved = save(session);
  EXPECT_LT(saved.size(), 80000u);
  ASSERT_EQ(perpend_session_create(model, nullptr, &loaded), PERPEND_OK);
  extend(loaded, 0, 5);
  ASSERT_EQ(load(loaded, saved), PERPEND_OK) << perpend_error_message();
  EXPECT_LT(residentBytes() - before, 1 << 20) << "of 8 MiB each";
  for (perpend_session *copy : {fork, loaded}) {
    EXPECT_EQ(firstOf(copy), firstOf(session));
    EXPECT_EQ(perpend_session_truncate(copy, 5), PERPEND_STATE_LOST);
    extend(copy, 1 << 20, (1 << 20) + 20000);
    EXPECT_GT(firstOf(copy), 1 << 20);
  }
  EXPECT_EQ(save(session), saved);
  perpend_session_free(loaded);
  perpend_session_free(fork);
}

/// With a checksum that fits: any first row, of which a session may only keep fewer than runs read.
TEST_F(Windows, RefuseRowsThatRunsNeed) {
  extend(0, 20000);
  const std::vector<char> saved = save(session);
  constexpr size_t firstRow = 32 + 16 + 8 + 16; // behind the head, a part, its name and extents
  int64_t first = 0;
  memcpy(&first, saved.data() + firstRow, sizeof first);
  ASSERT_EQ(first, 16384);
  for (int64_t hostile : {int64_t{-1}, int64_t{0}, int64_t{16383}, int64_t{16385}, int64_t{19901}, int64_t{20000},
                          INT64_MAX, INT64_MIN, int64_t{1} << 61}) {
    std::vector<char> changed = saved;
    memcpy(changed.data() + firstRow, &hostile, sizeof hostile);
    const uint32_t checksum = crcOf(changed.data() + 32, changed.size() - 32);
    memcpy(changed.data() + 24, &checksum, sizeof checksum);
    EXPECT_NE(load(session, changed), PERPEND_OK) << hostile;
  }
  EXPECT_EQ(save(session), saved);
}

TEST_F(Windows, AreNotReadByAModelThatReadsAllRows) {
  extend(0, 20000);
  fake::Tables others;
  fake::describeStates(others, "4194304");
  perpend_module whole = makeModule(others);
  perpend_model *other = nullptr;
  perpend_session *own = nullptr;
  ASSERT_EQ(perpend_model_from_module(&whole, &other), PERPEND_OK);
  ASSERT_EQ(perpend_session_create(other, nullptr, &own), PERPEND_OK);
  EXPECT_EQ(load(own, save(session)), PERPEND_SHAPE_MISMATCH);
  expectMessage("state 'rows': expected rows from at most 0 on, got those from 16384 on");
  perpend_session_free(own);
  perpend_model_free(other);
}

TEST(DamagedTables, OfStatesAreRefused) {
  for (perpend_state_record bad : {perpend_state_record{0, 0, 3, 0}, perpend_state_record{0, 9, 1, 0},
                                   perpend_state_record{8, 8, 1, 0}, perpend_state_record{~0ull, 8, 1, 0}}) {
    fake::Tables tables;
    fake::describeStates(tables);
    tables.head.stateFacts = tables.records<perpend_state_record>({{0, 0, 0, 0}, bad, {0, 0, 1, 0}});
    perpend_module module = makeModule(tables);
    perpend_model *model = nullptr;
    perpend_session *session = nullptr;
    ASSERT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
    EXPECT_NE(perpend_session_create(model, nullptr, &session), PERPEND_OK);
    EXPECT_EQ(session, nullptr);
    perpend_model_free(model);
  }
  for (perpend_entry_state_record bad : {perpend_entry_state_record{3, 0}, perpend_entry_state_record{0, 3}}) {
    fake::Tables tables;
    fake::describeStates(tables);
    tables.entry.states = tables.records<perpend_entry_state_record>({bad});
    perpend_module module = makeModule(tables);
    perpend_model *model = nullptr;
    EXPECT_EQ(perpend_model_from_module(&module, &model), PERPEND_CORRUPT);
    expectMessage("tables: entry");
  }
}

} // namespace
