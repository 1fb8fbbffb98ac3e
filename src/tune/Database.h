//===- Database.h - what tuning has found ------------------------*- C++ -*-===//
//
// One file of SQLite. A record is the trace of one kernel on one machine, with
// its time and that of the compiler's own trace in the same runs. Several
// tuners may write at the same time; each record is one transaction. Files of
// versions before this one are read as they are, and changed by whoever writes.
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

/// What a trace was found for.
struct RecordKey {
  std::string structure; ///< what the kernel computes (docs/decisions/0014)
  std::string target;    ///< canonical text: its ISA and numbers
  std::string symbols;   ///< "n=128,t=4"; empty: the kernel has none
  int64_t threads = 1;
};

struct Record {
  RecordKey key;
  std::string kernel; ///< its name, for people
  std::string trace;  ///< a line for each instruction
  /// Median times of a call, and half of the range that holds the middle half of them.
  double seconds = 0, spreadSeconds = 0;
  double defaultSeconds = 0; ///< of the compiler's own trace
  int64_t trials = 0;        ///< that were made for it
  std::string compiler;      ///< version
  std::string primitives;    ///< version of their table (tile/schedule/Primitives.h); empty: not known
  std::string origin;        ///< "evolutionary, seed 1"
  std::string date;          ///< UTC, when it was written; empty: now
  double weight = 1;         ///< how much these values of the symbols count among others
  /// Where the trace was measured with other values of the symbols: its times as parts of the compiler's own there,
  /// "n=16 1.03; n=128 inf".
  std::string elsewhere = {};

  double gain() const { return defaultSeconds / seconds; }
  /// Whether this compiler, with this table of primitives, may have found it.
  bool isOf(llvm::StringRef ofCompiler, llvm::StringRef ofPrimitives) const;
  /// Times are times, and texts are texts.
  bool isWhole() const;
};

/// Of records, those that all of it fits; what is empty fits all.
struct RecordFilter {
  std::optional<double> olderThanSeconds;
  std::string target;
  /// Those of other compilers than this one, or of other primitives.
  std::optional<std::pair<std::string, std::string>> otherThan;
};

class Database {
public:
  /// Opens the file; if it may, makes it, or makes one of this version of it. Errors: it cannot be read, is no database
  /// of Perpend, is damaged, or is one of a later version.
  static llvm::Expected<Database> open(llvm::StringRef path, bool mayCreate);
  /// One without a file.
  static llvm::Expected<Database> inMemory();
  struct Salvaged {
    std::vector<Record> records;
    bool isDamaged = false; ///< then some of them may have been removed before
  };
  /// What can be read of a file that is damaged: whole records. Error: nothing, or another error than damage.
  static llvm::Expected<Salvaged> salvage(llvm::StringRef path);
  Database(Database &&other);
  ~Database();

  /// What has been found now. Keeps the faster of this record and the one that is there, as parts of the compiler's own
  /// time, and this one where that is of another compiler; trials add up. `refuted`: the trace of one that goes, as
  /// forget() says it, in the same transaction; empty: none.
  llvm::Error add(const Record &record, llvm::StringRef refuted = "");
  /// For what other databases have, in any order: of a kernel's records, those of the newest compiler count, of its
  /// primitives that were used last, and the one with the most gain stays; trials add up.
  llvm::Error merge(llvm::ArrayRef<Record> records);
  /// How many there were.
  llvm::Expected<int64_t> remove(const RecordFilter &filter);
  llvm::Expected<std::optional<Record>> find(const RecordKey &key) const;
  /// For any values of the symbols: those of this version of the compiler, if there are any, and of these the ones for
  /// the fewest threads. Those with the most gain first.
  llvm::Expected<std::vector<Record>> findAll(llvm::StringRef structure, llvm::StringRef target) const;
  /// Those for other targets than this one.
  llvm::Expected<std::vector<std::string>> otherTargets(llvm::StringRef structure, llvm::StringRef target) const;
  llvm::Expected<std::vector<Record>> list() const;
  /// The record with this trace is no longer true; nothing where another tuner has found another one.
  llvm::Error forget(const RecordKey &key, llvm::StringRef trace);
  /// Replaces the file by one with what is in this database, once it is whole.
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
  int version; ///< of the tables
};
} // namespace perpend::tune

#endif
