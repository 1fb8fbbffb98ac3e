// Cores and the pool of an engine of WebAssembly. The loader keeps the workers (module/perpend.mjs): each has an
// instance of this module with the same memory, and claims parts by atomic operations of JavaScript, so that the code
// itself has none and one module is right with and without threads.
#include "../Clock.h"
#include "../Cores.h"
#include "../Pool.h"
#include <algorithm>
#include <cstdlib>

namespace perpend::runtime {

struct Job {
  const ParallelTask *task;
  int64_t first;
  int32_t parts;
};

// Runs all parts; returns how many of them the caller has run.
[[clang::import_module("perpend"), clang::import_name("share")]] int32_t share(const Job *job, int32_t parts,
                                                                               int32_t shares);
// Whether workers poll for work.
[[clang::import_module("perpend"), clang::import_name("awake")]] int32_t areAwake();

namespace {

// As those of the native pool, which has the reasons.
constexpr int64_t partsPerThread = 4, grainNs = 4000;
// Least time of a task that is shared: while workers poll, and while they sleep. An engine takes longer to wake one
// than a system.
constexpr int64_t leastSharedNs = 10000, leastWakingNs = 60000;

int64_t beginOf(const Job &job, int32_t part) {
  const int64_t units = job.task->extent - job.first;
  return job.first + units / job.parts * part + units % job.parts * part / job.parts;
}

int64_t grainOf(const ParallelTask &task) { return std::max<int64_t>(std::abs(task.grain), 1); }

void learn(const ParallelTask &task, int64_t units, int64_t ns) {
  if (!task.pace || units == 0 || ns <= 0) // clocks of pages tick slowly
    return;
  const double unitNs = static_cast<double>(ns) / static_cast<double>(units);
  double &known = task.pace->unitNs;
  known = known == 0 || unitNs < known ? unitNs : known + (unitNs - known) / 8;
}

void runAlone(const ParallelTask &task, int64_t first) {
  const int64_t start = nowNs();
  task.body(task.context, first, task.extent);
  learn(task, task.extent - first, nowNs() - start);
}

void runShared(const ParallelTask &task, int64_t first) {
  const int64_t units = task.extent - first, threads = std::min<int64_t>(std::min(task.threads, maxThreads), units);
  const int64_t shares = std::max<int64_t>(threads, 1), parts = std::min(units / shares, partsPerThread) * shares;
  const Job job{&task, first, static_cast<int32_t>(parts)};
  const int64_t start = nowNs();
  const int64_t own = share(&job, job.parts, static_cast<int32_t>(shares));
  if (own > 0)
    learn(task, units * own / parts, nowNs() - start);
}

} // namespace

int32_t usableCores() { return 1; }

bool leaveCore() { return false; }

int32_t quotaCores(const char *) { return 0; }

void parallelFor(const ParallelTask &task) {
  if (task.extent <= 0)
    return;
  if (task.threads <= 1 || task.extent < 2)
    return task.body(task.context, 0, task.extent);
  const int64_t least = areAwake() ? leastSharedNs : leastWakingNs, grain = grainOf(task);
  const bool isKnown = task.pace && task.pace->unitNs > 0;
  int64_t ns = isKnown ? static_cast<int64_t>(task.pace->unitNs * static_cast<double>(task.extent))
                       : task.extent / grain * grainNs;
  int64_t first = 0;
  if (!isKnown && task.grain < 0 && task.extent > grain) { // a guess: the first grain tells
    const int64_t start = nowNs();
    task.body(task.context, 0, grain);
    first = grain;
    ns = (nowNs() - start) * ((task.extent - grain) / grain);
  }
  if (ns >= least && task.extent - first > 1)
    runShared(task, first);
  else
    runAlone(task, first);
}

} // namespace perpend::runtime

// For the loader's workers and for itself: one part of what is shared.
extern "C" __attribute__((visibility("default"))) void perpend_part(const perpend::runtime::Job *job, int32_t part) {
  job->task->body(job->task->context, perpend::runtime::beginOf(*job, part), perpend::runtime::beginOf(*job, part + 1));
}
