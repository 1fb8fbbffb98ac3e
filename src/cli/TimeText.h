//===- TimeText.h - prints short times --------------------------*- C++ -*-===//

#ifndef PERPEND_CLI_TIMETEXT_H
#define PERPEND_CLI_TIMETEXT_H

#include "llvm/Support/FormatVariadic.h"

#include <string>

namespace perpend::cli {

/// For example "12.3456 us".
inline std::string timeText(double seconds) {
  const char *unit = seconds < 1e-3 ? "us" : "ms";
  return llvm::formatv("{0:f4} {1}", seconds * (seconds < 1e-3 ? 1e6 : 1e3), unit).str();
}
} // namespace perpend::cli

#endif
