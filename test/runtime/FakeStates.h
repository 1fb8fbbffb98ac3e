// A hand-written module with states, as the compiler would make it. x has the shape [n, 2]; y is the length of the rows
// behind it. "rows" grows by x; "count" is computed: it begins with 5, and a run adds 1; of "ring" a run overwrites
// element count mod 4 with x[0]. A negative x[0] ends the run behind these.
#ifndef PERPEND_TEST_FAKE_STATES_H
#define PERPEND_TEST_FAKE_STATES_H
#include "FakeTables.h"

namespace fake {

inline const int64_t firstCount[1] = {5};

/// Without the capacity's check.
inline int32_t bindManyRows(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *) {
  symbols[0] = dims[0][0];
  symbols[1] = dims[1][0];
  return 0;
}

inline int32_t bindStates(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error) {
  bindManyRows(dims, symbols, error);
  if (symbols[0] + symbols[1] <= 8)
    return 0;
  *error = {-1, -1, -1, symbols[0] + symbols[1], "inputs: state 'rows' needs length + n <= 8, got {}"};
  return 1;
}

inline void sizesOfStates(const int64_t *symbols, int64_t *, int64_t *outputDims) {
  const int64_t dims[] = {1, symbols[0] + symbols[1], 2, 1, 4};
  memcpy(outputDims, dims, sizeof dims);
}

inline int32_t runStates(perpend_frame *frame) {
  const int64_t n = frame->symbols[0], length = frame->symbols[1];
  auto *x = static_cast<const float *>(frame->inputs[0]);
  memcpy(static_cast<float *>(frame->outputs[1]) + 2 * length, x, static_cast<size_t>(n) * 8);
  const int64_t count = *static_cast<const int64_t *>(frame->inputs[2]);
  *static_cast<int64_t *>(frame->outputs[2]) = count + 1;
  *static_cast<int64_t *>(frame->outputs[0]) = length + n;
  if (!n)
    return PERPEND_OK;
  static_cast<float *>(frame->outputs[3])[count % 4] = x[0];
  return x[0] < 0 ? frame->refuse("node 'check': expected at least 0", -1) : PERPEND_OK;
}

/// Runs read `keptRows` of the last rows; 0: all.
inline void describeStates(Tables &tables, const char *capacity = "8", uint32_t keptRows = 0) {
  describe(tables, "fake");
  tables.entry.symbols = tables.texts({"n", "length"});
  tables.entry.inputs = tables.records({tables.tensor("x", PERPEND_F32, {"n", "2"})});
  tables.entry.outputs = tables.records({tables.tensor("y", PERPEND_I64, {"1"})});
  tables.entry.states = tables.records<perpend_entry_state_record>(
      {{0, PERPEND_UPDATE_APPENDED}, {1, PERPEND_UPDATE_COMPUTED}, {2, PERPEND_UPDATE_WRITTEN}});
  tables.head.states =
      tables.records({tables.tensor("rows", PERPEND_F32, {capacity, "2"}), tables.tensor("count", PERPEND_I64, {"1"}),
                      tables.tensor("ring", PERPEND_F32, {"4"})});
  tables.head.stateFacts = tables.records<perpend_state_record>({{0, 0, 0, keptRows}, {0, 8, 1, 0}, {0, 0, 1, 0}});
  tables.segment.bytes = sizeof firstCount;
}

} // namespace fake
#endif
