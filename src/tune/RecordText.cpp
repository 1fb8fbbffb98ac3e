//===- RecordText.cpp - tuning records as JSON ----------------------------===//

#include "tune/RecordText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace json = llvm::json;

namespace perpend::tune {

static constexpr llvm::StringLiteral title = "perpend records", hint = "\nhint: `perpend db export FILE` writes it";

/// Calls `visit` with the name and the value of each member except the trace.
template <typename OneRecord, typename Visit> static bool visitMembers(OneRecord &record, Visit visit) {
  return visit("kernel", record.kernel) && visit("structure", record.key.structure) &&
         visit("target", record.key.target) && visit("symbols", record.key.symbols) &&
         visit("threads", record.key.threads) && visit("seconds", record.seconds) &&
         visit("spread_seconds", record.spreadSeconds) && visit("default_seconds", record.defaultSeconds) &&
         visit("trials", record.trials) && visit("compiler", record.compiler) &&
         visit("primitives", record.primitives) && visit("origin", record.origin) && visit("date", record.date) &&
         visit("weight", record.weight) && visit("elsewhere", record.elsewhere);
}

void printRecords(llvm::ArrayRef<Record> records, llvm::raw_ostream &out) {
  json::OStream stream(out, /*IndentSize=*/2);
  auto print = [&](const Record &record) {
    visitMembers(record, [&](llvm::StringRef name, const auto &value) {
      if constexpr (std::is_same_v<decltype(value), const std::string &>)
        stream.attribute(name, json::fixUTF8(value));
      else
        stream.attribute(name, value);
      return true;
    });
    stream.attributeArray("trace", [&] {
      for (llvm::StringRef line : llvm::split(record.trace, '\n'))
        stream.value(json::fixUTF8(line));
    });
  };
  stream.object([&] {
    stream.attributeArray(title, [&] {
      for (const Record &record : records)
        stream.object([&] { print(record); });
    });
  });
  out << "\n";
}

static bool fromJSON(const json::Value &value, Record &record, json::Path path) {
  json::ObjectMapper object(value, path);
  std::vector<std::string> lines;
  auto isLater = [](llvm::StringRef name) { return name == "weight" || name == "elsewhere"; }; // missing in old texts
  if (!object ||
      !visitMembers(record,
                    [&](llvm::StringLiteral name, auto &member) {
                      return isLater(name) ? object.mapOptional(name, member) : object.map(name, member);
                    }) ||
      !object.map("trace", lines))
    return false;
  record.trace = llvm::join(lines, "\n");
  if (!record.isWhole())
    path.report("expected times above 0, a weight above 0, at least one thread, and a structure and a target");
  return record.isWhole();
}

llvm::Expected<std::vector<Record>> parseRecords(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError(llvm::toString(value.takeError()) + hint);
  json::Path::Root root("the text");
  json::ObjectMapper object(*value, root);
  std::vector<Record> records;
  if (!object || !object.map(title, records))
    return llvm::createStringError(llvm::toString(root.getError()) + hint);
  return records;
}
} // namespace perpend::tune
