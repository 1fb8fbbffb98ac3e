//===- Html.h - parts of self-contained pages -------------------*- C++ -*-===//

#ifndef PERPEND_CLI_HTML_H
#define PERPEND_CLI_HTML_H

#include "cli/Options.h"

#include "llvm/Support/raw_ostream.h"

namespace perpend::cli {

/// Escapes text for an element or an attribute.
std::string escape(StringRef text);
/// Prints everything before the first paragraph; the page must end with "</body></html>".
void printHead(StringRef title, llvm::raw_ostream &out);
/// Prints nothing if there are no rows.
void printTable(llvm::raw_ostream &out, StringRef title, ArrayRef<StringRef> columns,
                ArrayRef<std::vector<std::string>> rows);
} // namespace perpend::cli

#endif
