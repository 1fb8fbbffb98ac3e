// Measures what the runtime adds: a run of a model without kernels, and a parallel region of two threads.
#include "FakeModel.h"
#include "Pool.h"
#include <chrono>
#include <cstdio>

template <typename Work> static double averageNs(int count, Work work) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count;
}

int main() {
  perpend_module module = fake::makeModule();
  module.run = [](perpend_frame *) {};
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  perpend_model_from_module(&module, &model);
  perpend_session_create(model, nullptr, &session);
  float x[6] = {}, y[6] = {};
  int64_t shape[] = {2, 3};
  perpend_tensor inputs[] = {{x, shape, 2, PERPEND_F32}, {y, shape, 2, PERPEND_F32}}, outputs[2] = {};
  auto run = [&] { perpend_session_run(session, inputs, 2, outputs, 2); };
  averageNs(1000, run);
  std::printf("{\"empty_run_ns\": %.1f", averageNs(1000000, run));
  auto region = [] {
    perpend::runtime::parallelFor({[](void *, int64_t, int64_t) {}, nullptr, 1000, 1, 2});
  };
  averageNs(1000, region);
  std::printf(", \"parallel_region_ns\": %.1f}\n", averageNs(100000, region));
  perpend_session_free(session);
  perpend_model_free(model);
}
