//===- DimensionNames.cpp - symbols of the inputs' dimensions -------------===//

#include "support/DimensionNames.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::support {

bool isUnnamed(llvm::StringRef dimension) {
  llvm::StringRef text = dimension.trim();
  auto isSign = [](char letter) { return llvm::isPrint(letter) && !llvm::isAlnum(letter); };
  if (text.starts_with("unk__") || llvm::all_of(text, isSign))
    return true;
  if (text.consume_front("-"))
    return llvm::all_of(text, llvm::isDigit);
  // Exporters number some of them: unknown_3.
  llvm::StringRef word = text.rtrim("_0123456789");
  static constexpr llvm::StringLiteral nothings[] = {"none", "null", "nil", "unk", "unknown", "undefined", "n/a"};
  return llvm::any_of(nothings, [&](llvm::StringRef nothing) { return word.equals_insensitive(nothing); });
}

std::string identifierOf(llvm::StringRef name) {
  std::string result;
  for (char letter : name)
    result += llvm::isAlnum(letter) ? letter : '_';
  if (result.empty() || llvm::isDigit(result[0]))
    result.insert(result.begin(), '_');
  return result;
}

std::string symbolOfDimension(llvm::StringRef input, size_t axis, llvm::StringRef dimension) {
  return isUnnamed(dimension) ? identifierOf(input) + "_dim" + std::to_string(axis) : identifierOf(dimension);
}
} // namespace perpend::support
