// sequence.insert(list, element, position): a list with the element before that position; without one, at the end.
#include "library/Arguments.h"

using namespace perpend::library;

extern "C" perpend_status perpend_sequence_insert(perpend_call *call) {
  int64_t list = *wordsOf(call->inputs[0]), count = perpend_call_list_count(call, list), position = count;
  if (call->inputCount > 2) {
    int64_t given = *wordsOf(call->inputs[2]);
    position = given < 0 ? given + count : given;
    if (position < 0 || position > count)
      return perpend_call_fail(call, "position %lld of a list of %lld elements", static_cast<long long>(given),
                               static_cast<long long>(count));
  }
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, nullptr, 0));
  if (!result || (*result = perpend_call_list_insert(call, list, position, &call->inputs[1])) < 0)
    return PERPEND_OUT_OF_MEMORY;
  return PERPEND_OK;
}
