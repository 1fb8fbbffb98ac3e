// Files that change while they are mapped.
#include "support/MappedFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace perpend::support;

namespace {
/// A file of 256 KiB of 'x', gone at the end.
class MappedFile : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> name;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("mapped", "bin", name));
    path = name.str().str();
    std::ofstream(path) << std::string(sizeBytes, 'x');
  }
  void TearDown() override { (void)llvm::sys::fs::remove(path); }

  static constexpr size_t sizeBytes = 256 << 10;
  std::string path;
};

struct sigaction below;
void passOn(int number, siginfo_t *info, void *context) { below.sa_sigaction(number, info, context); }

/// Another library's handler, above the present one.
void installAbove() {
  struct sigaction above = {};
  above.sa_sigaction = passOn;
  above.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &above, &below);
}
} // namespace

TEST_F(MappedFile, HasTheContent) {
  FileWatch watch;
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->getBuffer(), std::string(sizeBytes, 'x'));
  EXPECT_EQ(watch.changedFile(), std::nullopt);
}

TEST_F(MappedFile, WhatWasCutOffReadsAsZeros) {
  FileWatch watch;
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  EXPECT_EQ((*file)->getBuffer()[50], 'x');
  EXPECT_EQ((*file)->getBuffer()[sizeBytes - 1], 0);
  EXPECT_EQ((*file)->getBuffer()[100000], 0);
  EXPECT_EQ(watch.changedFile(), path);
  // As a file of the size before would say nothing.
  (void)llvm::sys::fs::remove(path);
  EXPECT_EQ(watch.changedFile(), path);
}

TEST_F(MappedFile, AWatchSpeaksOfItsFiles) {
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  FileWatch other, own;
  own.add((*file)->getBufferStart() + 1000);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_EQ(own.changedFile(), path);
  EXPECT_EQ(other.changedFile(), std::nullopt);
}

TEST_F(MappedFile, FilesOfOtherThreadsAreOfNoConcern) {
  FileWatch watch;
  std::optional<std::string> known, knownClosed;
  std::thread([&] {
    FileWatch own;
    auto file = mapFile(path);
    ASSERT_TRUE(file);
    std::ofstream(path, std::ios::app) << "more";
    EXPECT_EQ(own.changedFile(), path);
    known = watch.changedFile();
    file->reset();
    EXPECT_EQ(own.changedFile(), path);
    knownClosed = watch.changedFile();
  }).join();
  EXPECT_EQ(known, std::nullopt);
  EXPECT_EQ(knownClosed, std::nullopt);
}

TEST_F(MappedFile, AFileThatWasClosedAgainIsNotForgotten) {
  FileWatch watch;
  {
    auto file = mapFile(path);
    ASSERT_TRUE(file);
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
  }
  EXPECT_EQ(watch.changedFile(), path);
}

TEST_F(MappedFile, AReplacedFileStaysAsItWas) {
  FileWatch watch;
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  std::ofstream(path + ".new") << "other";
  ASSERT_FALSE(llvm::sys::fs::rename(path + ".new", path));
  EXPECT_EQ((*file)->getBuffer().back(), 'x');
  EXPECT_EQ(watch.changedFile(), std::nullopt);
}

TEST(MappedFileDeathTest, OtherBusErrorsEndTheProcess) {
  EXPECT_EXIT(
      {
        FileWatch watch;
        raise(SIGBUS);
        raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFileDeathTest, HandlersThatPassSignalsOnDoNotDoSoForEver) {
  EXPECT_EXIT(
      {
        alarm(20);
        FileWatch first;
        installAbove();
        FileWatch second;
        raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        alarm(20);
        {
          FileWatch watch;
          installAbove();
        }
        FileWatch later;
        raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedFile, ACutFileReadsAsZerosBelowAnotherHandler) {
  struct sigaction before;
  sigaction(SIGBUS, nullptr, &before);
  FileWatch first;
  installAbove();
  FileWatch second;
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  EXPECT_EQ((*file)->getBuffer()[100000], 0);
  EXPECT_EQ(second.changedFile(), path);
  sigaction(SIGBUS, &before, nullptr);
}

/// Of the mapping that begins at an address.
static size_t residentBytes(const void *begin) {
  std::ifstream maps("/proc/self/smaps");
  char start[32];
  snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(begin));
  bool isIt = false;
  for (std::string line; std::getline(maps, line);) {
    isIt |= line.rfind(start, 0) == 0;
    if (isIt && line.rfind("Rss:", 0) == 0)
      return std::stoul(line.substr(4)) * 1024;
  }
  return 0;
}

/// Memory of anybody else's stays what it is.
TEST_F(MappedFile, ForgottenPagesAreReadAgain) {
  auto file = mapFile(path);
  ASSERT_TRUE(file);
  const std::string content = (*file)->getBuffer().str();
  const size_t before = residentBytes((*file)->getBufferStart());
  forgetPages((*file)->getBufferStart(), content.size());
  EXPECT_LT(residentBytes((*file)->getBufferStart()), before);
  EXPECT_EQ((*file)->getBuffer(), content);
  forgetPages(content.data(), content.size());
  EXPECT_EQ((*file)->getBuffer(), content);
}

TEST_F(MappedFile, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(mapFile(path + ".none").getError(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(mapFile("/").getError(), std::errc::is_a_directory);
}
