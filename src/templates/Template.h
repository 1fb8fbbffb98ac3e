//===- Template.h - compiles chat templates to tables -----------*- C++ -*-===//
//
// Parses a template in the subset of Jinja that chat templates use, with the settings of transformers (trim_blocks,
// lstrip_blocks), and writes the table that runtime/template renders. A template outside of that subset is an error.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEMPLATES_TEMPLATE_H
#define PERPEND_TEMPLATES_TEMPLATE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace perpend::templates {

/// The table of a template; nullopt and the text of an error, with line and hint.
std::optional<std::string> compileTemplate(llvm::StringRef text, std::string &error);

} // namespace perpend::templates

#endif
