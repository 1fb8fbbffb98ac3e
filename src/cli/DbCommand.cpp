//===- DbCommand.cpp - perpend db -----------------------------------------===//

#include "cli/Command.h"
#include "cli/TimeText.h"
#include "support/WriteFile.h"
#include "target/TargetInfo.h"
#include "tile/schedule/Primitives.h"
#include "tune/RecordText.h"

#include "perpend.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

namespace perpend::cli {

using Records = std::vector<tune::Record>;

static std::string countOf(size_t count) { return std::to_string(count) + (count == 1 ? " record" : " records"); }

/// Reads records from a database, or from a text written by `perpend db export`.
static llvm::Expected<Records> readRecords(StringRef path) {
  if (!path.ends_with(".json")) {
    llvm::Expected<tune::Database> database = tune::Database::open(path, /*mayCreate=*/false);
    return database ? database->list() : database.takeError();
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read '" + path + "': " + buffer.getError().message());
  llvm::Expected<Records> records = tune::parseRecords((*buffer)->getBuffer());
  return records ? std::move(records)
                 : llvm::createStringError("'" + path + "': " + llvm::toString(records.takeError()));
}

/// Refuses an existing file: its readers and writers would lose it.
static llvm::Error writeDatabase(const Records &records, StringRef output) {
  if (llvm::sys::fs::exists(output))
    return llvm::createStringError("the output '" + output + "' exists\nhint: choose another name");
  llvm::Expected<tune::Database> database = tune::Database::inMemory();
  if (!database)
    return database.takeError();
  if (llvm::Error error = database->merge(records))
    return error;
  return database->writeTo(output);
}

//===----------------------------------------------------------------------===//
// list, export
//===----------------------------------------------------------------------===//

static bool isOfThisCompiler(const tune::Record &record) {
  return record.isOf(PERPEND_VERSION, tile::versionOf(tile::primitives()));
}

static void printRecords(const Records &records, llvm::raw_ostream &out) {
  StringRef target;
  for (const tune::Record &record : records) {
    if (record.key.target != target)
      out << (target.empty() ? "" : "\n") << "target " << record.key.target
          << "\n   gain  time of one  spread  trials  threads  compiler  date        kernel\n";
    target = record.key.target;
    out << llvm::format("%6.2fx %12s %6.0f%% %7lld %8lld  %-8s  %-10s  ", record.gain(),
                        timeText(record.seconds).c_str(), 100 * record.spreadSeconds / record.seconds,
                        static_cast<long long>(record.trials), static_cast<long long>(record.key.threads),
                        (record.compiler + (isOfThisCompiler(record) ? "" : "*")).c_str(),
                        StringRef(record.date).take_front(10).str().c_str())
        << record.kernel << (record.key.symbols.empty() ? "" : " ") << record.key.symbols << "\n";
  }
  if (!llvm::all_of(records, isOfThisCompiler))
    out << "\n* of another version of the compiler or its primitives: `compile` uses them if their traces still "
           "apply\n";
}

static int runList(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> files;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, files, "a database"))
    return *code;
  llvm::Expected<Records> records = readRecords(files[0]);
  if (!records)
    return fail(records.takeError());
  printRecords(*records, llvm::outs());
  llvm::outs() << (records->empty() ? "" : "\n") << countOf(records->size()) << "\n";
  return Good;
}

static int runExport(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> files;
  std::string output = "-";
  list.addOutputFile("o", output, "FILE.json", "the file to write (default: print)");
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, files, "a database"))
    return *code;
  if (!list.checkOutputs(files[0]))
    return UserError;
  llvm::Expected<Records> records = readRecords(files[0]);
  if (!records)
    return fail(records.takeError());
  if (output == "-")
    return tune::printRecords(*records, llvm::outs()), Good;
  if (llvm::Error error =
          support::writeFile(output, [&](llvm::raw_ostream &out) { tune::printRecords(*records, out); }))
    return fail(std::move(error));
  llvm::outs() << "wrote " << output << ": " << countOf(records->size()) << "\n";
  return Good;
}

//===----------------------------------------------------------------------===//
// merge, salvage, prune
//===----------------------------------------------------------------------===//

/// Whether -o names a new database. False: printed.
static bool hasOutput(const std::string &output) {
  if (output.empty())
    fail("no output", "-o FILE.db");
  return !output.empty();
}

static int runMerge(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> files;
  std::string output;
  list.add("o", output, "FILE", "the database to write, a new file");
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, files, "a database", /*mayBeMore=*/true))
    return *code;
  if (!hasOutput(output))
    return UsageError;
  Records all;
  for (const std::string &file : files) {
    llvm::Expected<Records> records = readRecords(file);
    if (!records)
      return fail(records.takeError());
    llvm::append_range(all, *records);
  }
  if (llvm::Error error = writeDatabase(all, output))
    return fail(std::move(error));
  llvm::Expected<Records> written = readRecords(output);
  if (!written)
    return fail(written.takeError());
  llvm::outs() << "wrote " << output << ": " << countOf(written->size()) << ", of " << all.size() << " read\n";
  return Good;
}

static int runSalvage(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> files;
  std::string output;
  list.add("o", output, "FILE", "the database to write, a new file");
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, files, "a database"))
    return *code;
  if (!hasOutput(output))
    return UsageError;
  llvm::Expected<tune::Database::Salvaged> saved = tune::Database::salvage(files[0]);
  if (!saved)
    return fail(saved.takeError());
  if (llvm::Error error = writeDatabase(saved->records, output))
    return fail(std::move(error));
  llvm::outs() << "wrote " << output << ": " << countOf(saved->records.size())
               << (saved->isDamaged ? " saved; they may include removed ones\n"
                                    : ", all of those in the file, which is not damaged\n");
  return Good;
}

/// Parses "30d" or "12h". nullopt: another form.
static std::optional<double> ageOf(StringRef text) {
  int64_t number = 0;
  constexpr double hour = 3600;
  constexpr int64_t most = 100000;
  double unit = text.consume_back("d") ? 24 * hour : text.consume_back("h") ? hour : 0;
  bool isAge = unit > 0 && !text.getAsInteger(10, number) && number >= 0 && number <= most;
  return isAge ? std::optional(unit * static_cast<double>(number)) : std::nullopt;
}

static int runPrune(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> files;
  std::string age, target;
  bool wantsOthers = false;
  list.add("older-than", age, "TIME", "records older than this, such as 30d or 12h");
  list.add("target", target, "NAME", "records for this machine, as in `perpend compile`");
  list.add("other-compilers", wantsOthers, "", "records of other versions of the compiler, or of its primitives");
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, files, "a database"))
    return *code;
  tune::RecordFilter filter;
  if (!age.empty() && !(filter.olderThanSeconds = ageOf(age)))
    return fail("option '--older-than': expected a time such as 30d or 12h, got '" + age + "'"), UsageError;
  if (age.empty() && target.empty() && !wantsOthers)
    return fail("no option selects the records to remove", "--older-than, --target or --other-compilers"), UsageError;
  if (!target.empty()) { // another compiler may know a target that this one does not
    llvm::Expected<target::TargetInfo> info = target::resolveTarget(target);
    filter.target = info ? info->name : target;
    llvm::consumeError(info.takeError());
  }
  if (wantsOthers)
    filter.otherThan.emplace(PERPEND_VERSION, tile::versionOf(tile::primitives()));
  llvm::Expected<tune::Database> database =
      tune::Database::open(files[0], /*mayCreate=*/llvm::sys::fs::exists(files[0]));
  if (!database)
    return fail(database.takeError());
  llvm::Expected<int64_t> removed = database->remove(filter);
  llvm::Expected<Records> left = database->list();
  if (!removed || !left)
    return fail(llvm::joinErrors(removed.takeError(), left.takeError()));
  llvm::outs() << "removed " << countOf(static_cast<size_t>(*removed)) << ", " << left->size() << " left\n";
  return Good;
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static constexpr Command actions[] = {
    {"list", "list the records: gain, time, machine, date", "perpend db list FILE", R"(
A gain is the compiler's own time by that of the record, from the same runs; a spread is half of the range that holds the
middle half of the times.

examples:
  perpend db list tuned.db
)",
     runList},
    {"merge", "put databases together", "perpend db merge FILE... -o NEW", R"(
Of several records of a kernel the one with the most gain stays, among those of the newest compiler, and of its primitives
that were used last; trials add up. The order of files does not count. A FILE that ends in .json is what `perpend db export`
wrote.

examples:
  perpend db merge mine.db yours.db -o ours.db
)",
     runMerge},
    {"export", "write all records as JSON", "perpend db export FILE [-o FILE.json]", R"(
examples:
  perpend db export tuned.db -o tuned.json
  perpend db merge tuned.json -o copy.db
)",
     runExport},
    {"prune", "remove records", "perpend db prune FILE OPTIONS", R"(
A record goes when all of the options that are given fit it.

examples:
  perpend db prune tuned.db --older-than 90d
  perpend db prune tuned.db --target x86-64-v3 --other-compilers
)",
     runPrune},
    {"salvage", "save what can be read of a damaged database", "perpend db salvage FILE -o NEW", R"(
FILE stays as it is. Records of which not all can be read are left out. What had been removed, and lies where nothing has been
written since, may come back: SQLite keeps no note of it that damage spares. A FILE that is not damaged is copied.

examples:
  perpend db salvage tuned.db -o saved.db
)",
     runSalvage},
};

int runDb(const Command &command, ArrayRef<StringRef> arguments) { return runAction(command, actions, arguments); }
} // namespace perpend::cli
