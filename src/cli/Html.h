//===- Html.h - parts of pages that need no other file -----------*- C++ -*-===//

#ifndef PERPEND_CLI_HTML_H
#define PERPEND_CLI_HTML_H

#include "cli/Options.h"

#include "llvm/Support/raw_ostream.h"

namespace perpend::cli {

/// As the text of an element or of an attribute.
std::string escape(StringRef text);
/// All before the first paragraph; the page ends with "</body></html>".
void printHead(StringRef title, llvm::raw_ostream &out);
/// Without rows: nothing.
void printTable(llvm::raw_ostream &out, StringRef title, ArrayRef<StringRef> columns,
                ArrayRef<std::vector<std::string>> rows);
} // namespace perpend::cli

#endif
