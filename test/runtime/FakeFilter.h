// A hand-written module whose output depends on data: kept = the elements of x that are positive, in a growing buffer
// of their own and then doubled into the output. A NaN is refused.
#ifndef PERPEND_TEST_FAKE_FILTER_H
#define PERPEND_TEST_FAKE_FILTER_H
#include "FakeTables.h"

namespace fake_filter {

inline int32_t bind(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *) {
  symbols[0] = dims[0][0];
  return 0;
}

inline void sizes(const int64_t *, int64_t *, int64_t *outputDims) { outputDims[0] = PERPEND_EXTENT_FROM_DATA; }

inline int32_t run(perpend_frame *frame) {
  auto *x = static_cast<const float *>(frame->inputs[0]);
  int64_t count = 0;
  perpend_buffer &kept = frame->growing[1], &output = frame->growing[0];
  for (int64_t i = 0; i < frame->symbols[0]; ++i) {
    if (x[i] != x[i])
      return frame->refuse("node 'filter': expected a number, position", i);
    if (!(x[i] > 0))
      continue;
    if (int32_t status = frame->reserve(&kept, (count + 1) * 4, count * 4))
      return status;
    static_cast<float *>(kept.data)[count++] = x[i];
  }
  if (int32_t status = frame->reserve(&output, count * 4, 0))
    return status;
  for (int64_t i = 0; i < count; ++i)
    static_cast<float *>(output.data)[i] = 2 * static_cast<const float *>(kept.data)[i];
  frame->symbols[1] = frame->outputDims[0] = count;
  return PERPEND_OK;
}

inline perpend_module makeModule() {
  static fake::Tables tables;
  static perpend_module module;
  if (module.magic)
    return module;
  fake::describe(tables, "filter");
  tables.entry.symbols = tables.texts({"n", "count"});
  tables.entry.inputs = tables.records({tables.tensor("x", PERPEND_F32, {"n"})});
  tables.entry.outputs = tables.records({tables.tensor("kept", PERPEND_F32, {"count"})});
  tables.entry.growingCount = 1;
  tables.finish(module);
  module.bind = bind;
  module.sizes = sizes;
  module.run = run;
  return module;
}

} // namespace fake_filter
#endif
