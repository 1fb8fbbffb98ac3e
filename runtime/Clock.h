// A monotonic clock.
#ifndef PERPEND_RUNTIME_CLOCK_H
#define PERPEND_RUNTIME_CLOCK_H
#include <cstdint>
#include <ctime>

namespace perpend::runtime {

#if defined(__wasm__)
[[clang::import_module("perpend"), clang::import_name("now")]] double nowMs();

inline int64_t nowNs() { return static_cast<int64_t>(nowMs() * 1e6); }
#else
inline int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}
#endif

} // namespace perpend::runtime
#endif
