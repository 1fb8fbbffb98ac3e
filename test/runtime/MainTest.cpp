// Runs the executable made of the fake model and libperpend_main.
#include "Npy.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

using namespace perpend::runtime;
namespace fs = std::filesystem;

class Main : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / ("main" + std::to_string(getpid()));
    fs::create_directories(folder);
    float values[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[] = {2, 3};
    NpyError error;
    std::ofstream(folder / "bad.npy") << "text";
    ASSERT_TRUE(writeNpy((folder / "x.npy").c_str(), {values, shape, 2, PERPEND_F32}, error)) << error.message;
  }
  void TearDown() override { fs::remove_all(folder); }
  int run(const std::string &arguments, std::string &output) {
    std::string command = "cd " + folder.string() + " && " FAKE_MAIN_PATH " " + arguments + " 2>&1";
    FILE *pipe = popen(command.c_str(), "r");
    char text[4096];
    output.clear();
    while (size_t bytes = fread(text, 1, sizeof text, pipe))
      output.append(text, bytes);
    return pclose(pipe);
  }
  fs::path folder;
};

TEST_F(Main, RunsAndWritesOutputs) {
  std::string output;
  ASSERT_EQ(run("--input x.npy --input y=x.npy --output-dir out --repeat 3 --threads 2 --profile", output), 0)
      << output;
  EXPECT_NE(output.find("runs: 3"), std::string::npos) << output;
  EXPECT_NE(output.find("z: f32 [2, 3] min 4, mean 14, max 24"), std::string::npos) << output;
  EXPECT_NE(output.find("3 calls  k1_scale"), std::string::npos) << output;
  NpyArray array;
  NpyError error;
  uint8_t *data = nullptr;
  ASSERT_TRUE(readNpy((folder / "out/z.npy").c_str(), array, data, error)) << error.message;
  EXPECT_EQ(array.rank, 2);
  EXPECT_EQ(reinterpret_cast<float *>(data)[5], 24.0f);
  free(data);
}

TEST_F(Main, Help) {
  std::string output;
  EXPECT_EQ(run("--help", output), 0);
  EXPECT_NE(output.find("input  y: f32 [n, 3]"), std::string::npos) << output;
}

TEST_F(Main, ReportsErrors) {
  const char *cases[][2] = {
      {"--input x.npy", "error: input 'y' is missing\nhint: --input y=FILE.npy"},
      {"--input x.npy --input nothing.npy",
       "error: cannot read 'nothing.npy': No such file or directory\nhint: the path"},
      {"--input x.npy --input bad.npy",
       "bad.npy: expected a .npy file, got something else\nhint: save it with numpy.save"},
      {"--input w=x.npy", "expected one of 'x', 'y', got 'w'"},
      {"--input x.npy --input x.npy --input x.npy", "error: the model has 2 inputs, got one more: 'x.npy'"},
      {"--input x.npy --input x=x.npy", "error: input 'x' is given twice"},
      {"--repeat 0", "error: option '--repeat': expected an integer of at least 1, got '0'"},
      {"--repeat", "error: option '--repeat': expected a value (N)"},
      {"--what 1", "error: unknown option '--what'\nhint: --help lists the options"}};
  for (auto &test : cases) {
    std::string output;
    EXPECT_NE(run(test[0], output), 0) << test[0];
    EXPECT_NE(output.find(test[1]), std::string::npos) << output;
  }
}
