// sequence.construct(elements...): a list of all inputs.
#include "library/Arguments.h"

extern "C" perpend_status perpend_sequence_construct(perpend_call *call) {
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, nullptr, 0));
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  *result = 0;
  for (int32_t i = 0; i < call->inputCount; ++i)
    if ((*result = perpend_call_list_insert(call, *result, i, &call->inputs[i])) < 0)
      return PERPEND_OUT_OF_MEMORY;
  return PERPEND_OK;
}
