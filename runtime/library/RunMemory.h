// Memory for the data of a run: two pools that alternate, for this run and the previous one.
#ifndef PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#define PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#include "library/MemoryPool.h"

namespace perpend::library {

class RunMemory {
public:
  // Starts a run. keepsLatest: allocations of the previous run stay valid, because its outputs may be this run's
  // inputs, and those of earlier runs are reused. Otherwise allocations of the previous run are reused, and those that
  // it kept stay valid.
  void nextRun(bool keepsLatest) {
    current = keepsLatest ? 1 - current : current;
    pools[current].rewind();
  }

  // Whether a pointer was allocated for this run or an earlier one.
  bool contains(const void *pointer) const { return pools[0].contains(pointer) || pools[1].contains(pointer); }

  // See MemoryPool.
  void *allocate(int64_t bytes, int64_t alignment) { return pools[current].allocate(bytes, alignment); }
  template <typename T> T *allocateArray(int64_t count) { return pools[current].allocateArray<T>(count); }

private:
  MemoryPool pools[2];
  int current = 0;
};

} // namespace perpend::library
#endif
