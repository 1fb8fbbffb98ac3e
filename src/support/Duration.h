//===- Duration.h - parses durations ----------------------------*- C++ -*-===//

#ifndef PERPEND_SUPPORT_DURATION_H
#define PERPEND_SUPPORT_DURATION_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace perpend::support {

/// Parses "90", "90s", "10m" or "1h" as seconds. nullopt: another form, zero, or more than three years.
std::optional<double> parseDuration(llvm::StringRef text);
} // namespace perpend::support

#endif
