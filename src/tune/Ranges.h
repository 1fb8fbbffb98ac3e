//===- Ranges.h - assigns a kernel's records to ranges of extents -*- C++ -*-===//

#ifndef PERPEND_TUNE_RANGES_H
#define PERPEND_TUNE_RANGES_H

#include "support/SymbolRange.h"
#include "tune/Database.h"

namespace perpend::tune {

/// The time of a trace for other extents (Record::elsewhere).
struct PartElsewhere {
  std::string extents;
  double part = 1; ///< relative to the compiler's own time there
  double weight = 1;
};
std::string textOf(llvm::ArrayRef<PartElsewhere> parts);
/// nullopt: the text has another form.
std::optional<std::vector<PartElsewhere>> parseParts(llvm::StringRef text);

/// The union of both; for the same extents, the newer one counts.
std::string mergedParts(llvm::StringRef older, llvm::StringRef newer);

/// The record used for a range of a symbol.
struct RangeOfRecord {
  std::optional<support::SymbolRange> range; ///< nullopt: all other values
  const Record *record = nullptr;            ///< null: the compiler's own trace
};

/// Chooses among records of one kernel on one machine for several values of its symbols, which are named in the
/// records' order. Minimises the weighted sum of times relative to the compiler's own; each additional range must gain
/// a tenth of the sum. What was not measured counts as the compiler's own time. The last entry has no range.
std::vector<RangeOfRecord> chooseRanges(llvm::ArrayRef<Record> records, llvm::ArrayRef<std::string> symbols);
} // namespace perpend::tune

#endif
