// A model whose weights lie in a file that is mapped: found or not, whole or damaged, cut short before a run and in it.
#include "Checksum.h"
#include "FakeModel.h"
#include "perpend.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;
using namespace perpend::runtime;

static constexpr uint64_t page = PERPEND_SEGMENT_PAGE;

static void expectMessage(const std::string &part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

namespace {

// The fake model with a file of weights: a weight of 2 at the start, and another one pages behind it, which `run` reads
// as well.
class Segments : public testing::Test {
protected:
  static constexpr uint64_t pages = 8, bytes = pages * page;

  void SetUp() override {
    folder = fs::path(testing::TempDir()) / ("segments" + std::to_string(getpid()));
    fs::create_directories(folder);
    weights.assign(bytes / sizeof(float), 2.0f);
    fake::describe(tables);
    tables.segment = {};
    tables.segment.bytes = bytes;
    tables.segment.offset = page;
    tables.segment.fileBytes = page + bytes;
    tables.segment.file = tables.text("fake.weights");
    tables.segment.checksum = crc32c(weights.data(), bytes);
    tables.segment.hasChecksum = 1;
    tables.segment.hasHeader = 1;
    module = fake::makeCode();
    module.weights = nullptr;
    module.weightsBytes = bytes;
    module.segments = &perpend_segment_functions_v1;
    module.run = runFar;
    write();
  }
  void TearDown() override {
    perpend_session_free(session);
    perpend_model_free(model);
    fs::remove_all(folder);
    unsetenv("PERPEND_WEIGHTS");
  }

  fs::path file() { return folder / "fake.weights"; }
  void write() {
    std::ofstream out(file(), std::ios::binary);
    perpend_weights_header header = {};
    memcpy(header.magic, PERPEND_WEIGHTS_MAGIC, sizeof header.magic);
    header.bytes = bytes;
    header.checksum = crc32c(weights.data(), bytes);
    std::vector<char> first(page);
    memcpy(first.data(), &header, sizeof header);
    out.write(first.data(), page);
    out.write(reinterpret_cast<const char *>(weights.data()), bytes);
  }
  perpend_status open() {
    tables.finish(module);
    return perpend_model_from_module_with_weights(&module, folder.c_str(), &model);
  }
  void start() {
    ASSERT_EQ(open(), PERPEND_OK) << perpend_error_message();
    ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  }
  perpend_status run() {
    static float x[] = {1, 2, 3};
    static const int64_t shape[] = {1, 3};
    perpend_tensor inputs[] = {{x, shape, 2, PERPEND_F32}, {x, shape, 2, PERPEND_F32}}, outputs[2] = {};
    perpend_status status = perpend_session_run(session, inputs, 2, outputs, 2);
    z = status == PERPEND_OK ? static_cast<float *>(outputs[0].data)[2] : 0;
    return status;
  }
  void put(uint64_t at, char byte) {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out.put(byte);
  }

  // Cuts `cutFile` short, if one is named, then reads the last weight.
  static int32_t runFar(perpend_frame *frame) {
    if (!cutFile.empty())
      fs::resize_file(cutFile, cutTo);
    const float last = reinterpret_cast<const volatile float *>(frame->weights)[bytes / sizeof(float) - 1];
    const int32_t status = fake::run(frame);
    static_cast<float *>(frame->outputs[0])[2] += last - 2;
    return status;
  }
  static inline std::string cutFile;
  static inline uint64_t cutTo = 0;

  fs::path folder;
  std::vector<float> weights;
  fake::Tables tables;
  perpend_module module;
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  float z = 0;
};

} // namespace

TEST_F(Segments, RunsOnMappedWeights) {
  start();
  ASSERT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(z, 12);
  EXPECT_EQ(perpend_model_verify(model), PERPEND_OK) << perpend_error_message();
}

TEST_F(Segments, AskForLargePages) {
  if (!fs::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this system has pages of one size";
  start();
  std::ifstream maps("/proc/self/smaps");
  std::string line, flags;
  for (bool isOwn = false; flags.empty() && std::getline(maps, line);) {
    isOwn |= line.find(file().string()) != std::string::npos;
    if (isOwn && line.rfind("VmFlags:", 0) == 0)
      flags = line + " ";
  }
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
}

TEST_F(Segments, AMissingFileIsNamedWithThePlaces) {
  fs::remove(file());
  EXPECT_EQ(open(), PERPEND_NOT_FOUND);
  expectMessage("weights: the file 'fake.weights' is missing, looked for as '" + file().string() + "', '");
  expectMessage("hint: ship it beside the model, or name its folder (PERPEND_WEIGHTS)");
}

TEST_F(Segments, TheEnvironmentNamesFolders) {
  tables.finish(module);
  EXPECT_EQ(perpend_model_from_module(&module, &model), PERPEND_NOT_FOUND);
  setenv("PERPEND_WEIGHTS", ("/nonexistent:" + folder.string()).c_str(), 1);
  EXPECT_EQ(perpend_model_from_module(&module, &model), PERPEND_OK) << perpend_error_message();
}

TEST_F(Segments, AnotherFileIsRefusedByItsSizeAndHeader) {
  fs::resize_file(file(), page + bytes - 1);
  EXPECT_EQ(open(), PERPEND_CORRUPT);
  expectMessage("expected 36864 bytes, got 36863; hint: copy the file that was compiled with the model");
  write();
  put(offsetof(perpend_weights_header, checksum), 1);
  EXPECT_EQ(open(), PERPEND_CORRUPT);
  expectMessage("expected weights with checksum");
  write();
  put(0, 'x');
  EXPECT_EQ(open(), PERPEND_CORRUPT);
  expectMessage("got another kind of file");
}

TEST_F(Segments, ASmallFileIsComparedWithItsChecksumWhenItIsLoaded) {
  put(page + 100, 1);
  EXPECT_EQ(open(), PERPEND_CORRUPT);
  expectMessage("weights: the file 'fake.weights': checksum: expected ");
}

TEST_F(Segments, AFileThatIsCutShortBetweenRuns) {
  start();
  ASSERT_EQ(run(), PERPEND_OK);
  for (uint64_t size : {page + bytes - 1, page + 1, uint64_t{0}}) {
    fs::resize_file(file(), size);
    EXPECT_EQ(run(), PERPEND_CORRUPT);
    expectMessage("weights: the file 'fake.weights' was cut short after it had been mapped");
  }
  write(); // and it is whole again
  EXPECT_EQ(run(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(z, 12);
}

TEST_F(Segments, AFileThatIsWrittenAgainBetweenRuns) {
  start();
  put(page, 0); // as it was
  EXPECT_EQ(run(), PERPEND_OK) << perpend_error_message();
  put(page + bytes - 1, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run(), PERPEND_CORRUPT);
    expectMessage("weights: the file 'fake.weights': checksum: expected ");
  }
  write();
  EXPECT_EQ(run(), PERPEND_OK) << perpend_error_message();
}

TEST_F(Segments, AFileThatIsCutShortInARun) {
  start();
  cutFile = file();
  for (uint64_t size : {page + bytes - 1, page + bytes - 4096, page}) {
    cutTo = size;
    EXPECT_EQ(run(), PERPEND_CORRUPT) << size;
    expectMessage("weights: the file 'fake.weights' was cut short ");
    cutFile.clear();
    EXPECT_EQ(run(), PERPEND_CORRUPT) << "the next run";
    perpend_session_free(session);
    perpend_model_free(model);
    write();
    start();
    EXPECT_EQ(run(), PERPEND_OK) << perpend_error_message();
    cutFile = file();
  }
  cutFile.clear();
}

static int otherSignals = 0;

TEST_F(Segments, OtherSignalsGoToTheHandlerThatWasThere) {
  struct sigaction action = {}, before, after;
  action.sa_handler = [](int) { ++otherSignals; };
  sigaction(SIGBUS, &action, &before);
  start();
  module.run = runFar;
  ASSERT_EQ(run(), PERPEND_OK);
  raise(SIGBUS);
  EXPECT_EQ(otherSignals, 1);
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_handler, action.sa_handler) << "the handler is the caller's again behind a run";
  sigaction(SIGBUS, &before, nullptr);
}

TEST_F(Segments, TablesThatFitNoMappingAreRefused) {
  const perpend_segment_record good = tables.segment;
  auto refuses = [&](auto change) {
    fake::Tables other;
    std::swap(tables, other);
    fake::describe(tables);
    tables.segment = good;
    tables.segment.file = tables.text("fake.weights");
    change(tables.segment);
    EXPECT_EQ(open(), PERPEND_CORRUPT);
    expectMessage("tables: segments: expected the format");
  };
  refuses([](perpend_segment_record &segment) { segment.offset = page + 1; });
  refuses([](perpend_segment_record &segment) { segment.position = 64; });
  refuses([](perpend_segment_record &segment) { segment.bytes += 1; });
  refuses([](perpend_segment_record &segment) { segment.fileBytes -= 1; });
  refuses([](perpend_segment_record &segment) { segment.file = UINT32_MAX; });
  refuses([](perpend_segment_record &segment) { segment.position = UINT64_MAX - page + 1; });
}
