// Measures what the runtime adds: a run of a model without kernels, an empty parallel region of two threads, and one
// with 20 us of work, which takes 10 us at best.
#include "FakeModel.h"
#include "Pool.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

// Median over rounds of some calls each: a median does not see the rounds in which another process had the core.
template <typename Work> static double medianNs(int callsPerRound, Work work) {
  std::vector<double> times;
  for (int round = 0; round < 2000; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < callsPerRound; ++i)
      work();
    auto time = std::chrono::steady_clock::now() - start;
    times.push_back(std::chrono::duration<double, std::nano>(time).count() / callsPerRound);
  }
  std::nth_element(times.begin(), times.begin() + 1000, times.end());
  return times[1000];
}

int main() {
  perpend_module module = fake::makeModule();
  module.run = [](perpend_frame *) -> int32_t { return 0; };
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  perpend_model_from_module(&module, &model);
  perpend_session_create(model, nullptr, &session);
  float x[6] = {}, y[6] = {};
  int64_t shape[] = {2, 3};
  perpend_tensor inputs[] = {{x, shape, 2, PERPEND_F32}, {y, shape, 2, PERPEND_F32}}, outputs[2] = {};
  auto run = [&] { perpend_session_run(session, inputs, 2, outputs, 2); };
  std::printf("{\"empty_run_ns\": %.1f", medianNs(1000, run));
  auto region = [] { perpend::runtime::parallelFor({[](void *, int64_t, int64_t) {}, nullptr, 1000, 1, 2, nullptr}); };
  std::printf(", \"empty_region_ns\": %.1f", medianNs(1, region));
  auto busyRegion = [] {
    auto body = [](void *, int64_t begin, int64_t end) {
      auto finish = std::chrono::steady_clock::now() + std::chrono::nanoseconds((end - begin) * 20);
      while (std::chrono::steady_clock::now() < finish) {
      }
    };
    perpend::runtime::parallelFor({body, nullptr, 1000, 1, 2, nullptr});
  };
  std::printf(", \"region_of_20us_ns\": %.1f}\n", medianNs(1, busyRegion));
  perpend_session_free(session);
  perpend_model_free(model);
}
