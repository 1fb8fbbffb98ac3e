// The thread pool of the process. Every copy of the runtime in a process (one per loaded model) uses the same pool.
#ifndef PERPEND_RUNTIME_POOL_H
#define PERPEND_RUNTIME_POOL_H
#include <cstdint>

namespace perpend::runtime {

// Measured duration of a task's unit; 0: unknown. Only one thread at a time runs tasks with the same Pace.
struct Pace {
  double unitNs;
};

// The pool's symbol. Copies of the runtime of different versions share ParallelTask and Pool, so changing either
// requires a new name.
#define PERPEND_POOL_SYMBOL perpend_pool_v4
#define PERPEND_TEXT_OF(name) #name
#define PERPEND_NAME_OF(macro) PERPEND_TEXT_OF(macro)

struct ParallelTask {
  void (*body)(void *context, int64_t begin, int64_t end);
  void *context;
  int64_t extent, grain; // negative: -grain, estimated for unknown extents
  int32_t threads;       // at most this many at once, the caller included
  Pace *pace;            //  updated; units must take the same time in every run. null: use the grain
};

constexpr int32_t maxThreads = 1024;

// Runs task.body over disjoint parts of [0, extent) and returns when all are done. Less than two grains of units form
// one part, and so do few units that are known to be quick. The caller participates and can finish alone, so calls may
// be nested or made by many threads at once.
void parallelFor(const ParallelTask &task);

} // namespace perpend::runtime
#endif
