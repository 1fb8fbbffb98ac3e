//===- Duration.cpp - parses durations ------------------------------------===//

#include "support/Duration.h"

namespace perpend::support {

std::optional<double> parseDuration(llvm::StringRef text) {
  double factor = 1, number = 0;
  if (text.consume_back("m"))
    factor = 60;
  else if (text.consume_back("h"))
    factor = 3600;
  else
    text.consume_back("s");
  constexpr double mostSeconds = 1e8; // three years
  bool isTime = !text.getAsDouble(number) && number > 0 && number * factor < mostSeconds;
  return isTime ? std::optional(number * factor) : std::nullopt;
}
} // namespace perpend::support
