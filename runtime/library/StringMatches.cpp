// string.matches(x, pattern []): whether each whole text matches a regular expression (Regex.h).
#include "library/Arguments.h"
#include "library/Regex.h"

using namespace perpend::library;

extern "C" perpend_status perpend_string_matches(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  perpend_string pattern = perpend_call_text(call, wordsOf(call->inputs[1])[0]);
  Regex regex;
  if (!regex.compile(pattern))
    return perpend_call_fail(call, "the pattern '%.*s' is not valid: %s",
                             static_cast<int>(pattern.sizeBytes > 60 ? 60 : pattern.sizeBytes), pattern.data,
                             regex.error());
  auto *result = allocateLike<uint8_t>(call, 0, x);
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0, count = elementCount(x); i < count; ++i) {
    Regex::Outcome outcome = regex.matchWhole(perpend_call_text(call, wordsOf(x)[i]));
    if (outcome == Regex::Outcome::NoMemory)
      return PERPEND_OUT_OF_MEMORY;
    result[i] = outcome == Regex::Outcome::Matches;
  }
  return PERPEND_OK;
}
