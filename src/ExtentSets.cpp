//===- ExtentSets.cpp - the extents that a tuner measures with ------------===//

#include "ExtentSets.h"

#include "llvm/ADT/SmallVector.h"

#include <cmath>

namespace perpend {

using llvm::StringRef;

namespace {
struct Value {
  int64_t extent = 0;
  double weight = 1;
  bool hasWeight = false;
};
} // namespace

/// "128:2"
static llvm::Expected<Value> parseValue(StringRef text) {
  Value value;
  auto [extent, weight] = text.split(':');
  if (extent.getAsInteger(10, value.extent) || value.extent < 1)
    return llvm::createStringError("expected an extent of at least 1, got '" + extent + "'");
  value.hasWeight = text.contains(':');
  if (value.hasWeight && (weight.getAsDouble(value.weight) || !(value.weight > 0) || std::isinf(value.weight)))
    return llvm::createStringError("expected a weight above 0 behind ':', got '" + weight + "'");
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
  while (sets.size() < values.size())
    sets.push_back(sets.front());
  for (size_t i = 0; i < sets.size(); ++i) {
    const Value &value = values[values.size() > 1 ? i : 0];
    sets[i].symbols[name] = value.extent;
    if (value.hasWeight)
      sets[i].weight = value.weight;
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
