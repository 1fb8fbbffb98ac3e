// A hand-written module, as the compiler would make it: sum = x + y, z = weight * sum, rows = row sums of sum, for x
// and y of shape [n, 3]. The sum is an intermediate value in the arena.
#ifndef PERPEND_TEST_FAKE_MODEL_H
#define PERPEND_TEST_FAKE_MODEL_H
#include "perpend_module.h"

#define FAKE_INPUTS R"("inputs":[{"name":"x","type":"f32","shape":["n",3]},{"name":"y","type":"f32","shape":["n",3]}],)"
#define FAKE_OUTPUTS                                                                                                   \
  R"("outputs":[{"name":"z","type":"f32","shape":["n",3]},{"name":"rows","type":"f32","shape":["n"]}],)"
#define FAKE_HEAD R"({"perpend":"0.1.0","abi":5,"name":"fake","target":"x86-64","precision":"f32","symbols":["n"],)"
#define FAKE_TAIL R"("kernels":["k0_add","k1_scale","k2_rows"],"weightsBytes":4)"

namespace fake {

inline constexpr char descriptor[] = FAKE_HEAD FAKE_INPUTS FAKE_OUTPUTS FAKE_TAIL "}";
inline const float weights[1] = {2.0f};
inline const perpend_buffer_lifetime lifetimes[2] = {{0, 2}, {1, 1}};

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

inline perpend_module makeModule() {
  perpend_module module{};
  module.magic = PERPEND_MODULE_MAGIC;
  module.abi = PERPEND_MODULE_ABI;
  module.inputCount = 2;
  module.outputCount = 2;
  module.symbolCount = 1;
  module.bufferCount = 2;
  module.kernelCount = 3;
  module.descriptor = descriptor;
  module.descriptorBytes = sizeof descriptor - 1;
  module.weights = reinterpret_cast<const uint8_t *>(weights);
  module.weightsBytes = sizeof weights;
  module.lifetimes = lifetimes;
  module.bind = bind;
  module.sizes = sizes;
  module.run = run;
  return module;
}

} // namespace fake
#endif
