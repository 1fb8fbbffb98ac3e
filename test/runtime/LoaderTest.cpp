// Loads real shared objects: through libperpend.so, and directly, so that three copies of the runtime meet.
#include "Pool.h"
#include "perpend.h"
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;
static const std::string modelPath = FAKE_MODEL_PATH;

static void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

static size_t threadCount() {
  auto tasks = fs::directory_iterator("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

static fs::path temporary(const char *name) { return fs::path(testing::TempDir()) / (std::to_string(getpid()) + name); }

TEST(Loader, LoadsAndRuns) {
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_model_load(modelPath.c_str(), &model), PERPEND_OK) << perpend_error_message();
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK);
  perpend_model_free(model);
  std::vector<float> x(300, 1.5f);
  int64_t shape[] = {100, 3};
  perpend_tensor inputs[] = {{x.data(), shape, 2, PERPEND_F32}, {x.data(), shape, 2, PERPEND_F32}}, outputs[2] = {};
  ASSERT_EQ(perpend_session_run(session, inputs, 2, outputs, 2), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(static_cast<float *>(outputs[0].data)[299], 6.0f);
  perpend_session_free(session);
}

TEST(Loader, ReportsWrongFiles) {
  perpend_model *model = nullptr;
  EXPECT_EQ(perpend_model_load("/nonexistent/model.so", &model), PERPEND_NOT_FOUND);
  expectMessage("(no such file)");
  EXPECT_EQ(perpend_model_load("/", &model), PERPEND_NOT_A_MODEL);
  EXPECT_EQ(perpend_model_load(nullptr, &model), PERPEND_INVALID_ARGUMENT);
  fs::path path = temporary("wrong.so");
  std::ofstream(path) << "this is text";
  EXPECT_EQ(perpend_model_load(path.c_str(), &model), PERPEND_NOT_A_MODEL);
  expectMessage("expected an ELF shared object, got something else; hint: load what `perpend compile");
  std::ofstream(path) << "!<arch>\n";
  EXPECT_EQ(perpend_model_load(path.c_str(), &model), PERPEND_NOT_A_MODEL);
  expectMessage("got an archive; hint: link it into a program");
  EXPECT_EQ(perpend_model_load(LIBRARY_PATH, &model), PERPEND_NOT_A_MODEL);
  expectMessage("expected the symbol perpend_module_main");
  fs::remove(path);
}

TEST(Loader, ReportsTruncatedFiles) {
  fs::path path = temporary("truncated.so");
  perpend_model *model = nullptr;
  constexpr uintmax_t loadedBytes = 30000; // the file has more than that in its segments
  for (uintmax_t bytes = 0; bytes < loadedBytes; bytes += bytes < 1000 ? 97 : 4001) {
    fs::copy_file(modelPath, path, fs::copy_options::overwrite_existing);
    fs::resize_file(path, bytes);
    perpend_status status = perpend_model_load(path.c_str(), &model);
    EXPECT_EQ(status, bytes < sizeof(Elf64_Ehdr) ? PERPEND_NOT_A_MODEL : PERPEND_CORRUPT) << bytes;
    if (bytes >= sizeof(Elf64_Ehdr))
      expectMessage("truncated");
  }
  fs::remove(path);
}

TEST(Loader, ReportsAnotherArchitecture) {
  fs::path path = temporary("other.so");
  fs::copy_file(modelPath, path, fs::copy_options::overwrite_existing);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(Elf64_Ehdr, e_machine));
  uint16_t machine = EM_RISCV;
  file.write(reinterpret_cast<char *>(&machine), 2);
  file.close();
  perpend_model *model = nullptr;
  EXPECT_EQ(perpend_model_load(path.c_str(), &model), PERPEND_INCOMPATIBLE);
  expectMessage("got one for riscv");
  fs::remove(path);
}

// Runs a model with the runtime inside its own shared object, in two threads.
static void runDirectly(void *object) {
  auto fromModule = reinterpret_cast<decltype(&perpend_model_from_module)>(dlsym(object, "perpend_model_from_module"));
  auto create = reinterpret_cast<decltype(&perpend_session_create)>(dlsym(object, "perpend_session_create"));
  auto run = reinterpret_cast<decltype(&perpend_session_run)>(dlsym(object, "perpend_session_run"));
  auto freeSession = reinterpret_cast<decltype(&perpend_session_free)>(dlsym(object, "perpend_session_free"));
  auto freeModel = reinterpret_cast<decltype(&perpend_model_free)>(dlsym(object, "perpend_model_free"));
  auto module = reinterpret_cast<const perpend_module *(*)()>(dlsym(object, "perpend_module_main"));
  ASSERT_NE(reinterpret_cast<void *>(run), reinterpret_cast<void *>(&perpend_session_run)) << "not a copy of its own";
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  ASSERT_EQ(fromModule(module(), &model), PERPEND_OK);
  perpend_session_options options{2};
  ASSERT_EQ(create(model, &options, &session), PERPEND_OK);
  std::vector<float> x(30000, 1.0f);
  int64_t shape[] = {10000, 3};
  perpend_tensor inputs[] = {{x.data(), shape, 2, PERPEND_F32}, {x.data(), shape, 2, PERPEND_F32}}, outputs[2] = {};
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(run(session, inputs, 2, outputs, 2), PERPEND_OK);
  EXPECT_EQ(static_cast<float *>(outputs[0].data)[29999], 4.0f);
  freeSession(session);
  freeModel(model);
}

TEST(Loader, CopiesOfTheRuntimeShareOnePoolWhichSurvivesUnloading) {
  fs::path paths[2] = {temporary("a.so"), temporary("b.so")};
  void *objects[2];
  for (int i = 0; i < 2; ++i) {
    fs::copy_file(modelPath, paths[i], fs::copy_options::overwrite_existing);
    objects[i] = dlopen(paths[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(objects[i], nullptr) << dlerror();
  }
  ASSERT_NE(dlsym(objects[0], "perpend_module_main"), dlsym(objects[1], "perpend_module_main"));
  const char *pool = PERPEND_NAME_OF(PERPEND_POOL_SYMBOL);
  ASSERT_NE(dlsym(objects[0], pool), nullptr) << dlerror();
  EXPECT_EQ(dlsym(objects[0], pool), dlsym(objects[1], pool));
  EXPECT_EQ(dlsym(objects[0], pool), dlsym(RTLD_DEFAULT, pool));
  runDirectly(objects[1]); // not the object whose symbol it is, which the loader keeps anyway
  size_t threads = threadCount();
  runDirectly(objects[0]);
  EXPECT_EQ(threadCount(), threads) << "the other copy started threads of its own";
  dlclose(objects[0]);
  dlclose(objects[1]);
  // Once more from the file, whichever of the two held the workers' code.
  for (int i : {1, 0}) {
    objects[i] = dlopen(paths[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    runDirectly(objects[i]);
    EXPECT_EQ(threadCount(), threads);
    dlclose(objects[i]);
  }
  for (auto &path : paths)
    fs::remove(path);
}
