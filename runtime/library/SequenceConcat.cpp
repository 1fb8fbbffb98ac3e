// sequence.concat(list): its elements side by side along an axis. Parameters: axis, isNew (1: the axis is a new one).
// Source: ONNX ConcatFromSequence-11.
#include "library/Arguments.h"
#include "library/ListTable.h"

using namespace perpend::library;

namespace {

// The extent of the axis in one element.
int64_t extentOf(const perpend_tensor &element, int64_t axis, bool isNew) { return isNew ? 1 : element.shape[axis]; }

// Whether two elements differ only in the extent along the axis.
bool fit(const perpend_tensor &a, const perpend_tensor &b, int64_t axis, bool isNew) {
  if (a.rank != b.rank || a.type != b.type)
    return false;
  for (int32_t i = 0; i < a.rank; ++i)
    if ((isNew || i != axis) && a.shape[i] != b.shape[i])
      return false;
  return true;
}

} // namespace

extern "C" perpend_status perpend_sequence_concat(perpend_call *call) {
  int64_t list = *wordsOf(call->inputs[0]), count = perpend_call_list_count(call, list);
  int64_t axis = perpend_call_integer(call, "axis", 0), total = 0, outer = 1, innerBytes, shape[PERPEND_MAX_RANK];
  bool isNew = perpend_call_integer(call, "isNew", 0) != 0;
  const perpend_tensor *first = perpend_call_list_element(call, list, 0);
  if (!first)
    return perpend_call_fail(call, "the list is empty, and nothing cannot be concatenated");
  if (first->rank + isNew > PERPEND_MAX_RANK)
    return perpend_call_fail(call, "the result would have more than %d dimensions", PERPEND_MAX_RANK);
  for (int64_t i = 0; i < count; ++i) {
    const perpend_tensor &element = *perpend_call_list_element(call, list, i);
    if (!fit(*first, element, axis, isNew))
      return perpend_call_fail(call, "element %lld of the list does not fit beside the first",
                               static_cast<long long>(i));
    total += extentOf(element, axis, isNew);
  }
  int32_t rank = 0;
  for (int32_t i = 0; i < first->rank + isNew; ++i) {
    shape[rank++] = i == axis ? total : first->shape[i - (isNew && i > axis)];
    outer *= i < axis ? shape[i] : 1;
  }
  int32_t inner = static_cast<int32_t>(axis) + !isNew;
  innerBytes = elementBytes({nullptr, first->shape + inner, first->rank - inner, first->type});
  auto *result = static_cast<char *>(perpend_call_allocate(call, 0, shape, rank));
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) {
      const perpend_tensor &element = *perpend_call_list_element(call, list, i);
      int64_t bytes = extentOf(element, axis, isNew) * innerBytes;
      if (bytes)
        memcpy(result, static_cast<const char *>(element.data) + o * bytes, static_cast<size_t>(bytes));
      result += bytes;
    }
  return PERPEND_OK;
}
