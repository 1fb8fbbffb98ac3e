//===- SymbolRange.h - values of a symbol, from least to most ----*- C++ -*-===//
//
// "n <= 16", "17 <= n" or "17 <= n <= 64": for which extents a schedule is.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_SUPPORT_SYMBOLRANGE_H
#define PERPEND_SUPPORT_SYMBOLRANGE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace perpend::support {

struct SymbolRange {
  std::string symbol;
  /// Both ends are in it; no most: there is none.
  int64_t least = 0;
  std::optional<int64_t> most = std::nullopt;

  /// nullopt: the text is none, or nothing is in it.
  static std::optional<SymbolRange> parse(llvm::StringRef text);
  std::string str() const;
  bool contains(int64_t value) const { return value >= least && (!most || value <= *most); }
};
} // namespace perpend::support

#endif
