//===- RecordText.h - tuning records as JSON --------------------*- C++ -*-===//
//
// The format that `perpend db export` writes and `perpend db merge` reads,
// without loss.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_RECORDTEXT_H
#define PERPEND_TUNE_RECORDTEXT_H

#include "tune/Database.h"

#include "llvm/Support/raw_ostream.h"

namespace perpend::tune {

void printRecords(llvm::ArrayRef<Record> records, llvm::raw_ostream &out);
/// Errors: the text has another form; which record is invalid.
llvm::Expected<std::vector<Record>> parseRecords(llvm::StringRef text);
} // namespace perpend::tune

#endif
