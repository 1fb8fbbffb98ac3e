// The process-wide thread pool. Every copy of the runtime in a process (one per loaded model) uses the same pool.
#ifndef PERPEND_RUNTIME_POOL_H
#define PERPEND_RUNTIME_POOL_H
#include <cstdint>

namespace perpend::runtime {

// What a unit of a task took when it ran before; 0: not known. One thread at a time runs tasks with the same Pace.
struct Pace {
  double unitNs;
};

// The pool's symbol. ParallelTask and Pool are shared by copies of the runtime that may be of different versions: a
// change of them needs a new name.
#define PERPEND_POOL_SYMBOL perpend_pool_v4
#define PERPEND_TEXT_OF(name) #name
#define PERPEND_NAME_OF(macro) PERPEND_TEXT_OF(macro)

struct ParallelTask {
  void (*body)(void *context, int64_t begin, int64_t end);
  void *context;
  int64_t extent, grain; // < 0: -grain, an estimate from extents that were not known
  int32_t threads;       // at most this many at once, the caller included
  Pace *pace;            // read and written; null: every time by the grain. Units take the same time in every run
};

constexpr int32_t maxThreads = 1024;

// Runs task.body over disjoint parts of [0, extent) and returns when all are done. Fewer than two grains of units are
// one part; so are few that are known to be quick. The caller takes part and can finish alone, so that calls may be
// nested or made by many threads at once.
void parallelFor(const ParallelTask &task);

} // namespace perpend::runtime
#endif
