// string.concat(a, b): element by element, a's text and then b's.
#include "library/Arguments.h"

using namespace perpend::library;

extern "C" perpend_status perpend_string_concat(perpend_call *call) {
  const perpend_tensor &a = call->inputs[0], &b = call->inputs[1];
  auto *result = allocateLike<int64_t>(call, 0, a);
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  Array<char> bytes;
  for (int64_t i = 0, count = elementCount(a); i < count; ++i) {
    perpend_string left = perpend_call_text(call, wordsOf(a)[i]), right = perpend_call_text(call, wordsOf(b)[i]);
    bytes.shrink(0);
    bool fits = bytes.add(left.data, left.sizeBytes) && bytes.add(right.data, right.sizeBytes);
    result[i] = fits ? identityOf(call, bytes) : -1;
    if (result[i] < 0)
      return PERPEND_OUT_OF_MEMORY;
  }
  return PERPEND_OK;
}
