// The process-wide thread pool. Every copy of the runtime in a process (one per loaded model) uses the same pool.
#ifndef PERPEND_RUNTIME_POOL_H
#define PERPEND_RUNTIME_POOL_H
#include <cstdint>

namespace perpend::runtime {

// Shared by copies of the runtime that may be of different versions: a change here or of Pool needs a new symbol name
// (perpend_pool_v3 in Pool.cpp).
struct ParallelTask {
  void (*body)(void *context, int64_t begin, int64_t end);
  void *context;
  int64_t extent, grain; // < 0: -grain, an estimate from extents that were not known
  int32_t threads;       // at most this many at once, the caller included
};

constexpr int32_t maxThreads = 1024;

// Runs task.body over disjoint parts of [0, extent), each of at least grain units, and returns when all are done. The
// caller takes part and can finish alone, so that calls may be nested or made by many threads at once.
void parallelFor(const ParallelTask &task);

} // namespace perpend::runtime
#endif
