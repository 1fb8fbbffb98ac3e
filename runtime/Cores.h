// The number of cores that this process may use.
#ifndef PERPEND_RUNTIME_CORES_H
#define PERPEND_RUNTIME_CORES_H
#include <cstdint>

namespace perpend::runtime {

// min(cores of the affinity mask, cgroup CPU quota rounded up), at least 1.
int32_t usableCores();

// Moves this thread from its core to another permitted one; it may return later. False if there is no other. Overrides
// a change of the thread's mask that another program makes at the same moment.
bool leaveCore();

// The smallest CPU quota of the process's cgroup (v1 and v2) and its parents, rounded up to cores; 0 if there is none.
// root is a prefix of /proc and /sys; "" except in tests.
int32_t quotaCores(const char *root);

} // namespace perpend::runtime
#endif
