// Affinity mask and cgroup quotas. In a container, the cgroup path of /proc may not exist under the mount; missing
// files are skipped, up to the mount point.
#include "Cores.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

constexpr size_t pathCapacity = 1024;

// The first capacity - 1 bytes of a file as text; false if it cannot be read.
bool readFile(const char *path, char *text, size_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t bytes = read(file, text, capacity - 1);
  close(file);
  text[bytes > 0 ? bytes : 0] = '\0';
  return bytes > 0;
}

int32_t quotaOf(long long quotaUs, long long periodUs) {
  if (quotaUs <= 0 || periodUs <= 0)
    return 0;
  return static_cast<int32_t>(std::clamp((quotaUs + periodUs - 1) / periodUs, 1ll, 1ll << 20));
}

int32_t readQuotaV2(const char *folder) {
  char path[pathCapacity + 32], text[64];
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  long long quota = 0, period = 0;
  if (!readFile(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2)
    return 0; // "max 100000": no limit
  return quotaOf(quota, period);
}

int32_t readQuotaV1(const char *folder) {
  char path[pathCapacity + 32], quota[64], period[64];
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!readFile(path, quota, sizeof quota))
    return 0;
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  return readFile(path, period, sizeof period) ? quotaOf(atoll(quota), atoll(period)) : 0;
}

int32_t tighter(int32_t a, int32_t b) { return a && b ? std::min(a, b) : std::max(a, b); }

// Walks from mount + group up to the mount point.
int32_t walkUp(const char *root, const char *mount, const char *group, int32_t (*readQuota)(const char *)) {
  char folder[pathCapacity];
  int length = snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
  if (length < 0 || static_cast<size_t>(length) >= sizeof folder)
    return 0;
  size_t mountLength = strlen(root) + strlen(mount);
  int32_t cores = 0;
  while (true) {
    cores = tighter(cores, readQuota(folder));
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= mountLength || !slash)
      return cores;
    *std::max(slash, folder + mountLength) = '\0';
  }
}

bool listsCpu(const char *controllers) {
  for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
    if (!strncmp(at, "cpu", 3) && (at[3] == ',' || at[3] == '\0'))
      return true;
  return false;
}

// One line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1).
int32_t quotaOfLine(const char *root, char *line) {
  char *controllers = strchr(line, ':');
  char *group = controllers ? strchr(controllers + 1, ':') : nullptr;
  if (!group)
    return 0;
  *group++ = '\0';
  ++controllers;
  if (!*controllers)
    return walkUp(root, "/sys/fs/cgroup", group, readQuotaV2);
  if (!listsCpu(controllers))
    return 0;
  return tighter(walkUp(root, "/sys/fs/cgroup/cpu", group, readQuotaV1),
                 walkUp(root, "/sys/fs/cgroup/cpu,cpuacct", group, readQuotaV1));
}

} // namespace

int32_t quotaCores(const char *root) {
  char path[pathCapacity], text[4096];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!readFile(path, text, sizeof text))
    return 0;
  int32_t cores = 0;
  char *rest = nullptr;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest))
    cores = tighter(cores, quotaOfLine(root, line));
  return cores;
}

// Excludes the current core from the mask: the scheduler moves the thread to another core, where it stays when all are
// allowed again. A change of this worker's mask by another program during these microseconds is lost.
bool leaveCore() {
  cpu_set_t allowed, others;
  int core = sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return false;
  others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0)
    return false;
  return sched_setaffinity(0, sizeof allowed, &allowed) == 0;
}

int32_t usableCores() {
  cpu_set_t mask;
  int32_t cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask)
                                                                : static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(tighter(cores, quotaCores("")), 1);
}

} // namespace perpend::runtime
