//===- DimensionNames.cpp - symbols of the inputs' dimensions -------------===//

#include "support/DimensionNames.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::support {

bool isUnnamed(llvm::StringRef dimension) {
  return dimension.empty() || dimension == "?" || dimension.starts_with("unk__");
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
