// sequence.length(list): its number of elements, i64.
#include "library/Arguments.h"

using namespace perpend::library;

extern "C" perpend_status perpend_sequence_length(perpend_call *call) {
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, nullptr, 0));
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  *result = perpend_call_list_count(call, *wordsOf(call->inputs[0]));
  return PERPEND_OK;
}
