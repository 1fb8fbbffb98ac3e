//===- Database.h - the database of tuning results --------------*- C++ -*-===//
//
// An SQLite file. A record holds the best schedule trace of one kernel for one target, the values of its symbols and a
// number of threads; its time; and the time of the compiler's own schedule in the same runs. Several tuners may write
// at the same time; each add() or merge() is one transaction. Files of older versions can be read unchanged; the first
// writer upgrades them.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_DATABASE_H
#define PERPEND_TUNE_DATABASE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace perpend::tune {

/// The situation that a record applies to.
struct RecordKey {
  std::string structure; ///< canonical text of what the kernel computes (docs/decisions/0014)
  std::string target;    ///< canonical text: its ISA and numbers
  std::string symbols;   ///< "n=128,t=4"; empty: the kernel has none
  int64_t threads = 1;
};

struct Record {
  RecordKey key;
  std::string kernel; ///< its name, for display
  std::string trace;  ///< one line per instruction
  /// Median time of a call, and half of the interquartile range.
  double seconds = 0, spreadSeconds = 0;
  double defaultSeconds = 0; ///< time of the compiler's own trace
  int64_t trials = 0;        ///< number of trials made for it
  std::string compiler;      ///< the compiler's version
  std::string primitives;    ///< version of the primitives (tile/schedule/Primitives.h); empty: unknown
  std::string origin;        ///< "evolutionary, seed 1"
  std::string date;          ///< time of writing, UTC; empty: now
  double weight = 1;         ///< weight of these values of the symbols among others
  /// The trace's times for other values of the symbols, relative to the compiler's own: "n=16 1.03; n=128 inf".
  std::string elsewhere = {};

  double gain() const { return defaultSeconds / seconds; }
  /// Whether this compiler, with these primitives, may have found the record.
  bool isOf(llvm::StringRef ofCompiler, llvm::StringRef ofPrimitives) const;
  /// Whether times are valid times and texts are valid texts.
  bool isWhole() const;
};

/// Selects records that match all fields; an empty field matches everything.
struct RecordFilter {
  std::optional<double> olderThanSeconds;
  std::string target;
  /// Selects records of other compilers than this one, or of other primitives.
  std::optional<std::pair<std::string, std::string>> otherThan;
};

class Database {
public:
  /// Opens the file; with mayCreate, also creates or upgrades it. Errors: it cannot be read, is not a database of
  /// Perpend, is damaged, or has a later version.
  static llvm::Expected<Database> open(llvm::StringRef path, bool mayCreate);
  /// A database without a file.
  static llvm::Expected<Database> inMemory();
  struct Salvaged {
    std::vector<Record> records;
    bool isDamaged = false; ///< if so, some records may have been deleted earlier
  };
  /// Recovers whole records from a damaged file. Error: there are none, or the file is not damaged but unreadable.
  static llvm::Expected<Salvaged> salvage(llvm::StringRef path);
  Database(Database &&other);
  ~Database();

  /// Adds a new result. Keeps the faster of this record and the existing one, relative to the compiler's own time; the
  /// new one if the compiler differs. Trials add up. `refuted`: a trace to remove in the same transaction, as by
  /// forget(); empty: none.
  llvm::Error add(const Record &record, llvm::StringRef refuted = "");
  /// Merges records of other databases, in any order: among a kernel's records, those of the newest compiler and its
  /// latest primitives count, and the one with the most gain is kept; trials add up.
  llvm::Error merge(llvm::ArrayRef<Record> records);
  /// Returns the number of removed records.
  llvm::Expected<int64_t> remove(const RecordFilter &filter);
  llvm::Expected<std::optional<Record>> find(const RecordKey &key) const;
  /// Records for any values of the symbols: preferably of this compiler's version, and among these for the fewest
  /// threads. Sorted by gain, largest first.
  llvm::Expected<std::vector<Record>> findAll(llvm::StringRef structure, llvm::StringRef target) const;
  /// Targets other than this one that have records.
  llvm::Expected<std::vector<std::string>> otherTargets(llvm::StringRef structure, llvm::StringRef target) const;
  llvm::Expected<std::vector<Record>> list() const;
  /// Removes the record if it has this trace; does nothing if another tuner has replaced it.
  llvm::Error forget(const RecordKey &key, llvm::StringRef trace);
  /// Replaces the file by one with this database's contents, atomically.
  llvm::Error writeTo(llvm::StringRef file) const;

private:
  Database(sqlite3 *handle, std::string path);
  static llvm::Expected<Database> connect(llvm::StringRef path, bool mayCreate);
  llvm::Error fail(const llvm::Twine &what) const;
  llvm::Error run(const char *statement) const;
  llvm::Error transaction(llvm::function_ref<llvm::Error()> write) const;
  llvm::Error write(const Record &record) const;
  int read(llvm::StringRef condition, llvm::ArrayRef<std::string> values, std::vector<Record> &records) const;
  llvm::Expected<std::vector<Record>> select(llvm::StringRef condition, llvm::ArrayRef<std::string> values) const;

  sqlite3 *handle;
  std::string path;
  int version; ///< version of the tables
};
} // namespace perpend::tune

#endif
