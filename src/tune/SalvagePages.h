//===- SalvagePages.h - recovers records of a damaged database --*- C++ -*-===//

#ifndef PERPEND_TUNE_SALVAGEPAGES_H
#define PERPEND_TUNE_SALVAGEPAGES_H

#include "tune/Database.h"

namespace perpend::tune {

/// All whole records in the pages of an SQLite file, whatever the state of other pages. Of several with the same key,
/// the one written last.
std::vector<Record> recordsInPages(llvm::StringRef bytes);
} // namespace perpend::tune

#endif
