//===- DatabaseTest.cpp - what tuning has found ---------------------------===//

#include "DatabaseFile.h"

#include "perpend.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <random>
#include <thread>

using namespace perpend::tune;

TEST_F(DatabaseTest, RoundTrip) {
  Record given = record();
  {
    Database database = opened();
    EXPECT_EQ(add(database, given), "");
  }
  Database database = opened(/*mayCreate=*/false);
  std::optional<Record> found = find(database, given);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key.structure, given.key.structure);
  EXPECT_EQ(found->key.target, given.key.target);
  EXPECT_EQ(found->key.symbols, given.key.symbols);
  EXPECT_EQ(found->key.threads, given.key.threads);
  EXPECT_EQ(found->kernel, given.kernel);
  EXPECT_EQ(found->trace, given.trace);
  EXPECT_EQ(found->seconds, given.seconds);
  EXPECT_EQ(found->spreadSeconds, given.spreadSeconds);
  EXPECT_EQ(found->defaultSeconds, given.defaultSeconds);
  EXPECT_EQ(found->trials, given.trials);
  EXPECT_EQ(found->compiler, given.compiler);
  EXPECT_EQ(found->primitives, given.primitives);
  EXPECT_EQ(found->origin, given.origin);
  ASSERT_EQ(found->date.size(), std::string("2026-11-23T17:00:00Z").size());
  EXPECT_EQ(found->date.back(), 'Z');
}

TEST_F(DatabaseTest, EachPartOfTheKeyCounts) {
  Database database = opened();
  EXPECT_EQ(add(database, record()), "");
  Record others[4] = {record(), record(), record(), record()};
  others[0].key.structure = "fedcba9876543210";
  others[1].key.target = "x86-64-v3";
  others[2].key.symbols = "";
  others[3].key.threads = 1;
  for (const Record &other : others)
    EXPECT_FALSE(find(database, other));
  for (const Record &other : others)
    EXPECT_EQ(add(database, other), "");
  EXPECT_EQ(llvm::cantFail(database.list()).size(), 5U);
}

TEST_F(DatabaseTest, TheFasterOneStays) {
  Database database = opened();
  Record better = record("s", 0.4), worse = record("s", 0.45);
  better.trace = "better";
  worse.trace = "worse";
  EXPECT_EQ(add(database, worse), "");
  EXPECT_EQ(add(database, better), "");
  EXPECT_EQ(find(database, better)->trace, "better");
  EXPECT_EQ(add(database, worse), "");
  EXPECT_EQ(find(database, better)->trace, "better");
  EXPECT_EQ(find(database, better)->trials, 30);
  // On a machine with twice the speed that day: of its own 0.2, this gained less.
  worse.seconds = 0.09;
  worse.defaultSeconds = 0.2;
  EXPECT_EQ(add(database, worse), "");
  EXPECT_EQ(find(database, better)->trace, "better");
  EXPECT_EQ(find(database, better)->seconds, 0.4);
}

TEST_F(DatabaseTest, AnotherCompilersRecordIsReplaced) {
  Database database = opened();
  Record old = record("s", 0.4), now = record("s", 0.9);
  now.compiler = "0.2";
  now.trace = "now";
  EXPECT_EQ(add(database, old), "");
  EXPECT_EQ(add(database, now), "");
  EXPECT_EQ(find(database, now)->trace, "now");
  EXPECT_EQ(find(database, now)->compiler, "0.2");
  EXPECT_EQ(find(database, now)->seconds, 0.9);
}

TEST_F(DatabaseTest, AnotherTableOfPrimitivesIsAnotherCompiler) {
  Database database = opened();
  Record old = record("s", 0.4), now = record("s", 0.9);
  old.primitives = "";
  EXPECT_EQ(add(database, old), "");
  EXPECT_EQ(add(database, now), "");
  EXPECT_EQ(find(database, now)->seconds, 0.4) << "nobody knows that they are others";
  old.primitives = "0123456789abcdef";
  EXPECT_EQ(add(database, record("t", 0.4)), "");
  old.key.structure = "t";
  old.seconds = 0.7;
  EXPECT_EQ(add(database, old), "");
  EXPECT_EQ(find(database, old)->seconds, 0.7);
  EXPECT_EQ(find(database, old)->primitives, old.primitives);
}

TEST_F(DatabaseTest, TheNewestCompilersRecordStaysInAMerge) {
  Record old = record("s", 0.4), now = record("s", 0.9), better = record("s", 0.8), later = record("s", 0.95);
  old.compiler = "0.9.2";
  now.compiler = better.compiler = later.compiler = "0.10";
  old.date = "2026-12-01T00:00:00Z";
  now.date = better.date = "2026-11-01T00:00:00Z";
  later.primitives = "0123456789abcdef";
  later.date = "2026-11-02T00:00:00Z";
  std::vector<Record> records = {old, now, better, later};
  auto merged = [](const std::vector<Record> &list) {
    Database database = llvm::cantFail(Database::inMemory());
    llvm::cantFail(database.merge(list));
    return *llvm::cantFail(database.find(list.front().key));
  };
  for (bool isReversed : {false, true}) {
    std::vector<Record> given(records.begin(), records.begin() + 3);
    if (isReversed)
      std::reverse(given.begin(), given.end());
    EXPECT_EQ(merged(given).seconds, 0.8);
    EXPECT_EQ(merged(given).date, better.date) << "not that of the merge";
    EXPECT_EQ(merged(given).trials, 30);
    std::vector<Record> pair = {isReversed ? later : better, isReversed ? better : later};
    EXPECT_EQ(merged(pair).seconds, 0.95) << "of one version, with other primitives: the last";
  }
}

/// Records of which each two that follow one another differ in what decides, and many that only another one tells
/// apart.
TEST_F(DatabaseTest, TheOrderOfAMergeDoesNotCount) {
  auto made = [](const char *compiler, const char *primitives, double seconds, const char *date, const char *origin) {
    Record one = record("s", seconds);
    one.compiler = compiler, one.primitives = primitives, one.date = date, one.origin = origin;
    return one;
  };
  const std::vector<std::vector<Record>> sets = {
      {made("0.2", "p", 0.5, "2026-01-01", "a"), made("0.2", "q", 0.8, "2026-01-02", "b"),
       made("0.2", "p", 0.9, "2026-01-03", "c"), made("0.1", "p", 0.1, "2026-01-04", "d")},
      {made("0.2", "p", 0.5, "2026-01-01", "a"), made("0.2", "q", 0.8, "2026-01-02", "b"),
       made("0.2", "", 0.7, "2026-01-03", "c"), made("0.2", "", 0.9, "2026-01-03", "d")},
      {made("0.2", "", 0.5, "2026-01-01", "a"), made("0.2", "", 0.5, "2026-01-01", "b"),
       made("0.2", "q", 0.5, "2026-01-01", "c"), made("0.2", "p", 0.5, "2026-01-01", "a")}};
  const char *winners[] = {"a", "c", "c"};
  for (auto [records, winner] : llvm::zip(sets, winners)) {
    std::vector<size_t> order = {0, 1, 2, 3};
    std::string first;
    do {
      Database database = llvm::cantFail(Database::inMemory());
      std::vector<Record> given;
      for (size_t i : order) {
        given.push_back(records[i]);
        Record other = records[i]; // of another kernel: where it lies in the file does not depend on it, either
        other.key.structure = "t" + std::to_string(i);
        given.push_back(other);
      }
      llvm::cantFail(database.merge(given));
      EXPECT_EQ(find(database, records[0])->origin, winner);
      EXPECT_EQ(find(database, records[0])->trials, 40);
      fs::remove(path);
      llvm::cantFail(database.writeTo(path));
      first = first.empty() ? bytes() : first;
      EXPECT_EQ(bytes(), first) << "of " << winner;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_F(DatabaseTest, AMergeIsWholeOrNothing) {
  Database database = opened();
  execute("create trigger t before insert on records when new.structure = 'b' begin select raise(abort, 'no'); end");
  EXPECT_NE(llvm::toString(database.merge({record("a"), record("b")})), "");
  EXPECT_EQ(llvm::cantFail(database.list()).size(), 0U);
  EXPECT_EQ(llvm::toString(database.merge({record("a"), record("c")})), "");
  EXPECT_EQ(llvm::cantFail(database.list()).size(), 2U);
}

TEST_F(DatabaseTest, Remove) {
  Record old = record("old"), other = record("other"), elsewhere = record("elsewhere"), unknown = record("unknown");
  old.date = "2020-01-01T00:00:00Z";
  other.compiler = "0.2";
  elsewhere.key.target = "x86-64";
  elsewhere.primitives = "0123456789abcdef";
  unknown.primitives = "";
  auto left = [&](const RecordFilter &filter) {
    Database database = llvm::cantFail(Database::inMemory());
    llvm::cantFail(database.merge({old, other, elsewhere, unknown}));
    int64_t removed = llvm::cantFail(database.remove(filter));
    std::vector<std::string> structures;
    for (const Record &record : llvm::cantFail(database.list()))
      structures.push_back(record.key.structure);
    EXPECT_EQ(removed + structures.size(), 4U);
    llvm::sort(structures);
    return llvm::join(structures, " ");
  };
  EXPECT_EQ(left({.olderThanSeconds = 3600, .target = "", .otherThan = {}}), "elsewhere other unknown");
  EXPECT_EQ(left({.olderThanSeconds = 1e10, .target = "", .otherThan = {}}), "elsewhere old other unknown");
  EXPECT_EQ(left({.olderThanSeconds = {}, .target = "x86-64", .otherThan = {}}), "old other unknown");
  std::pair<std::string, std::string> now = {old.compiler, old.primitives};
  EXPECT_EQ(left({.olderThanSeconds = {}, .target = "", .otherThan = now}), "old unknown");
  EXPECT_EQ(left({.olderThanSeconds = {}, .target = "x86-64", .otherThan = now}), "old other unknown");
  EXPECT_EQ(left({.olderThanSeconds = {}, .target = "", .otherThan = {}}), "");
}

TEST_F(DatabaseTest, OtherTargets) {
  Database database = opened();
  for (const char *target : {"b", "a", "c"})
    for (int64_t threads : {1, 2}) {
      Record one = record("s");
      one.key.target = target;
      one.key.threads = threads;
      EXPECT_EQ(add(database, one), "");
    }
  EXPECT_EQ(llvm::cantFail(database.otherTargets("s", "b")), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(llvm::cantFail(database.otherTargets("t", "b")), std::vector<std::string>());
}

TEST_F(DatabaseTest, TheOneWithTheMostGain) {
  Database database = opened();
  Record slow = record("s", 0.9), fast = record("s", 5);
  fast.key.symbols = "n=1000,t=4";
  fast.defaultSeconds = 10;
  EXPECT_EQ(add(database, slow), "");
  EXPECT_EQ(add(database, fast), "");
  EXPECT_EQ(llvm::cantFail(database.findAll("s", fast.key.target)).front().key.symbols, fast.key.symbols);
  EXPECT_TRUE(llvm::cantFail(database.findAll("s", "x86-64-v4")).empty());
  EXPECT_TRUE(llvm::cantFail(database.findAll("t", fast.key.target)).empty());
}

TEST_F(DatabaseTest, OfThisCompilerAndFewThreadsFirst) {
  Database database = opened();
  Record records[3] = {record("s", 0.1), record("s", 0.2), record("s", 0.3)};
  records[0].compiler = "0.0.1";
  records[1].compiler = records[2].compiler = PERPEND_VERSION;
  records[0].key.threads = records[2].key.threads = 1;
  for (int i : {0, 1, 2}) {
    records[i].key.symbols = "n=" + std::to_string(i + 1);
    EXPECT_EQ(add(database, records[i]), "");
    EXPECT_EQ(llvm::cantFail(database.findAll("s", records[i].key.target)).front().key.symbols, records[i].key.symbols);
  }
  EXPECT_EQ(llvm::cantFail(database.findAll("s", records[0].key.target)).size(), 1U) << "others do not compare";
  records[2].key.symbols = "n=7";
  EXPECT_EQ(add(database, records[2]), "");
  EXPECT_EQ(llvm::cantFail(database.findAll("s", records[0].key.target)).size(), 2U) << "of other extents";
}

TEST_F(DatabaseTest, WhatIsForgotten) {
  Database database = opened();
  Record other = record();
  other.key.threads = 7;
  EXPECT_EQ(add(database, record()), "");
  EXPECT_EQ(add(database, other), "");
  EXPECT_FALSE(database.forget(record().key, record().trace));
  EXPECT_FALSE(find(database, record()));
  EXPECT_TRUE(find(database, other));
  EXPECT_FALSE(database.forget(record().key, record().trace)) << "it is not there";
}

TEST_F(DatabaseTest, WhatIsRefutedGoesWithTheNewOneOrNot) {
  Database database = opened();
  Record known = record("s", 0.1), found = record("s", 0.5);
  known.trace = "known", found.trace = "found";
  EXPECT_EQ(add(database, known), "");
  execute("create trigger t before insert on records begin select raise(abort, 'no'); end");
  EXPECT_NE(llvm::toString(database.add(found, "known")), "");
  EXPECT_EQ(find(database, known)->trace, "known");
  execute("drop trigger t");
  EXPECT_EQ(llvm::toString(database.add(found, "known")), "");
  EXPECT_EQ(find(database, known)->trace, "found") << "though it gains less";
  EXPECT_EQ(find(database, known)->trials, found.trials);
}

TEST_F(DatabaseTest, TextsAreValues) {
  Database database = opened();
  Record odd = record("'; drop table records; --");
  odd.kernel = std::string("a\0b", 3);
  odd.trace = "\"'\n%\xc3\xa9";
  EXPECT_EQ(add(database, odd), "");
  EXPECT_EQ(find(database, odd)->kernel, odd.kernel);
  EXPECT_EQ(find(database, odd)->trace, odd.trace);
}

TEST_F(DatabaseTest, ManyWriteAtOnce) {
  constexpr int writers = 4, each = 10;
  std::vector<std::thread> threads;
  std::vector<std::string> errors(writers);
  for (int writer = 0; writer < writers; ++writer)
    threads.emplace_back([&, writer] {
      Database database = opened(); // all make it, too
      for (int i = 0; i < each; ++i) {
        errors[writer] += add(database, record("of " + std::to_string(writer) + " " + std::to_string(i)));
        errors[writer] += add(database, record("of all", 1 - 0.01 * (i + writer)));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(writers));
  Database database = opened(false);
  EXPECT_EQ(llvm::cantFail(database.list()).size(), writers * each + 1U);
  std::optional<Record> shared = find(database, record("of all"));
  EXPECT_EQ(shared->trials, 10 * writers * each);
  EXPECT_DOUBLE_EQ(shared->seconds, 1 - 0.01 * (each + writers - 2));
}

TEST_F(DatabaseTest, ManyMakeItAtOnce) {
  constexpr int rounds = 50, tuners = 4;
  for (int round = 0; round < rounds; ++round) {
    fs::remove(path);
    std::vector<std::thread> threads;
    std::vector<std::string> errors(tuners);
    for (std::string &error : errors)
      threads.emplace_back([&] { error = openError(true); });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(errors, std::vector<std::string>(tuners)) << "in round " << round;
  }
}

TEST_F(DatabaseTest, ARecordIsThereOrNot) {
  Database database = opened();
  Record first = record("s", 0.9), better = record("s", 0.5);
  EXPECT_EQ(add(database, first), "");
  execute("create trigger t before update of trace on records begin select raise(abort, 'no'); end");
  EXPECT_NE(add(database, better), "");
  EXPECT_EQ(find(database, first)->seconds, 0.9);
  EXPECT_EQ(find(database, first)->trials, 10) << "nothing of what failed is there";
  execute("drop trigger t");
  EXPECT_EQ(add(database, better), "");
  EXPECT_EQ(find(database, first)->trials, 20);
}

//===----------------------------------------------------------------------===//
// Files that are no database
//===----------------------------------------------------------------------===//

TEST_F(DatabaseTest, NoSuchFile) {
  EXPECT_EQ(openError(false), "cannot read the database '" + path +
                                  "': no such file\nhint: `perpend tune MODEL -o FILE` makes a database");
  EXPECT_FALSE(fs::exists(path));
  path = (folder / "none" / "tuned.db").string();
  EXPECT_EQ(openError(true),
            "the database '" + path +
                "': it cannot be opened: unable to open database file (No such file or directory)\nhint: a "
                "file in a folder that exists and may be written");
  path = folder.string();
  for (bool mayCreate : {true, false})
    EXPECT_EQ(openError(mayCreate), "the database '" + path +
                                        "' is a folder, expected a file\nhint: `perpend tune MODEL -o FILE` makes a "
                                        "database");
}

TEST_F(DatabaseTest, NoDatabase) {
  std::string message = "'" + path + "' is no database of tuning\nhint: `perpend tune MODEL -o FILE` makes a database";
  for (const std::string &text : {std::string("schedule @k {\n}\n"), std::string(5000, 'x'), std::string(100, '\0')}) {
    write(text);
    for (bool mayCreate : {true, false})
      EXPECT_EQ(openError(mayCreate), message);
    EXPECT_EQ(bytes(), text) << "it stays what it is";
  }
}

TEST_F(DatabaseTest, AnEmptyFile) {
  write("");
  EXPECT_NE(openError(false), "");
  EXPECT_EQ(openError(true), ""); // as `mktemp` makes it
  EXPECT_EQ(openError(false), "");
}

TEST_F(DatabaseTest, AnotherProgramsDatabase) {
  execute("create table bookmarks (title text); insert into bookmarks values ('a')");
  std::string before = bytes();
  for (bool mayCreate : {true, false})
    EXPECT_EQ(openError(mayCreate),
              "'" + path + "' is no database of tuning\nhint: `perpend tune MODEL -o FILE` makes a database");
  EXPECT_EQ(bytes(), before);
}

TEST_F(DatabaseTest, AnotherVersion) {
  (void)opened();
  execute("pragma user_version = 7");
  for (bool mayCreate : {true, false})
    EXPECT_EQ(openError(mayCreate),
              "the database '" + path + "' is of version 7, expected 3\nhint: tune again into another file");
}

TEST_F(DatabaseTest, VersionOneIsReadAsItIs) {
  execute(versionOne);
  std::string before = bytes();
  Record found = *find(opened(false), record("s"));
  EXPECT_EQ(found.trace, "%b = get_block \"c\"");
  EXPECT_EQ(found.date, "2026-11-23T17:00:00Z");
  EXPECT_EQ(found.primitives, "");
  EXPECT_EQ(bytes(), before);
}

TEST_F(DatabaseTest, VersionOneIsChangedByWhoWrites) {
  execute(versionOne);
  Database reader = opened(false);
  EXPECT_EQ(add(*std::make_unique<Database>(opened()), record("t", 0.7)), "");
  Database database = opened(false);
  std::vector<Record> records = llvm::cantFail(database.list());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(find(database, record("s"))->seconds, 0.5);
  EXPECT_EQ(find(database, record("s"))->primitives, "");
  EXPECT_EQ(find(database, record("t"))->primitives, record().primitives);
  EXPECT_EQ(llvm::cantFail(reader.list()).size(), 2U) << "who has opened it before can still read it";
}

TEST_F(DatabaseTest, VersionTwo) {
  execute(versionOne);
  execute("alter table records add column primitives text not null default 'p'; pragma user_version = 2");
  EXPECT_EQ(find(opened(false), record("s"))->primitives, "p");
  EXPECT_EQ(find(opened(false), record("s"))->weight, 1);
  Record found = record("t");
  found.weight = 3, found.elsewhere = "n=1,t=2 1.5 1";
  EXPECT_EQ(add(*std::make_unique<Database>(opened()), found), "");
  Database database = opened(false);
  EXPECT_EQ(find(database, record("s"))->primitives, "p");
  EXPECT_EQ(find(database, record("s"))->elsewhere, "");
  EXPECT_EQ(find(database, found)->weight, 3);
  EXPECT_EQ(find(database, found)->elsewhere, found.elsewhere);
}

TEST_F(DatabaseTest, WhatATraceTakesElsewhereIsLearntLater) {
  Database database = opened();
  Record found = record(), other = record();
  EXPECT_EQ(add(database, found), "");
  found.elsewhere = "n=1,t=2 1.5 1";
  EXPECT_EQ(add(database, found), "");
  EXPECT_EQ(find(database, found)->elsewhere, found.elsewhere);
  other.trace = "another", other.seconds = 0.9, other.elsewhere = "n=1,t=2 0.1 1";
  EXPECT_EQ(add(database, other), "");
  EXPECT_EQ(find(database, found)->elsewhere, "n=1,t=2 1.5 1") << "of the trace that stays";
}

TEST_F(DatabaseTest, VersionOneIsChangedAsAWholeOrNot) {
  execute(versionOne);
  execute("alter table records add column primitives text"); // so that another cannot be added
  std::string before = bytes();
  EXPECT_EQ(openError(true), "the database '" + path +
                                 "': its tables cannot be changed to those of version 3: duplicate column name: "
                                 "primitives");
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(find(opened(false), record("s"))->seconds, 0.5);
}

TEST_F(DatabaseTest, ManyChangeVersionOneAtOnce) {
  for (int round = 0; round < 20; ++round) {
    fs::remove(path);
    execute(versionOne);
    std::vector<std::thread> threads;
    std::vector<std::string> errors(4);
    for (std::string &error : errors)
      threads.emplace_back([&] { error = openError(true); });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(errors, std::vector<std::string>(4)) << "in round " << round;
  }
}

TEST_F(DatabaseTest, WithoutItsTable) {
  (void)opened();
  execute("drop table records");
  Database database = opened();
  EXPECT_EQ(add(database, record()),
            "the database '" + path + "': it cannot be read after record 0: no such table: records");
  std::string message = llvm::toString(database.list().takeError());
  EXPECT_EQ(message, "the database '" + path + "': it cannot be read after record 0: no such table: records");
}

/// Whatever the bytes are, there are records or one error.
TEST_F(DatabaseTest, DamagedFiles) {
  {
    Database database = opened();
    for (int i = 0; i < 60; ++i)
      EXPECT_EQ(add(database, record("structure " + std::to_string(i))), "");
  }
  std::string whole = bytes();
  std::mt19937 generator(1);
  int errors = 0;
  for (int round = 0; round < 150; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0)
      damaged.resize(generator() % whole.size());
    else
      for (int i = 0; i < 1 + round % 40; ++i)
        damaged[generator() % damaged.size()] = static_cast<char>(generator());
    fs::remove(path + "-journal");
    write(damaged);
    llvm::Expected<Database> database = Database::open(path, /*mayCreate=*/round % 2);
    auto count = [&](llvm::Error error) {
      std::string message = llvm::toString(std::move(error));
      errors += !message.empty();
      EXPECT_TRUE(message.empty() || message.find(path) != std::string::npos) << message;
    };
    if (!database) {
      count(database.takeError());
      continue;
    }
    llvm::Expected<std::vector<Record>> list = database->list();
    count(list ? llvm::Error::success() : list.takeError());
    auto any = database->findAll("structure 3", record().key.target);
    count(any ? llvm::Error::success() : any.takeError());
    count(database->add(record("another")));
  }
  EXPECT_GT(errors, 50);
}

TEST_F(DatabaseTest, AFileThatMayNotBeWritten) {
  {
    Database database = opened();
    EXPECT_EQ(add(database, record()), "");
  }
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  uid_t user = geteuid();
  if (user == 0)
    ASSERT_EQ(seteuid(65534), 0); // nobody: root may write anything
  EXPECT_EQ(openError(true), "the database '" + path + "' cannot be written: it is read-only");
  EXPECT_TRUE(find(opened(false), record()));
  ASSERT_EQ(seteuid(user), 0);
}

TEST_F(DatabaseTest, AnotherProgramHoldsIt) {
  (void)opened();
  sqlite3 *handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "begin exclusive", nullptr, nullptr, nullptr), SQLITE_OK);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    sqlite3_exec(handle, "commit", nullptr, nullptr, nullptr);
  });
  Database database = opened(); // waits
  EXPECT_EQ(add(database, record()), "");
  ends.join();
  sqlite3_close(handle);
}
