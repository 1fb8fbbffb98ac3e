// Compares a number that a program has computed with constants.
#include "Run.h"
#include "perpend_operator.h"

// Parameters: least, most, message. Errors: PERPEND_INVALID_ARGUMENT with the message and the number.
perpend_status perpend_scalar_check(perpend_call *call) {
  const int64_t number = *(const int64_t *)call->inputs[0].data;
  if (number >= perpend_call_integer(call, "least", INT64_MIN) &&
      number <= perpend_call_integer(call, "most", INT64_MAX))
    return PERPEND_OK;
  char message[512];
  const int64_t length = perpend_call_word(call, "message", message, sizeof message - 1);
  message[length < 0 ? 0 : length < (int64_t)sizeof message ? length : (int64_t)sizeof message - 1] = 0;
  return perpend_scalar_refuse(message, number);
}
