//===- Database.cpp - what tuning has found -------------------------------===//

#include "tune/Database.h"

#include "perpend.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

#include <sqlite3.h>

namespace perpend::tune {

/// "Perp" and "dtun": of SQLite's header, and the version of the tables.
static constexpr int applicationId = 0x50657270, tablesVersion = 1;
/// Another tuner's transaction takes much less.
static constexpr int busyMilliseconds = 10000;

static constexpr const char *tables = R"sql(
create table records (
  structure text not null, target text not null, symbols text not null, threads integer not null,
  kernel text not null, trace text not null,
  seconds real not null, spread_seconds real not null, default_seconds real not null, trials integer not null,
  compiler text not null, origin text not null, date text not null,
  primary key (structure, target, symbols, threads)
) without rowid)sql";

static constexpr const char *columns = "structure, target, symbols, threads, kernel, trace, seconds, spread_seconds, "
                                       "default_seconds, trials, compiler, origin, date";

static constexpr const char *hint = "\nhint: `perpend tune MODEL -o FILE` makes a database";

Database::Database(Database &&other) : handle(other.handle), path(std::move(other.path)) { other.handle = nullptr; }
Database::~Database() { sqlite3_close(handle); }

llvm::Error Database::fail(const llvm::Twine &what) const {
  int error = sqlite3_system_errno(handle), code = sqlite3_errcode(handle) & 0xff;
  std::string system = error ? " (" + std::error_code(error, std::generic_category()).message() + ")" : "";
  return llvm::createStringError(
      "the database '" + llvm::Twine(path) + "': " + what + ": " + sqlite3_errmsg(handle) + system +
      (code == SQLITE_FULL || (code == SQLITE_IOERR && !error) ? "\nhint: is the disk full?" : ""));
}

llvm::Error Database::run(const char *statement) const {
  if (sqlite3_exec(handle, statement, nullptr, nullptr, nullptr) != SQLITE_OK)
    return fail("it cannot be written");
  return llvm::Error::success();
}

/// What it says first; empty: it cannot be read.
static std::string pragma(sqlite3 *handle, const char *name) {
  std::string value;
  auto read = [](void *into, int, char **texts, char **) { return *static_cast<std::string *>(into) = texts[0], 0; };
  sqlite3_exec(handle, (llvm::Twine("pragma ") + name).str().c_str(), read, &value, nullptr);
  return value;
}

llvm::Expected<Database> Database::open(llvm::StringRef path, bool mayCreate) {
  bool isThere = llvm::sys::fs::exists(path);
  if (!isThere && !mayCreate)
    return llvm::createStringError("cannot read the database '" + path + "': no such file" + hint);
  sqlite3 *handle = nullptr;
  int flags = SQLITE_OPEN_READWRITE | (mayCreate ? SQLITE_OPEN_CREATE : 0);
  int code = sqlite3_open_v2(path.str().c_str(), &handle, flags, nullptr);
  if (!mayCreate && code != SQLITE_OK) { // it may be one that only others write
    sqlite3_close(handle);
    code = sqlite3_open_v2(path.str().c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
  }
  Database database(handle, path.str());
  if (code != SQLITE_OK)
    return database.fail("it cannot be opened");
  sqlite3_busy_timeout(handle, busyMilliseconds);
  if (mayCreate && sqlite3_db_readonly(handle, "main") == 1)
    return llvm::createStringError("the database '" + path + "' cannot be written: it is read-only");
  // What the header says is of one moment: another tuner may be making the tables.
  sqlite3_exec(handle, mayCreate ? "begin immediate" : "begin", nullptr, nullptr, nullptr);
  auto end = llvm::make_scope_exit([handle] { sqlite3_exec(handle, "rollback", nullptr, nullptr, nullptr); });
  const std::string ours = std::to_string(applicationId);
  std::string version = pragma(handle, "user_version"), application = pragma(handle, "application_id");
  if (application.empty() && sqlite3_errcode(handle) != SQLITE_NOTADB)
    return database.fail("it cannot be read");
  if (application == "0" && version == "0" && mayCreate && pragma(handle, "schema_version") == "0") {
    std::string make = "pragma application_id = " + ours +
                       "; pragma user_version = " + std::to_string(tablesVersion) + ";" + tables + "; commit";
    if (sqlite3_exec(handle, make.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return database.fail("its tables cannot be made");
    return database;
  }
  if (application != ours)
    return llvm::createStringError("'" + path + "' is no database of tuning" + hint);
  if (version != std::to_string(tablesVersion))
    return llvm::createStringError("the database '" + path + "' is of version " + version + ", expected " +
                                   std::to_string(tablesVersion) + "\nhint: tune again into another file");
  if (std::string found = pragma(handle, "quick_check(1)"); found != "ok") // else what is lost would be none
    return llvm::createStringError("the database '" + path +
                                   "' is damaged: " + (found.empty() ? sqlite3_errmsg(handle) : found) +
                                   "\nhint: tune again into another file");
  return database;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

namespace {
/// A statement with its values.
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

  /// SQLITE_ROW, SQLITE_DONE or an error.
  int step() {
    read = 0;
    return statement ? sqlite3_step(statement) : SQLITE_ERROR;
  }

private:
  sqlite3_stmt *statement = nullptr;
  int bound = 0, read = 0;
};
} // namespace

llvm::Error Database::add(const Record &record) {
  if (llvm::Error error = run("begin immediate"))
    return error;
  llvm::Error error = insert(record);
  if (!error)
    error = run("commit");
  if (error)
    sqlite3_exec(handle, "rollback", nullptr, nullptr, nullptr);
  return error;
}

llvm::Error Database::insert(const Record &record) const {
  // The times of two sessions compare as parts of the compiler's own, which both have measured.
  Statement statement(handle,
                      "insert into records (" + std::string(columns) +
                          ") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) "
                          "on conflict do update set trials = trials + excluded.trials");
  statement << record.key.structure << record.key.target << record.key.symbols << record.key.threads << record.kernel
            << record.trace << record.seconds << record.spreadSeconds << record.defaultSeconds << record.trials
            << record.compiler << record.origin;
  if (statement.step() != SQLITE_DONE)
    return fail("a record cannot be written");
  Statement better(handle,
                   "update records set kernel = ?, trace = ?, seconds = ?, spread_seconds = ?, default_seconds "
                   "= ?, compiler = ?, origin = ?, date = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') where structure "
                   "= ? and target = ? and symbols = ? and threads = ? and (compiler <> ? or ? / ? < seconds / "
                   "default_seconds)");
  better << record.kernel << record.trace << record.seconds << record.spreadSeconds << record.defaultSeconds
         << record.compiler << record.origin << record.key.structure << record.key.target << record.key.symbols
         << record.key.threads << record.compiler << record.seconds << record.defaultSeconds;
  if (better.step() != SQLITE_DONE)
    return fail("a record cannot be written");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Record>> Database::select(llvm::StringRef condition,
                                                     llvm::ArrayRef<std::string> values) const {
  Statement statement(handle, ("select " + llvm::Twine(columns) + " from records " + condition).str());
  for (const std::string &value : values)
    statement << value;
  std::vector<Record> records;
  int code;
  while ((code = statement.step()) == SQLITE_ROW) {
    Record &record = records.emplace_back();
    statement >> record.key.structure >> record.key.target >> record.key.symbols >> record.key.threads >>
        record.kernel >> record.trace >> record.seconds >> record.spreadSeconds >> record.defaultSeconds >>
        record.trials >> record.compiler >> record.origin >> record.date;
  }
  if (code != SQLITE_DONE)
    return fail("it cannot be read behind record " + llvm::Twine(records.size()));
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

llvm::Expected<std::optional<Record>> Database::findAny(llvm::StringRef structure, llvm::StringRef target) const {
  return firstOf(
      select("where structure = ? and target = ? order by compiler <> ?, threads, seconds / default_seconds, "
             "symbols limit 1",
             {structure.str(), target.str(), PERPEND_VERSION}));
}

llvm::Error Database::forget(const RecordKey &key) {
  Statement statement(handle, "delete from records where structure = ? and target = ? and symbols = ? and threads = ?");
  statement << key.structure << key.target << key.symbols << key.threads;
  if (statement.step() != SQLITE_DONE)
    return fail("a record cannot be removed");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Record>> Database::list() const { return select("order by kernel, symbols, threads", {}); }
} // namespace perpend::tune
