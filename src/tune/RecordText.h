//===- RecordText.h - records of tuning as JSON ------------------*- C++ -*-===//
//
// What `perpend db export` writes, for people and other programs, and
// `perpend db merge` reads again: nothing is lost on the way.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_RECORDTEXT_H
#define PERPEND_TUNE_RECORDTEXT_H

#include "tune/Database.h"

#include "llvm/Support/raw_ostream.h"

namespace perpend::tune {

void printRecords(llvm::ArrayRef<Record> records, llvm::raw_ostream &out);
/// Errors: it is no such text; which record is none.
llvm::Expected<std::vector<Record>> parseRecords(llvm::StringRef text);
} // namespace perpend::tune

#endif
