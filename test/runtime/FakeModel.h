// A hand-written module, as the compiler would make it: sum = x + y, z = weight * sum, rows = row sums of sum, for x
// and y of shape [n, 3]. The sum is an intermediate value in the arena.
#ifndef PERPEND_TEST_FAKE_MODEL_H
#define PERPEND_TEST_FAKE_MODEL_H
#include "FakeTables.h"

namespace fake {

inline const float weights[1] = {2.0f};

inline int32_t bind(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error) {
  symbols[0] = dims[0][0];
  if (symbols[0] < 1) {
    *error = {0, 0, -1, symbols[0], nullptr};
    return 1;
  }
  if (dims[1][0] != symbols[0]) {
    *error = {1, 0, symbols[0], dims[1][0], nullptr};
    return 1;
  }
  return 0;
}

inline void sizes(const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims) {
  bufferBytes[0] = symbols[0] * 12;
  bufferBytes[1] = 64;
  outputDims[0] = symbols[0];
  outputDims[1] = 3;
  outputDims[2] = symbols[0];
}

inline void add(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *x = static_cast<const float *>(buffers[0]), *y = static_cast<const float *>(buffers[1]);
  auto *sum = static_cast<float *>(buffers[2]);
  for (int64_t i = begin * 3; i < end * 3; ++i)
    sum[i] = x[i] + y[i];
}

inline void scale(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *sum = static_cast<const float *>(buffers[0]), *weight = static_cast<const float *>(buffers[1]);
  auto *z = static_cast<float *>(buffers[2]);
  for (int64_t i = begin * 3; i < end * 3; ++i)
    z[i] = sum[i] * *weight;
}

inline void rows(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *sum = static_cast<const float *>(buffers[0]);
  auto *rows = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    rows[i] = sum[3 * i] + sum[3 * i + 1] + sum[3 * i + 2];
}

inline int32_t run(perpend_frame *frame) {
  int64_t n = frame->symbols[0];
  void *sum = frame->arena + frame->offsets[0];
  void *addBuffers[] = {const_cast<void *>(frame->inputs[0]), const_cast<void *>(frame->inputs[1]), sum};
  frame->parallel(frame, 0, add, addBuffers, n, 2);
  void *scaleBuffers[] = {sum, const_cast<uint8_t *>(frame->weights), frame->outputs[0]};
  frame->parallel(frame, 1, scale, scaleBuffers, n, 2);
  void *rowsBuffers[] = {sum, frame->outputs[1]};
  frame->parallel(frame, 2, rows, rowsBuffers, n, n);
  return PERPEND_OK;
}

inline void describeOutputs(Tables &tables) {
  tables.head.kernels = tables.texts({"k0_add", "k1_scale", "k2_rows"});
  tables.entry.outputs =
      tables.records({tables.tensor("z", PERPEND_F32, {"n", "3"}), tables.tensor("rows", PERPEND_F32, {"n"})});
  tables.entry.lifetimes = tables.records<perpend_buffer_lifetime>({{0, 2}, {1, 1}});
  tables.segment.bytes = sizeof weights;
}

inline void describe(Tables &tables) {
  describe(tables, "fake");
  describeOutputs(tables);
  tables.entry.symbols = tables.texts({"n"});
  tables.entry.inputs =
      tables.records({tables.tensor("x", PERPEND_F32, {"n", "3"}), tables.tensor("y", PERPEND_F32, {"n", "3"})});
}

// Without tables.
inline perpend_module makeCode() {
  perpend_module module{};
  module.weights = reinterpret_cast<const uint8_t *>(weights);
  module.weightsBytes = sizeof weights;
  module.bind = bind;
  module.sizes = sizes;
  module.run = run;
  return module;
}

inline perpend_module makeModule() {
  static Tables written; // once, and then read by all modules
  static perpend_module module;
  if (!module.magic) {
    module = makeCode();
    describe(written);
    written.finish(module);
  }
  return module;
}

} // namespace fake
#endif
