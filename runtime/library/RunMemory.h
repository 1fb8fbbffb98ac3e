// Memory for what a run makes: two pools that take turns, of this run and of the run before.
#ifndef PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#define PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#include "library/MemoryPool.h"

namespace perpend::library {

class RunMemory {
public:
  // Starts a run. keepsLatest: the pieces of the run before stay readable, because its outputs may be the inputs of
  // this run, and those of the runs before it are handed out again. Otherwise the pieces of the run before are, and
  // those that it kept stay.
  void nextRun(bool keepsLatest) {
    current = keepsLatest ? 1 - current : current;
    pools[current].rewind();
  }

  // Whether a pointer was handed out for this run or an earlier one.
  bool contains(const void *pointer) const { return pools[0].contains(pointer) || pools[1].contains(pointer); }

  // As of MemoryPool.
  void *allocate(int64_t bytes, int64_t alignment) { return pools[current].allocate(bytes, alignment); }
  template <typename T> T *allocateArray(int64_t count) { return pools[current].allocateArray<T>(count); }

private:
  MemoryPool pools[2];
  int current = 0;
};

} // namespace perpend::library
#endif
