//===- Database.h - what tuning has found ------------------------*- C++ -*-===//
//
// One file of SQLite. A record is the trace of one kernel on one machine, with
// its time and that of the compiler's own trace in the same runs. Several
// tuners may write at the same time; each record is one transaction.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_DATABASE_H
#define PERPEND_TUNE_DATABASE_H

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
  std::string origin;        ///< "evolutionary, seed 1"
  std::string date;          ///< UTC, when it was written
};

class Database {
public:
  /// Opens the file, or makes it if it may. Errors: it cannot be read, is no database of Perpend, or is one of another
  /// version.
  static llvm::Expected<Database> open(llvm::StringRef path, bool mayCreate);
  Database(Database &&other);
  ~Database();

  /// Keeps the faster of this record and the one that is there, as parts of the compiler's own time; trials add up.
  llvm::Error add(const Record &record);
  llvm::Expected<std::optional<Record>> find(const RecordKey &key) const;
  /// For any values of the symbols and numbers of threads: one of this version of the compiler, then one for the fewest
  /// threads, then the one with the most gain.
  llvm::Expected<std::optional<Record>> findAny(llvm::StringRef structure, llvm::StringRef target) const;
  llvm::Expected<std::vector<Record>> list() const;
  /// The record is no longer true; nothing where there is none.
  llvm::Error forget(const RecordKey &key);

private:
  Database(sqlite3 *handle, std::string path) : handle(handle), path(std::move(path)) {}
  llvm::Error fail(const llvm::Twine &what) const;
  llvm::Error run(const char *statement) const;
  llvm::Error insert(const Record &record) const;
  llvm::Expected<std::vector<Record>> select(llvm::StringRef condition, llvm::ArrayRef<std::string> values) const;

  sqlite3 *handle;
  std::string path;
};
} // namespace perpend::tune

#endif
