/* The largest element so far along the rows of a matrix: an operator that ONNX does not have. */
#include <perpend_operator.h>

perpend_status perpend_example_cumulative_maximum(perpend_call *call) {
  const perpend_tensor *x = &call->inputs[0];
  const float *from = x->data;
  float *to = perpend_call_allocate(call, 0, x->shape, x->rank);
  double least = perpend_call_number(call, "least", -1e30);
  int64_t row, column;
  if (!to)
    return PERPEND_OUT_OF_MEMORY;
  for (row = 0; row < x->shape[0]; ++row) {
    float largest = (float)least;
    for (column = 0; column < x->shape[1]; ++column, ++from, ++to) {
      if (*from != *from)
        return perpend_call_fail(call, "row %lld has a NaN", (long long)row);
      largest = *from > largest ? *from : largest;
      *to = largest;
    }
  }
  return PERPEND_OK;
}
