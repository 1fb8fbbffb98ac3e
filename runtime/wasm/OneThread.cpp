// Cores and the pool of an engine of WebAssembly, which runs a module on one thread.
#include "Cores.h"
#include "Pool.h"

namespace perpend::runtime {

int32_t usableCores() { return 1; }

bool leaveCore() { return false; }

int32_t quotaCores(const char *) { return 0; }

void parallelFor(const ParallelTask &task) {
  if (task.extent > 0)
    task.body(task.context, 0, task.extent);
}

} // namespace perpend::runtime
