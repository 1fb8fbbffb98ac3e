// string.from_number(x): numbers as text with the fewest digits that read back the same. Inputs are extended before:
// f64 for floats, i64 or u64 for integers, bool. Parameter precision: "f64", "f32", "f16" or "bf16", the precision of
// floats. Booleans give True and False. Source: ONNX Cast-24, whose reference is Python's str().
#include "library/Arguments.h"
#include "library/Numbers.h"

using namespace perpend::library;

namespace {

Precision precisionOf(perpend_call *call) {
  char name[8] = "";
  perpend_call_word(call, "precision", name, sizeof name - 1);
  return !strcmp(name, "f32")    ? Precision::Single
         : !strcmp(name, "f16")  ? Precision::Half
         : !strcmp(name, "bf16") ? Precision::Brain
                                 : Precision::Double;
}

int64_t print(const perpend_tensor &x, int64_t i, Precision precision, char *text) {
  if (x.type == PERPEND_F64)
    return printNumber(static_cast<const double *>(x.data)[i], precision, text);
  if (x.type == PERPEND_BOOL) {
    bool value = static_cast<const uint8_t *>(x.data)[i] != 0;
    strcpy(text, value ? "True" : "False");
    return static_cast<int64_t>(strlen(text));
  }
  int64_t value = static_cast<const int64_t *>(x.data)[i];
  bool isNegative = x.type == PERPEND_I64 && value < 0;
  auto bits = static_cast<uint64_t>(value);
  return printInteger(isNegative, isNegative ? 0 - bits : bits, text);
}

} // namespace

extern "C" perpend_status perpend_string_from_number(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  Precision precision = precisionOf(call);
  auto *result = allocateLike<int64_t>(call, 0, x);
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0, count = elementCount(x); i < count; ++i) {
    char text[maxNumberBytes];
    result[i] = perpend_call_identity(call, text, print(x, i, precision, text));
    if (result[i] < 0)
      return PERPEND_OUT_OF_MEMORY;
  }
  return PERPEND_OK;
}
