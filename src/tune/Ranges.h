//===- Ranges.h - which of a kernel's records is used for which extents -*- C++ -*-===//

#ifndef PERPEND_TUNE_RANGES_H
#define PERPEND_TUNE_RANGES_H

#include "support/SymbolRange.h"
#include "tune/Database.h"

namespace perpend::tune {

/// How long a trace takes elsewhere (Record::elsewhere).
struct PartElsewhere {
  std::string extents;
  double part = 1; ///< of the compiler's own time there
  double weight = 1;
};
std::string textOf(llvm::ArrayRef<PartElsewhere> parts);
/// nullopt: the text is none.
std::optional<std::vector<PartElsewhere>> parseParts(llvm::StringRef text);

/// What both say; of the same extents, what the newer one says.
std::string mergedParts(llvm::StringRef older, llvm::StringRef newer);

/// What runs where a symbol is in a range.
struct RangeOfRecord {
  std::optional<support::SymbolRange> range; ///< nullopt: for all others
  const Record *record = nullptr;            ///< null: the compiler's own trace
};

/// Of records of one kernel on one machine, for several values of its symbols, which are named in the order in which
/// records have them. The least sum of weights times parts of the compiler's own times; a range more has to gain a
/// tenth of it. What was not measured counts as the compiler's own time. The last one has no range.
std::vector<RangeOfRecord> chooseRanges(llvm::ArrayRef<Record> records, llvm::ArrayRef<std::string> symbols);
} // namespace perpend::tune

#endif
