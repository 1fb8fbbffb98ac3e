//===- SalvagePages.h - records of a damaged database ------------*- C++ -*-===//

#ifndef PERPEND_TUNE_SALVAGEPAGES_H
#define PERPEND_TUNE_SALVAGEPAGES_H

#include "tune/Database.h"

namespace perpend::tune {

/// What the pages of a file of SQLite have that is a whole record, whatever the other pages are. Of several for one key
/// the last one that was written.
std::vector<Record> recordsInPages(llvm::StringRef bytes);
} // namespace perpend::tune

#endif
