//===- CheckSampling.cpp - numbers that decide how tokens are chosen ------===//

#include "llm/Settings.h"

#include <cmath>

namespace perpend::llm {

llvm::Error checkSampling(const Settings &settings, llvm::function_ref<std::string(llvm::StringRef)> name) {
  auto refuse = [&](llvm::StringRef option, const char *expected, double got) {
    return llvm::createStringError(name(option) + ": expected " + expected + ", got " + std::to_string(got) +
                                   "\nhint: correct the number, or leave it out");
  };
  if (double value = settings.temperature.value_or(0); !std::isfinite(value) || value < 0)
    return refuse("temperature", "a number of at least 0", value);
  if (double value = settings.topP.value_or(1); !(value > 0 && value <= 1))
    return refuse("top_p", "a number above 0 and at most 1", value);
  if (double value = settings.minP.value_or(0); !(value >= 0 && value <= 1))
    return refuse("min_p", "a number from 0 to 1", value);
  if (double value = settings.repetitionPenalty.value_or(1); !std::isfinite(value) || value <= 0)
    return refuse("repetition_penalty", "a number above 0", value);
  return llvm::Error::success();
}
} // namespace perpend::llm
