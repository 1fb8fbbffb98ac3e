//===- SymbolRange.h - ranges of a symbol's value ---------------*- C++ -*-===//
//
// "n <= 16", "17 <= n" or "17 <= n <= 64": the extents for which a schedule
// applies.
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
  /// Both ends are inclusive; without `most` there is no upper end.
  int64_t least = 0;
  std::optional<int64_t> most = std::nullopt;

  /// nullopt: not a range, or an empty one.
  static std::optional<SymbolRange> parse(llvm::StringRef text);
  std::string str() const;
  bool contains(int64_t value) const { return value >= least && (!most || value <= *most); }
};
} // namespace perpend::support

#endif
