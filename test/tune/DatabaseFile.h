//===- DatabaseFile.h - a test with a file of records -----------*- C++ -*-===//

#ifndef PERPEND_TEST_TUNE_DATABASEFILE_H
#define PERPEND_TEST_TUNE_DATABASEFILE_H

#include "tune/Database.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sqlite3.h>
#include <unistd.h>

namespace perpend::tune {
namespace fs = std::filesystem;

/// As the first version made it.
inline constexpr const char *versionOne = R"sql(
create table records (
  structure text not null, target text not null, symbols text not null, threads integer not null,
  kernel text not null, trace text not null,
  seconds real not null, spread_seconds real not null, default_seconds real not null, trials integer not null,
  compiler text not null, origin text not null, date text not null,
  primary key (structure, target, symbols, threads)
) without rowid;
insert into records values ('s', 'x86-64-v3,l2=2M', 'n=128,t=4', 2, 'k', '%b = get_block "c"', 0.5, 0.01, 1, 10, '0.1',
  'random, seed 1', '2026-11-23T17:00:00Z');
pragma application_id = 1348825712;
pragma user_version = 1;
)sql";

class DatabaseTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / ("tune" + std::to_string(getpid()));
    fs::create_directories(folder);
    path = (folder / "tuned.db").string();
  }
  void TearDown() override { fs::remove_all(folder); }

  static Record record(const std::string &structure = "0123456789abcdef", double seconds = 0.5) {
    Record record;
    record.key = {structure, "x86-64-v3,l2=2M", "n=128,t=4", 2};
    record.kernel = "matmul_add_0123";
    record.trace = "%b = get_block \"contract\"\n%i, %j = get_loops %b";
    record.seconds = seconds;
    record.spreadSeconds = 0.01;
    record.defaultSeconds = 1;
    record.trials = 10;
    record.compiler = "0.1";
    record.primitives = "feedfacefeedface";
    record.origin = "random, seed 1";
    return record;
  }
  Database opened(bool mayCreate = true) { return llvm::cantFail(Database::open(path, mayCreate)); }
  /// What is wrong; empty: nothing.
  std::string openError(bool mayCreate) {
    llvm::Expected<Database> database = Database::open(path, mayCreate);
    return database ? "" : llvm::toString(database.takeError());
  }
  static std::string add(Database &database, const Record &record) { return llvm::toString(database.add(record)); }
  static std::optional<Record> find(const Database &database, const Record &of) {
    return llvm::cantFail(database.find(of.key));
  }
  /// As another program would.
  void execute(const char *statement) {
    sqlite3 *handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, statement, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  void write(const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  std::string bytes() {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder;
  std::string path;
};
} // namespace perpend::tune

#endif
