//===- Duration.h - how long, as people write it -----------------*- C++ -*-===//

#ifndef PERPEND_SUPPORT_DURATION_H
#define PERPEND_SUPPORT_DURATION_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace perpend::support {

/// "90", "90s", "10m" or "1h" in seconds. nullopt: none of them, or nothing, or more than three years.
std::optional<double> parseDuration(llvm::StringRef text);
} // namespace perpend::support

#endif
