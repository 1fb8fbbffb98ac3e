// sequence.at(list, position): one element; a negative position counts from the end.
#include "library/Arguments.h"
#include "library/ListTable.h"

using namespace perpend::library;

extern "C" perpend_status perpend_sequence_at(perpend_call *call) {
  int64_t list = *wordsOf(call->inputs[0]), given = *wordsOf(call->inputs[1]);
  int64_t count = perpend_call_list_count(call, list);
  const perpend_tensor *element = perpend_call_list_element(call, list, given < 0 ? given + count : given);
  if (!element)
    return perpend_call_fail(call, "position %lld of a list of %lld elements", static_cast<long long>(given),
                             static_cast<long long>(count));
  void *result = perpend_call_allocate(call, 0, element->shape, element->rank);
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  if (int64_t bytes = elementBytes(*element))
    memcpy(result, element->data, static_cast<size_t>(bytes));
  return PERPEND_OK;
}
