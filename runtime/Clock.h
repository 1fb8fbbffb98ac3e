// A monotonic clock.
#ifndef PERPEND_RUNTIME_CLOCK_H
#define PERPEND_RUNTIME_CLOCK_H
#include <cstdint>
#include <ctime>

namespace perpend::runtime {

inline int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

} // namespace perpend::runtime
#endif
