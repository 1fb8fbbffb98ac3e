//===- Database.cpp - the database of tuning results ----------------------===//

#include "tune/Database.h"

#include "perpend.h"

#include "support/WriteFile.h"
#include "tune/Ranges.h"
#include "tune/SalvagePages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VersionTuple.h"

#include <cmath>
#include <map>
#include <sqlite3.h>
#include <tuple>

namespace perpend::tune {

/// The bytes "Perp" in SQLite's application id, and the version of the tables.
static constexpr int applicationId = 0x50657270, tablesVersion = 3;
/// Transactions of other tuners take much less.
static constexpr int busyMilliseconds = 10000;

static constexpr const char *tables = R"sql(
create table records (
  structure text not null, target text not null, symbols text not null, threads integer not null,
  kernel text not null, trace text not null,
  seconds real not null, spread_seconds real not null, default_seconds real not null, trials integer not null,
  compiler text not null, origin text not null, date text not null,
  primitives text not null default '',
  weight real not null default 1, elsewhere text not null default '',
  primary key (structure, target, symbols, threads)
) without rowid)sql";

/// Columns added by versions 2 and 3.
static constexpr const char *newColumns[] = {"alter table records add column primitives text not null default ''",
                                             "alter table records add column weight real not null default 1; "
                                             "alter table records add column elsewhere text not null default ''"};

/// Values for the columns that older versions lack.
static constexpr const char *laterColumns[] = {"'', 1, ''", "primitives, 1, ''", "primitives, weight, elsewhere"};

static constexpr const char *columns = "structure, target, symbols, threads, kernel, trace, seconds, spread_seconds, "
                                       "default_seconds, trials, compiler, origin, date";

static constexpr const char *hint = "\nhint: `perpend tune MODEL -o FILE` makes a database";

Database::Database(sqlite3 *handle, std::string path) : handle(handle), path(std::move(path)), version(tablesVersion) {}
Database::Database(Database &&other) : handle(other.handle), path(std::move(other.path)), version(other.version) {
  other.handle = nullptr;
}
Database::~Database() { sqlite3_close(handle); }

llvm::Error Database::fail(const llvm::Twine &what) const {
  int error = sqlite3_system_errno(handle), code = sqlite3_errcode(handle) & 0xff;
  std::string system = error ? " (" + std::error_code(error, std::generic_category()).message() + ")" : "";
  auto kind = std::make_error_code(code == SQLITE_BUSY ? std::errc::device_or_resource_busy : std::errc::io_error);
  return llvm::createStringError(
      kind, "the database '" + llvm::Twine(path) + "': " + what + ": " + sqlite3_errmsg(handle) + system +
                (code == SQLITE_FULL || (code == SQLITE_IOERR && !error) ? "\nhint: is the disk full?" : ""));
}

llvm::Error Database::run(const char *statement) const {
  if (sqlite3_exec(handle, statement, nullptr, nullptr, nullptr) != SQLITE_OK)
    return fail("it cannot be written");
  return llvm::Error::success();
}

/// The first result of a pragma; empty if it cannot be read.
static std::string pragma(sqlite3 *handle, const char *name) {
  std::string value;
  auto read = [](void *into, int, char **texts, char **) { return *static_cast<std::string *>(into) = texts[0], 0; };
  sqlite3_exec(handle, (llvm::Twine("pragma ") + name).str().c_str(), read, &value, nullptr);
  return value;
}

/// Sets the version and ends the transaction.
static bool setVersion(sqlite3 *handle, const char *change) {
  std::string statements = change + llvm::formatv("; pragma application_id = {0}; pragma user_version = {1}; commit",
                                                  applicationId, tablesVersion)
                                        .str();
  return sqlite3_exec(handle, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

llvm::Expected<Database> Database::connect(llvm::StringRef path, bool mayCreate) {
  if (!mayCreate && !llvm::sys::fs::exists(path))
    return llvm::createStringError("cannot read the database '" + path + "': no such file" + hint);
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError("the database '" + path + "' is a folder, expected a file" + hint);
  sqlite3 *handle = nullptr;
  int flags = SQLITE_OPEN_READWRITE | (mayCreate ? SQLITE_OPEN_CREATE : 0);
  int code = sqlite3_open_v2(path.str().c_str(), &handle, flags, nullptr);
  if (!mayCreate && code != SQLITE_OK) { // the file may be read-only
    sqlite3_close(handle);
    code = sqlite3_open_v2(path.str().c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
  }
  Database database(handle, path.str());
  if (code != SQLITE_OK) {
    llvm::Error error = database.fail("it cannot be opened");
    const char *hint = mayCreate ? "\nhint: a file in a folder that exists and may be written" : "";
    return llvm::createStringError(llvm::toString(std::move(error)) + hint);
  }
  sqlite3_busy_timeout(handle, busyMilliseconds);
  if (mayCreate && sqlite3_db_readonly(handle, "main") == 1)
    return llvm::createStringError("the database '" + path + "' cannot be written: it is read-only");
  return database;
}

llvm::Expected<Database> Database::open(llvm::StringRef path, bool mayCreate) {
  llvm::Expected<Database> database = connect(path, mayCreate);
  if (!database)
    return database;
  sqlite3 *handle = database->handle;
  // Reads the header in a transaction: another tuner may be creating the tables.
  if (sqlite3_exec(handle, mayCreate ? "begin immediate" : "begin", nullptr, nullptr, nullptr) == SQLITE_BUSY)
    return database->fail("another program writes it for " + llvm::Twine(busyMilliseconds / 1000) + " s");
  auto end = llvm::make_scope_exit([handle] { sqlite3_exec(handle, "rollback", nullptr, nullptr, nullptr); });
  std::string version = pragma(handle, "user_version"), application = pragma(handle, "application_id");
  if (application.empty() && sqlite3_errcode(handle) != SQLITE_NOTADB)
    return database->fail("it cannot be read");
  if (application == "0" && version == "0" && mayCreate && pragma(handle, "schema_version") == "0") {
    if (!setVersion(handle, tables))
      return database->fail("its tables cannot be made");
    return database;
  }
  if (application != std::to_string(applicationId))
    return llvm::createStringError("'" + path + "' is no database of tuning" + hint);
  int &known = database->version;
  if (llvm::StringRef(version).getAsInteger(10, known) || known < 1 || known > tablesVersion)
    return llvm::createStringError(std::make_error_code(std::errc::not_supported),
                                   "the database '" + path + "' is of version " + version + ", expected " +
                                       std::to_string(tablesVersion) + "\nhint: tune again into another file");
  if (std::string found = pragma(handle, "quick_check(1)"); found != "ok") // otherwise a loss would go unnoticed
    return llvm::createStringError("the database '" + path + "' is damaged: " +
                                   (found.empty() ? sqlite3_errmsg(handle) : found.substr(found.rfind('\n') + 1)) +
                                   "\nhint: `perpend db salvage FILE -o NEW` saves what can be read of it");
  if (mayCreate && known < tablesVersion) {
    std::string change = llvm::join(llvm::ArrayRef(newColumns).drop_front(static_cast<size_t>(known) - 1), "; ");
    if (!setVersion(handle, change.c_str()))
      return database->fail("its tables cannot be changed to those of version " + llvm::Twine(tablesVersion));
    known = tablesVersion;
  }
  return database;
}

llvm::Expected<Database> Database::inMemory() {
  llvm::Expected<Database> database = connect(":memory:", /*mayCreate=*/true);
  if (database && !setVersion(database->handle, (llvm::Twine("begin; ") + tables).str().c_str()))
    return database->fail("its tables cannot be made");
  return database;
}

llvm::Error Database::writeTo(llvm::StringRef file) const {
  sqlite3_int64 size = 0;
  std::unique_ptr<unsigned char, void (*)(void *)> bytes(sqlite3_serialize(handle, "main", &size, 0), sqlite3_free);
  if (!bytes)
    return fail("it cannot be read");
  llvm::StringRef text(reinterpret_cast<const char *>(bytes.get()), static_cast<size_t>(size));
  return support::writeFile(file, [&](llvm::raw_ostream &out) { out << text; });
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

namespace {
/// A prepared statement with bound values.
class Statement {
public:
  Statement(sqlite3 *handle, const std::string &text) {
    sqlite3_prepare_v2(handle, text.c_str(), -1, &statement, nullptr);
  }
  Statement(const Statement &) = delete;
  ~Statement() { sqlite3_finalize(statement); }

  Statement &operator<<(const std::string &text) {
    sqlite3_bind_text(statement, ++bound, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement &operator<<(int64_t number) { return sqlite3_bind_int64(statement, ++bound, number), *this; }
  Statement &operator<<(double number) { return sqlite3_bind_double(statement, ++bound, number), *this; }
  Statement &operator>>(std::string &text) {
    const auto *bytes = reinterpret_cast<const char *>(sqlite3_column_text(statement, read));
    text.assign(bytes ? bytes : "", static_cast<size_t>(sqlite3_column_bytes(statement, read)));
    ++read;
    return *this;
  }
  Statement &operator>>(int64_t &number) { return number = sqlite3_column_int64(statement, read++), *this; }
  Statement &operator>>(double &number) { return number = sqlite3_column_double(statement, read++), *this; }

  /// Returns SQLITE_ROW, SQLITE_DONE or an error.
  int step() {
    read = 0;
    return statement ? sqlite3_step(statement) : SQLITE_ERROR;
  }

private:
  sqlite3_stmt *statement = nullptr;
  int bound = 0, read = 0;
};
} // namespace

/// Performs all of the writes, or none.
llvm::Error Database::transaction(llvm::function_ref<llvm::Error()> write) const {
  if (llvm::Error error = run("begin immediate"))
    return error;
  llvm::Error error = write();
  if (!error)
    error = run("commit");
  if (error)
    sqlite3_exec(handle, "rollback", nullptr, nullptr, nullptr);
  return error;
}

bool Record::isOf(llvm::StringRef ofCompiler, llvm::StringRef ofPrimitives) const {
  return compiler == ofCompiler && (primitives.empty() || ofPrimitives.empty() || primitives == ofPrimitives);
}

/// Compares versions numerically: "0.10" is newer than "0.9".
static llvm::VersionTuple versionOf(const Record &record) {
  llvm::VersionTuple version;
  return version.tryParse(record.compiler) ? llvm::VersionTuple() : version;
}

llvm::Error Database::add(const Record &record, llvm::StringRef refuted) {
  return transaction([&]() -> llvm::Error {
    if (llvm::Error error = refuted.empty() ? llvm::Error::success() : forget(record.key, refuted))
      return error;
    llvm::Expected<std::optional<Record>> there = find(record.key);
    if (!there)
      return there.takeError();
    // times of two sessions are compared relative to the compiler's own, which both have measured
    bool stays = *there && record.isOf((*there)->compiler, (*there)->primitives) && (*there)->gain() >= record.gain();
    Record kept = stays ? **there : record;
    if (*there && record.elsewhere.empty()) // from a run with one set of extents and no weight
      kept.weight = (*there)->weight;
    else
      kept.weight = record.weight;
    if (*there && (*there)->trace == record.trace)
      kept.elsewhere = mergedParts((*there)->elsewhere, record.elsewhere);
    kept.trials = record.trials + (*there ? (*there)->trials : 0);
    return write(kept);
  });
}

/// Merges records of the same kernel, in any order. Unknown versions of primitives match any.
static Record mergeOf(llvm::ArrayRef<Record> records) {
  auto age = [](const Record &record) {
    return std::tuple(versionOf(record), record.compiler, !record.primitives.empty(), record.date, record.primitives);
  };
  const Record &newest = *llvm::max_element(records, [&](const auto &a, const auto &b) { return age(a) < age(b); });
  auto rank = [&](const Record &record) {
    return std::tuple(record.isOf(newest.compiler, newest.primitives), record.gain(), record.date, record.primitives,
                      record.trace, record.seconds, record.spreadSeconds, record.origin, record.kernel, record.weight,
                      record.elsewhere);
  };
  Record best = *llvm::max_element(records, [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  best.trials = 0;
  std::map<std::tuple<std::string, std::string, double>, std::string> parts; // of the same trace, latest first
  for (const Record &record : records) {
    best.trials += record.trials;
    if (record.trace == best.trace && record.isOf(best.compiler, best.primitives))
      parts[{record.date, record.elsewhere, record.weight}] = record.elsewhere;
  }
  best.elsewhere.clear();
  for (const auto &[order, text] : parts)
    best.elsewhere = mergedParts(best.elsewhere, text);
  return best;
}

llvm::Error Database::merge(llvm::ArrayRef<Record> records) {
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, std::vector<Record>> all;
  for (const Record &record : records)
    all[{record.key.structure, record.key.target, record.key.symbols, record.key.threads}].push_back(record);
  return transaction([&]() -> llvm::Error {
    for (auto &[key, ofKey] : all) {
      llvm::Expected<std::optional<Record>> there = find(ofKey.front().key);
      if (!there)
        return there.takeError();
      if (*there)
        ofKey.push_back(**there);
      if (llvm::Error error = write(mergeOf(ofKey)))
        return error;
    }
    return llvm::Error::success();
  });
}

/// Replaces the existing record.
llvm::Error Database::write(const Record &record) const {
  Statement statement(
      handle,
      "insert into records (" + std::string(columns) +
          ", primitives, weight, elsewhere) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "coalesce(nullif(?, ''), strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), ?, ?, ?) on conflict do update set kernel "
          "= excluded.kernel, trace = excluded.trace, seconds = excluded.seconds, spread_seconds = "
          "excluded.spread_seconds, default_seconds = excluded.default_seconds, trials = excluded.trials, "
          "compiler = excluded.compiler, origin = excluded.origin, date = excluded.date, primitives = "
          "excluded.primitives, weight = excluded.weight, elsewhere = excluded.elsewhere");
  statement << record.key.structure << record.key.target << record.key.symbols << record.key.threads << record.kernel
            << record.trace << record.seconds << record.spreadSeconds << record.defaultSeconds << record.trials
            << record.compiler << record.origin << record.date << record.primitives << record.weight
            << record.elsewhere;
  if (statement.step() != SQLITE_DONE)
    return fail("a record cannot be written");
  return llvm::Error::success();
}

llvm::Expected<int64_t> Database::remove(const RecordFilter &filter) {
  std::string condition = "true";
  std::vector<std::string> values;
  auto require = [&](const char *text, llvm::ArrayRef<std::string> ofIt) {
    condition += std::string(" and ") + text;
    values.insert(values.end(), ofIt.begin(), ofIt.end());
  };
  if (filter.olderThanSeconds)
    require("date < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?)",
            llvm::formatv("-{0:f0} seconds", *filter.olderThanSeconds).str());
  if (!filter.target.empty())
    require("target = ?", filter.target);
  if (filter.otherThan)
    require("(compiler <> ? or primitives not in ('', ?))", {filter.otherThan->first, filter.otherThan->second});
  Statement statement(handle, "delete from records where " + condition);
  for (const std::string &value : values)
    statement << value;
  if (statement.step() != SQLITE_DONE)
    return fail("records cannot be removed");
  return sqlite3_changes(handle);
}

/// Returns SQLITE_DONE, or the error that followed the records which could be read.
int Database::read(llvm::StringRef condition, llvm::ArrayRef<std::string> values, std::vector<Record> &records) const {
  Statement statement(
      handle, llvm::formatv("select {0}, {1} from records {2}", columns, laterColumns[version - 1], condition).str());
  for (const std::string &value : values)
    statement << value;
  int code;
  while ((code = statement.step()) == SQLITE_ROW) {
    Record &record = records.emplace_back();
    statement >> record.key.structure >> record.key.target >> record.key.symbols >> record.key.threads >>
        record.kernel >> record.trace >> record.seconds >> record.spreadSeconds >> record.defaultSeconds >>
        record.trials >> record.compiler >> record.origin >> record.date >> record.primitives >> record.weight >>
        record.elsewhere;
  }
  return code;
}

llvm::Expected<std::vector<Record>> Database::select(llvm::StringRef condition,
                                                     llvm::ArrayRef<std::string> values) const {
  std::vector<Record> records;
  if (read(condition, values, records) != SQLITE_DONE)
    return fail("it cannot be read after record " + llvm::Twine(records.size()));
  return records;
}

static llvm::Expected<std::optional<Record>> firstOf(llvm::Expected<std::vector<Record>> records) {
  if (!records)
    return records.takeError();
  return records->empty() ? std::optional<Record>() : std::optional(std::move(records->front()));
}

llvm::Expected<std::optional<Record>> Database::find(const RecordKey &key) const {
  return firstOf(
      select("where structure = ? and target = ? and symbols = ? and threads = " + std::to_string(key.threads),
             {key.structure, key.target, key.symbols}));
}

llvm::Expected<std::vector<Record>> Database::findAll(llvm::StringRef structure, llvm::StringRef target) const {
  llvm::Expected<std::vector<Record>> records =
      select("where structure = ? and target = ? order by compiler <> ?, threads, seconds / default_seconds, symbols",
             {structure.str(), target.str(), PERPEND_VERSION});
  if (records)
    llvm::erase_if(*records, [first = records->empty() ? Record() : records->front()](const Record &record) {
      return record.key.threads != first.key.threads ||
             (record.compiler == PERPEND_VERSION) != (first.compiler == PERPEND_VERSION);
    });
  return records;
}

llvm::Error Database::forget(const RecordKey &key, llvm::StringRef trace) {
  Statement statement(handle, "delete from records where structure = ? and target = ? and symbols = ? and threads = ? "
                              "and trace = ?");
  statement << key.structure << key.target << key.symbols << key.threads << trace.str();
  if (statement.step() != SQLITE_DONE)
    return fail("a record cannot be removed");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Record>> Database::list() const {
  return select("order by target, kernel, symbols, threads", {});
}

llvm::Expected<std::vector<std::string>> Database::otherTargets(llvm::StringRef structure,
                                                                llvm::StringRef target) const {
  llvm::Expected<std::vector<Record>> records =
      select("where structure = ? and target <> ?", {structure.str(), target.str()});
  if (!records)
    return records.takeError();
  std::vector<std::string> targets;
  for (const Record &record : *records)
    if (targets.empty() || targets.back() != record.key.target) // sorted by key
      targets.push_back(record.key.target);
  return targets;
}

//===----------------------------------------------------------------------===//
// Damaged files
//===----------------------------------------------------------------------===//

bool Record::isWhole() const {
  auto isPositive = [](double number) { return std::isfinite(number) && number > 0; };
  return !key.structure.empty() && !key.target.empty() && key.threads > 0 && isPositive(seconds) &&
         isPositive(defaultSeconds) && std::isfinite(spreadSeconds) && spreadSeconds >= 0 && trials >= 0 &&
         isPositive(weight) && parseParts(elsewhere) &&
         llvm::all_of(llvm::ArrayRef{&key.structure, &key.target, &key.symbols, &kernel, &trace, &compiler, &primitives,
                                     &origin, &date, &elsewhere},
                      [](const std::string *text) { return llvm::json::isUTF8(*text); });
}

llvm::Expected<Database::Salvaged> Database::salvage(llvm::StringRef path) {
  llvm::Expected<Database> database = open(path, /*mayCreate=*/false);
  if (database) {
    llvm::Expected<std::vector<Record>> records = database->list();
    return records ? Salvaged{std::move(*records)} : llvm::Expected<Salvaged>(records.takeError());
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  std::error_code kind;
  llvm::Error error = llvm::handleErrors(database.takeError(), [&](std::unique_ptr<llvm::StringError> why) {
    kind = why->convertToErrorCode();
    return llvm::Error(std::move(why));
  });
  if (!buffer || kind == std::errc::device_or_resource_busy || kind == std::errc::not_supported)
    return error;
  llvm::consumeError(std::move(error));
  std::vector<Record> records = recordsInPages((*buffer)->getBuffer());
  if (records.empty())
    return llvm::createStringError("nothing of '" + path + "' can be saved: no record in it is whole");
  return Salvaged{std::move(records), /*isDamaged=*/true};
}
} // namespace perpend::tune
