//===- Json.cpp - parses JSON of unknown origin ---------------------------===//

#include "frontend/checkpoint/Json.h"

namespace perpend::checkpoint {
using llvm::StringRef;

static constexpr size_t deepestNesting = 100;

/// The depth of brackets outside of texts.
static size_t nestingOf(StringRef text) {
  size_t depth = 0, deepest = 0;
  bool isText = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char letter = text[i];
    if (letter == '"')
      isText = !isText;
    else if (isText)
      i += letter == '\\';
    else if (letter == '[' || letter == '{')
      deepest = std::max(deepest, ++depth);
    else if (letter == ']' || letter == '}')
      depth -= depth > 0;
  }
  return deepest;
}

std::optional<llvm::json::Object> parseObject(StringRef text, std::string &error) {
  if (nestingOf(text) > deepestNesting) {
    error = "its JSON is nested more than " + std::to_string(deepestNesting) + " deep";
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    error = "its JSON cannot be read: " + llvm::toString(value.takeError());
    return std::nullopt;
  }
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  error = "expected a JSON object";
  return std::nullopt;
}
} // namespace perpend::checkpoint
