//===- SymbolRange.cpp - ranges of a symbol's value -----------------------===//

#include "support/SymbolRange.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace perpend::support {

using llvm::StringRef;

static bool takeNumber(llvm::SmallVectorImpl<StringRef> &parts, bool isFirst, int64_t &number) {
  if (parts.size() < 2 || (isFirst ? parts.front() : parts.back()).getAsInteger(10, number) || number < 0)
    return false;
  parts.erase(isFirst ? parts.begin() : parts.end() - 1);
  return true;
}

std::optional<SymbolRange> SymbolRange::parse(StringRef text) {
  llvm::SmallVector<StringRef, 3> parts;
  text.split(parts, "<=");
  for (StringRef &part : parts)
    part = part.trim();
  SymbolRange range;
  int64_t most = 0;
  bool hasLeast = takeNumber(parts, /*isFirst=*/true, range.least);
  if (takeNumber(parts, /*isFirst=*/false, most))
    range.most = most;
  if (parts.size() != 1 || parts[0].empty() || llvm::isDigit(parts[0][0]) || (!hasLeast && !range.most) ||
      (range.most && *range.most < range.least))
    return std::nullopt;
  range.symbol = parts[0].str();
  return range;
}

std::string SymbolRange::str() const {
  return (least > 0 || !most ? std::to_string(least) + " <= " : "") + symbol +
         (most ? " <= " + std::to_string(*most) : "");
}
} // namespace perpend::support
