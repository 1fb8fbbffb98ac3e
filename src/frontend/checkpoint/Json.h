//===- Json.h - parses JSON of unknown origin -------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_JSON_H
#define PERPEND_FRONTEND_CHECKPOINT_JSON_H

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace perpend::checkpoint {

/// A JSON object. Errors: nullopt, and a message; deep nesting is one, because the parser is recursive.
std::optional<llvm::json::Object> parseObject(llvm::StringRef text, std::string &error);
} // namespace perpend::checkpoint

#endif
