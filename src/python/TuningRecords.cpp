//===- TuningRecords.cpp - transfers tuning records, for Python -----------===//

#include "python/ModelTuning.h"

#include "target/TargetInfo.h"
#include "tune/RecordText.h"

using llvm::StringRef;

namespace perpend::python {

static llvm::Expected<std::string> print(const std::string &path, StringRef structure, StringRef target) {
  llvm::Expected<tune::Database> database = tune::Database::open(path, /*mayCreate=*/false);
  if (!database)
    return database.takeError();
  llvm::Expected<std::vector<tune::Record>> records = database->list();
  if (!records)
    return records.takeError();
  llvm::erase_if(*records, [&](const tune::Record &record) {
    return (!structure.empty() && record.key.structure != structure) ||
           (!target.empty() && record.key.target != target);
  });
  std::string text;
  llvm::raw_string_ostream out(text);
  tune::printRecords(*records, out);
  return text;
}

static std::optional<std::string> textOrError(llvm::Expected<std::string> text, std::string &error) {
  if (text)
    return std::move(*text);
  error = llvm::toString(text.takeError());
  return std::nullopt;
}

std::optional<std::string> exportRecords(const std::string &database, const std::string &structure,
                                         const std::string &target, std::string &error) {
  return textOrError(print(database, structure, target), error);
}

std::optional<std::string> targetName(const std::string &target, std::string &error) {
  llvm::Expected<target::TargetInfo> info = target::resolveTarget(target);
  return textOrError(info ? llvm::Expected<std::string>(info->name) : info.takeError(), error);
}

static bool isOfKey(const tune::Record &record, const tune::RecordKey &key) {
  auto fields = [](const tune::RecordKey &of) { return std::tie(of.structure, of.target, of.symbols, of.threads); };
  return fields(record.key) == fields(key);
}

static const tune::Record *findIn(const std::vector<tune::Record> &records, const tune::RecordKey &key) {
  auto found = llvm::find_if(records, [&](const tune::Record &record) { return isOfKey(record, key); });
  return found == records.end() ? nullptr : &*found;
}

/// Whether the record is unchanged.
static bool isSame(const tune::Record &a, const tune::Record &b) {
  return a.trace == b.trace && a.seconds == b.seconds && a.defaultSeconds == b.defaultSeconds && a.date == b.date &&
         a.elsewhere == b.elsewhere && a.trials == b.trials;
}

/// Adds records like a tuner on this machine.
static llvm::Error add(const std::string &path, const std::string &foundText, const std::string &knownText) {
  llvm::Expected<std::vector<tune::Record>> found = tune::parseRecords(foundText);
  if (!found)
    return found.takeError();
  llvm::Expected<std::vector<tune::Record>> known = tune::parseRecords(knownText);
  if (!known)
    return known.takeError();
  llvm::Expected<tune::Database> database = tune::Database::open(path, /*mayCreate=*/true);
  if (!database)
    return database.takeError();
  for (const tune::Record &record : *found) {
    const tune::Record *before = findIn(*known, record.key);
    if (before && isSame(*before, record)) // others may have refuted it by now
      continue;
    bool isGone = before && before->trace != record.trace;
    if (llvm::Error error = database->add(record, isGone ? before->trace : ""))
      return error;
  }
  for (const tune::Record &record : *known)
    if (!findIn(*found, record.key))
      if (llvm::Error error = database->forget(record.key, record.trace))
        return error;
  return llvm::Error::success();
}

bool addRecords(const std::string &database, const std::string &found, const std::string &known, std::string &error) {
  if (llvm::Error failure = add(database, found, known)) {
    error = llvm::toString(std::move(failure));
    return false;
  }
  return true;
}
} // namespace perpend::python
