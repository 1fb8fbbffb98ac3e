//===- Settings.cpp - the settings of a model -----------------------------===//

#include "frontend/checkpoint/Settings.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace perpend::checkpoint {
namespace json = llvm::json;

namespace {
struct Names {
  StringRef config, gguf;
};
} // namespace

static constexpr Names table[] = {
#define KEY(NAME, CONFIG, GGUF) {CONFIG, GGUF},
#include "frontend/checkpoint/Keys.def"
};

std::string Settings::nameOf(Key key) const {
  const Names &names = table[static_cast<size_t>(key)];
  return isGguf() ? architecture + "." + names.gguf.str() : names.config.split('|').first.str();
}

const json::Value *Settings::find(Key key) const {
  const Names &names = table[static_cast<size_t>(key)];
  auto lookup = [&](StringRef name) -> const json::Value * {
    const json::Value *value = name.empty() ? nullptr : values.get(name);
    return value && value->kind() != json::Value::Null ? value : nullptr;
  };
  if (isGguf())
    return names.gguf.empty() ? nullptr : lookup(architecture + "." + names.gguf.str());
  for (StringRef name : llvm::split(names.config, '|'))
    if (const json::Value *value = lookup(name))
      return value;
  return nullptr;
}

bool Settings::isNull(Key key) const {
  if (isGguf() || has(key))
    return false;
  return llvm::any_of(llvm::split(table[static_cast<size_t>(key)].config, '|'),
                      [&](StringRef name) { return values.get(name); });
}

std::string shortText(const json::Value &value) {
  constexpr size_t most = 60;
  std::string text = llvm::formatv("{0}", value);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

bool Settings::fail(const llvm::Twine &message) {
  if (error.empty())
    error = message.str();
  return false;
}

void Settings::expect(Key key, StringRef expected) {
  fail("'" + nameOf(key) + "': expected " + expected + ", got " + shortText(*find(key)));
}

std::optional<int64_t> Settings::integer(Key key) {
  constexpr int64_t most = INT32_MAX;
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= 0 && *number <= most)
    return number;
  expect(key, "a whole number from 0 to 2^31 - 1");
  return std::nullopt;
}

int64_t Settings::required(Key key) {
  std::optional<int64_t> number = integer(key);
  if (number.value_or(0) >= 1)
    return *number;
  if (find(key))
    expect(key, "a whole number of at least 1");
  else
    fail("'" + nameOf(key) + "' is missing");
  return 1;
}

std::optional<double> Settings::number(Key key) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value->getAsNumber();
  if (number && std::isfinite(*number))
    return number;
  expect(key, "a number");
  return std::nullopt;
}

bool Settings::flag(Key key, bool otherwise) {
  const json::Value *value = find(key);
  if (!value)
    return otherwise;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  expect(key, "true or false");
  return otherwise;
}

std::string Settings::text(Key key, StringRef otherwise) {
  const json::Value *value = find(key);
  if (!value)
    return otherwise.str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  expect(key, "a text");
  return otherwise.str();
}

const json::Object *Settings::object(Key key) {
  const json::Value *value = find(key);
  if (value && !value->getAsObject())
    expect(key, "an object");
  return value ? value->getAsObject() : nullptr;
}

std::optional<llvm::SmallVector<std::string>> Settings::texts(Key key, int64_t count) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  llvm::SmallVector<std::string> texts;
  if (const json::Array *list = value->getAsArray())
    for (const json::Value &element : *list)
      if (std::optional<StringRef> text = element.getAsString())
        texts.push_back(text->str());
  if (int64_t(texts.size()) == count)
    return texts;
  expect(key, "a list of " + std::to_string(count) + " texts, one for each layer");
  return std::nullopt;
}
} // namespace perpend::checkpoint
