// string.to_number(x): string as f64, f32, i64 or u64 (the result's type). A string that is not such a number is an
// error of the run. Integers may be written with a fraction, which is dropped. Source: ONNX Cast-24.
#include "library/Arguments.h"
#include "library/Numbers.h"

using namespace perpend::library;

namespace {

bool toInteger(perpend_string text, bool isSigned, uint64_t &bits) {
  bool isNegative;
  uint64_t magnitude;
  double number;
  constexpr double limit = 9223372036854775808.0; // 2^63
  if (parseInteger(text, isNegative, magnitude)) {
    bits = isNegative ? 0 - magnitude : magnitude;
    return isSigned ? magnitude <= (uint64_t{1} << 63) - !isNegative : !isNegative || !magnitude;
  }
  if (!parseNumber(text, number) || !(number > -limit && number < (isSigned ? limit : 2 * limit)) ||
      (!isSigned && number <= -1))
    return false;
  bits = number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number)) : static_cast<uint64_t>(number);
  return true;
}

bool convert(perpend_string text, perpend_type type, void *result, int64_t i) {
  if (type == PERPEND_F64)
    return parseNumber(text, static_cast<double *>(result)[i]);
  if (type == PERPEND_F32)
    return parseNumber(text, static_cast<float *>(result)[i]);
  return toInteger(text, type == PERPEND_I64, static_cast<uint64_t *>(result)[i]);
}

} // namespace

extern "C" perpend_status perpend_string_to_number(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  auto *result = allocateLike<void>(call, 0, x);
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0, count = elementCount(x); i < count; ++i) {
    perpend_string text = perpend_call_text(call, wordsOf(x)[i]);
    if (!convert(text, call->outputTypes[0], result, i))
      return perpend_call_fail(call, "element %lld: expected a number of type %s, got '%.*s'",
                               static_cast<long long>(i), perpend_type_name(call->outputTypes[0]),
                               static_cast<int>(text.sizeBytes > 40 ? 40 : text.sizeBytes), text.data);
  }
  return PERPEND_OK;
}
