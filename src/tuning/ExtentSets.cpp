//===- ExtentSets.cpp - the extents that a tuner measures with ------------===//

#include "tuning/ExtentSets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace perpend {

using llvm::StringRef;

namespace {
struct Value {
  int64_t extent = 0;
  double weight = 1;
  bool hasWeight = false;
};
} // namespace

static constexpr double mostWeight = 1e6;

std::string ExtentSet::str() const {
  std::map<StringRef, int64_t> sorted;
  for (const auto &symbol : symbols)
    sorted[symbol.first()] = symbol.second;
  std::string text;
  for (const auto &[name, value] : sorted)
    text += (text.empty() ? "" : ",") + name.str() + "=" + std::to_string(value);
  return text;
}

/// Parses a value with an optional weight, such as "128:2".
static llvm::Expected<Value> parseValue(StringRef text) {
  Value value;
  auto [extent, weight] = text.split(':');
  if (extent.getAsInteger(10, value.extent) || value.extent < 1)
    return llvm::createStringError("expected an extent of at least 1, got '" + extent + "'");
  value.hasWeight = text.contains(':');
  bool isWeight = !weight.getAsDouble(value.weight) && value.weight > 0 && value.weight <= mostWeight;
  if (value.hasWeight && !isWeight)
    return llvm::createStringError("expected a weight above 0, of at most 1000000, behind ':', got '" + weight + "'");
  return value;
}

static llvm::Expected<std::vector<Value>> parseValues(StringRef text) {
  std::vector<Value> values;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    llvm::Expected<Value> value = parseValue(part);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  return values;
}

static llvm::Error addTo(std::vector<ExtentSet> &sets, StringRef name, llvm::ArrayRef<Value> values) {
  if (values.size() > 1 && sets.size() > 1 && values.size() != sets.size())
    return llvm::createStringError("'" + name + "' has " + std::to_string(values.size()) +
                                   " extents, expected as many as another symbol has, " + std::to_string(sets.size()) +
                                   "\nhint: lists go together: n=1,128 and t=128,256 are two sets");
  if (sets.front().symbols.contains(name))
    return llvm::createStringError("'" + name + "' is given twice\nhint: all its extents in one list, n=1,128");
  bool hasWeights = llvm::any_of(values, [](const Value &value) { return value.hasWeight; });
  if (hasWeights && llvm::any_of(sets, [](const ExtentSet &set) { return set.hasWeight; }))
    return llvm::createStringError("'" + name + "' has weights, and another symbol has\nhint: a set has one weight");
  if (hasWeights && values.size() == 1)
    return llvm::createStringError("'" + name + "' has one extent, whose weight means nothing\nhint: n=1:10,128:1");
  while (sets.size() < values.size())
    sets.push_back(sets.front());
  for (size_t i = 0; i < sets.size(); ++i) {
    const Value &value = values[values.size() > 1 ? i : 0];
    sets[i].symbols[name] = value.extent;
    if (hasWeights)
      sets[i].weight = value.weight, sets[i].hasWeight = true;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<ExtentSet>> parseExtentSets(llvm::ArrayRef<std::string> texts) {
  std::vector<ExtentSet> sets(1);
  for (StringRef text : texts) {
    auto [name, list] = text.split('=');
    llvm::Expected<std::vector<Value>> values = parseValues(list);
    if (!values)
      return values.takeError();
    if (llvm::Error error = addTo(sets, name, *values))
      return error;
  }
  return sets;
}
} // namespace perpend
