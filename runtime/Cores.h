// How many cores this process may use.
#ifndef PERPEND_RUNTIME_CORES_H
#define PERPEND_RUNTIME_CORES_H
#include <cstdint>

namespace perpend::runtime {

// min(cores of the affinity mask, cgroup CPU quota rounded up), at least 1.
int32_t usableCores();

// Moves this thread off the core it runs on, to another one that it may use; it may come back. False: there is none.
// What another program allows the thread at the same moment is lost.
bool leaveCore();

// The tightest CPU quota of the process's cgroup (v1 and v2) and its parents, rounded up to cores; 0 if there is none.
// root is a prefix of /proc and /sys, "" but for tests.
int32_t quotaCores(const char *root);

} // namespace perpend::runtime
#endif
