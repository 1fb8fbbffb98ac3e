//===- RecordFilesTest.cpp - records as text, and of damaged databases ----===//

#include "DatabaseFile.h"

#include "tune/RecordText.h"
#include "tune/SalvagePages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <random>
#include <unistd.h>

using namespace perpend::tune;

namespace {
using RecordFilesTest = DatabaseTest;
} // namespace

/// With one page of nothing, in turn: all records that lie elsewhere are saved, as they were.
TEST_F(RecordFilesTest, Salvage) {
  constexpr size_t page = 4096;
  std::vector<Record> all;
  std::mt19937_64 generator(1);
  for (int i = 0; i < 200; ++i) {
    all.push_back(record(llvm::utohexstr(generator(), /*LowerCase=*/true, 16), 0.1 + i));
    all.back().trace = std::string(100 + i, 'a');
    all.back().date = "2026-11-23T17:00:00Z";
  }
  {
    Database database = opened();
    llvm::cantFail(database.merge(all));
  }
  std::string whole = bytes();
  ASSERT_GT(whole.size(), 20 * page);
  EXPECT_EQ(llvm::cantFail(Database::salvage(path)).records.size(), all.size());
  for (size_t at = 0; at < whole.size(); at += page) {
    std::string damaged = whole;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), page, '\xff');
    write(damaged);
    std::string error = openError(false);
    EXPECT_EQ(llvm::StringRef(error).ends_with("\nhint: `perpend db salvage FILE -o NEW` saves what can be read of it"),
              at > 0)
        << error;
    std::vector<Record> saved = llvm::cantFail(Database::salvage(path)).records;
    EXPECT_GT(saved.size(), all.size() - 20) << "without page " << at / page;
    EXPECT_EQ(saved.size() == all.size(), at == 0);
    for (const Record &one : saved) {
      auto same = [&](const Record &other) {
        return other.key.structure == one.key.structure && other.seconds == one.seconds && other.trace == one.trace;
      };
      EXPECT_TRUE(llvm::any_of(all, same));
    }
    EXPECT_EQ(bytes(), damaged);
  }
  for (int tenths = 5; tenths < 10; ++tenths) { // as of a full disk
    write(whole.substr(0, whole.size() * tenths / 10));
    EXPECT_GT(llvm::cantFail(Database::salvage(path)).records.size(), all.size() * (tenths - 2) / 10);
  }
  write(whole.substr(0, 100));
  EXPECT_EQ(llvm::toString(Database::salvage(path).takeError()),
            "nothing of '" + path + "' can be saved: no record in it is whole");
}

/// Traces fill pages of their own; numbers are of all sizes.
TEST_F(RecordFilesTest, SalvageLongRecords) {
  std::vector<Record> all;
  for (size_t size : {1, 400, 900, 990, 1000, 1010, 1100, 4000, 4090, 4096, 5000, 8192, 20000, 100000}) {
    all.push_back(record("s" + std::to_string(size), 3));
    all.back().trace = std::string(size, 'b');
    all.back().trials = static_cast<int64_t>(size * size * size);
    all.back().spreadSeconds = size == 1 ? 0 : 1.0 / static_cast<double>(size);
    all.back().date = "2026-11-23T17:00:00Z";
  }
  {
    Database database = opened();
    llvm::cantFail(database.merge(all));
  }
  std::vector<Record> saved = recordsInPages(bytes());
  ASSERT_EQ(saved.size(), all.size());
  std::string given, found;
  llvm::raw_string_ostream ofGiven(given), ofFound(found);
  llvm::sort(all, [](const Record &a, const Record &b) { return a.key.structure < b.key.structure; });
  printRecords(all, ofGiven);
  printRecords(saved, ofFound);
  EXPECT_EQ(given, found);
}

/// Whatever the bytes are: no crash, and what is found is whole.
TEST_F(RecordFilesTest, SalvageOfAnything) {
  {
    Database database = opened();
    for (int i = 0; i < 30; ++i)
      EXPECT_EQ(add(database, record("structure " + std::to_string(i))), "");
    Record large = record("large");
    large.trace = std::string(20000, 'c');
    EXPECT_EQ(add(database, large), "");
  }
  std::string whole = bytes();
  std::mt19937 generator(1);
  size_t found = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0)
      damaged.resize(generator() % whole.size());
    for (int i = 0; i < 1 + round % 200; ++i)
      if (!damaged.empty())
        damaged[generator() % damaged.size()] = static_cast<char>(round % 2 ? 0xff : generator());
    for (const Record &one : recordsInPages(damaged)) {
      EXPECT_TRUE(one.isWhole());
      ++found;
    }
  }
  EXPECT_GT(found, 3000U);
}

/// Each cell of each page is the same one, of almost a megabyte, in a chain that goes round in one page: half a
/// terabyte.
TEST_F(RecordFilesTest, ChainsOfAFileMadeToTakeTimeEnd) {
  constexpr size_t pageBytes = 4096, pageCount = 256, cellPlace = 3000, headerBytes = 8;
  // What a row of so many bytes has in its page: sqlite.org/fileformat2.html, 1.6.
  constexpr size_t rowBytes = pageBytes * (pageCount - 2) - 500, least = (pageBytes - 12) * 32 / 255 - 23;
  constexpr size_t local = least + (rowBytes - least) % (pageBytes - 4);
  static_assert(local <= (pageBytes - 12) * 64 / 255 - 23 && cellPlace + 3 + local + 4 <= pageBytes);
  auto number = [](size_t value, int byteCount) {
    std::string text;
    while (byteCount-- > 0)
      text += static_cast<char>(value >> 8 * byteCount);
    return text;
  };
  constexpr size_t cellCount = (cellPlace - headerBytes) / 2;
  std::string page = "\x0a" + number(0, 2) + number(cellCount, 2) + number(0, 3);
  for (size_t i = 0; i < cellCount; ++i)
    page += number(cellPlace, 2);
  page += number(0x808000 | (rowBytes >> 14) << 16 | (rowBytes >> 7 & 0x7f) << 8 | (rowBytes & 0x7f), 3);
  page += number(0, static_cast<int>(local)) + number(pageCount, 4);
  page.resize(pageBytes);
  std::string crafted = std::string(16, '\0') + number(pageBytes, 2);
  crafted.resize(pageBytes);
  for (size_t i = 1; i + 1 < pageCount; ++i)
    crafted += page;
  crafted += number(pageCount, 4); // the last page is followed by itself
  crafted.resize(pageBytes * pageCount);
  alarm(60); // ends the program
  EXPECT_TRUE(recordsInPages(crafted).empty());
  alarm(0);
}

TEST_F(RecordFilesTest, NoHalfRecordIsSaved) {
  {
    Database database = opened();
    llvm::cantFail(database.merge({record("a"), record("b"), record("c"), record("d")}));
  }
  execute("update records set seconds = -1 where structure = 'a'");
  execute("update records set trace = cast(x'ff' as text) where structure = 'b'");
  execute("update records set default_seconds = 9e999 where structure = 'c'");
  std::vector<Record> saved = recordsInPages(bytes());
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved.front().key.structure, "d");
}

/// Pages that are free keep what was in them, which is nobody's any more as long as it is known that they are free.
TEST_F(RecordFilesTest, OnlyWhatIsDamagedIsSearchedForRecords) {
  std::vector<Record> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(record("s" + std::to_string(i)));
  llvm::cantFail(opened().merge(all));
  execute("pragma secure_delete = off; delete from records where structure <> 's0'");
  std::string whole = bytes();
  EXPECT_GT(recordsInPages(whole).size(), 10U);
  EXPECT_EQ(llvm::cantFail(Database::salvage(path)).records.size(), 1U);
  EXPECT_FALSE(llvm::cantFail(Database::salvage(path)).isDamaged);
  execute("pragma user_version = 7");
  EXPECT_EQ(llvm::toString(Database::salvage(path).takeError()), openError(false)) << "it is none that is damaged";
  std::fill_n(whole.begin(), 16, '\xff');
  write(whole);
  EXPECT_GT(llvm::cantFail(Database::salvage(path)).records.size(), 10U);
  EXPECT_TRUE(llvm::cantFail(Database::salvage(path)).isDamaged);
}

TEST_F(RecordFilesTest, SalvageVersionOne) {
  execute(versionOne);
  EXPECT_EQ(llvm::cantFail(Database::salvage(path)).records.size(), 1U);
  EXPECT_EQ(recordsInPages(bytes()).size(), 1U);
}

//===----------------------------------------------------------------------===//
// Files made at once
//===----------------------------------------------------------------------===//

TEST_F(RecordFilesTest, WriteTo) {
  Database database = llvm::cantFail(Database::inMemory());
  EXPECT_EQ(add(database, record()), "");
  EXPECT_EQ(llvm::toString(database.writeTo(path)), "");
  EXPECT_EQ(find(opened(false), record())->trace, record().trace);
  EXPECT_EQ(add(*std::make_unique<Database>(opened()), record("t")), "") << "it is one like others";
  EXPECT_EQ(llvm::toString(database.writeTo((folder / "none" / "t.db").string())),
            "cannot write '" + (folder / "none" / "t.db").string() +
                "': No such file or directory\nhint: the folder must exist");
}

TEST_F(RecordFilesTest, TextRoundTrip) {
  Record odd = record("s", 0.1 + 0.2), plain = record("t");
  odd.spreadSeconds = 1.0 / 3e9;
  odd.trials = (int64_t{1} << 62) + 1;
  odd.kernel = "\"quoted\"\\ \xc3\xa9 \xf0\x9f\x99\x82";
  odd.trace = "%b = get_block \"a\tb\"\n\n%é\n";
  odd.key.symbols = plain.trace = "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  odd.date = plain.date = "2026-11-23T17:00:00Z";
  printRecords({odd, plain}, stream);
  std::vector<Record> read = llvm::cantFail(parseRecords(text));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].trace, odd.trace);
  EXPECT_EQ(read[0].kernel, odd.kernel);
  EXPECT_EQ(read[0].seconds, odd.seconds);
  EXPECT_EQ(read[0].spreadSeconds, odd.spreadSeconds);
  EXPECT_EQ(read[0].trials, odd.trials);
  EXPECT_EQ(read[0].key.threads, odd.key.threads);
  EXPECT_EQ(read[1].trace, "");
  std::string again;
  llvm::raw_string_ostream second(again);
  printRecords(read, second);
  EXPECT_EQ(again, text);
}

TEST_F(RecordFilesTest, TextsThatAreNone) {
  auto error = [](llvm::StringRef text) { return llvm::toString(parseRecords(text).takeError()); };
  std::string text;
  llvm::raw_string_ostream stream(text);
  printRecords({record()}, stream);
  for (const char *wrong :
       {"", "[1]", "{}", "{\"perpend records\": 3}", "{\"perpend records\": [{}]}", "schedule @k {"}) {
    EXPECT_TRUE(llvm::StringRef(error(wrong)).ends_with("\nhint: `perpend db export FILE` writes it")) << error(wrong);
    EXPECT_EQ(llvm::StringRef(error(wrong)).count('\n'), 1U) << error(wrong);
  }
  auto changed = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string copy = text;
    copy.replace(copy.find(from), from.size(), to);
    return error(copy);
  };
  EXPECT_EQ(changed("\"threads\": 2", "\"threads\": 2"), "");
  EXPECT_NE(changed("\"threads\": 2", "\"threads\": 0").find("at least one thread"), std::string::npos);
  EXPECT_NE(changed("\"seconds\": 0.5", "\"seconds\": -0.5").find("times above 0"), std::string::npos);
  EXPECT_EQ(changed("\"seconds\": 0.5", "\"seconds\": \"a\""),
            "expected number at the text.perpend records[0].seconds\nhint: `perpend db export FILE` writes it");
}
