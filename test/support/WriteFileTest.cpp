#include "support/WriteFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using perpend::support::writeFile;

namespace {

/// A limit of this process, for as long as the object lives.
class Limit {
public:
  Limit(__rlimit_resource kind, rlim_t value) : kind(kind) {
    getrlimit(kind, &before);
    rlimit changed = before;
    changed.rlim_cur = value;
    setrlimit(kind, &changed);
  }
  ~Limit() { setrlimit(kind, &before); }

private:
  __rlimit_resource kind;
  rlimit before;
};

/// A folder for each test.
class WriteFile : public testing::Test {
protected:
  WriteFile() {
    signal(SIGXFSZ, SIG_IGN);
    (void)sys::fs::createUniqueDirectory("write-file", folder);
  }
  ~WriteFile() override { sys::fs::remove_directories(folder); }

  std::string at(StringRef name) const {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return path.str().str();
  }
  std::string write(StringRef name, StringRef text) const {
    return toString(writeFile(at(name), [&](raw_ostream &file) { file << text; }));
  }
  std::string read(StringRef name) const {
    ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(at(name));
    return file ? (*file)->getBuffer().str() : file.getError().message();
  }
  /// How many entries the folder has.
  size_t count() const {
    std::error_code error;
    size_t entries = 0;
    for (sys::fs::directory_iterator entry(folder, error), end; entry != end && !error; entry.increment(error))
      ++entries;
    return entries;
  }

  SmallString<128> folder;
};

TEST_F(WriteFile, WritesAndReplaces) {
  EXPECT_EQ(write("file", "first, which is longer"), "");
  chmod(at("file").c_str(), 0640);
  EXPECT_EQ(write("file", "second"), "");
  EXPECT_EQ(read("file"), "second");
  EXPECT_EQ(*sys::fs::getPermissions(at("file")), static_cast<sys::fs::perms>(0640));
  EXPECT_EQ(count(), 1u);
}

TEST_F(WriteFile, WhatCannotBeOpenedStays) {
  EXPECT_EQ(write("file", "first"), "");
  std::string message;
  {
    Limit none(RLIMIT_NOFILE, 0);
    message = write("file", "second");
  }
  EXPECT_EQ(message, "cannot write '" + at("file") + "': Too many open files\nhint: choose another file");
  EXPECT_EQ(read("file"), "first");
  EXPECT_EQ(count(), 1u);
}

TEST_F(WriteFile, WhatIsNotWrittenWholeIsNotThere) {
  EXPECT_EQ(write("file", "first"), "");
  {
    Limit small(RLIMIT_FSIZE, 10);
    for (StringRef name : {"file", "new"})
      EXPECT_EQ(write(name, std::string(100, 'a')),
                "cannot write '" + at(name) + "': File too large\nhint: make room, or choose another disk");
  }
  EXPECT_EQ(read("file"), "first");
  EXPECT_EQ(count(), 1u);
}

TEST_F(WriteFile, LinksStay) {
  EXPECT_EQ(write("file", "first"), "");
  ASSERT_EQ(symlink("file", at("link").c_str()), 0);
  ASSERT_EQ(symlink("missing", at("dangling").c_str()), 0);
  {
    Limit small(RLIMIT_FSIZE, 10);
    EXPECT_NE(write("dangling", std::string(100, 'a')), "");
    EXPECT_EQ(count(), 3u);
  }
  EXPECT_EQ(write("link", "second") + write("dangling", "third"), "");
  EXPECT_TRUE(sys::fs::is_symlink_file(at("link")) && sys::fs::is_symlink_file(at("dangling")));
  EXPECT_EQ(read("file") + read("missing"), "secondthird");
}

TEST_F(WriteFile, PipesTakeTheBytes) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  int reader = open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(write("pipe", "text"), "");
  char bytes[8];
  EXPECT_EQ(::read(reader, bytes, sizeof(bytes)), 4);
  close(reader);
  EXPECT_EQ(count(), 1u);
}

TEST_F(WriteFile, TheCureFitsTheReason) {
  EXPECT_EQ(write("missing/file", ""),
            "cannot write '" + at("missing/file") + "': No such file or directory\nhint: the folder must exist");
  EXPECT_EQ(write("", ""), "cannot write '" + at("") + "': Is a directory\nhint: give the name of a file");
  EXPECT_EQ(count(), 0u);
}

} // namespace
