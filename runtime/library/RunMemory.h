// Memory for what a run makes, handed out piece by piece and never given back: the next runs use it again.
#ifndef PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#define PERPEND_RUNTIME_LIBRARY_RUNMEMORY_H
#include <cstddef>
#include <cstdint>

namespace perpend::library {

class RunMemory {
public:
  RunMemory() = default;
  RunMemory(const RunMemory &) = delete;
  RunMemory &operator=(const RunMemory &) = delete;
  ~RunMemory();

  // Starts a run. keepsLatest: the pieces of the run before stay readable, because its outputs may be the inputs of
  // this run, and those of the runs before it are handed out again. Otherwise the pieces of the run before are, and
  // those that it kept stay.
  void nextRun(bool keepsLatest);

  // Whether a pointer was handed out for this run or an earlier one.
  bool contains(const void *pointer) const;

  // Uninitialised memory; alignment: a power of two up to 64. nullptr: no memory.
  void *allocate(int64_t bytes, int64_t alignment);
  template <typename T> T *allocateArray(int64_t count) {
    return static_cast<T *>(count <= INT64_MAX / static_cast<int64_t>(sizeof(T))
                                ? allocate(count * static_cast<int64_t>(sizeof(T)), alignof(T))
                                : nullptr);
  }

private:
  struct alignas(64) Block {
    Block *next;
    int64_t capacity;
  };
  // A new block is as large as all others together, so a pool holds at most four times what one run needed.
  struct Pool {
    Block *first, *current;
    int64_t used, total; // bytes of the current block that are handed out; of all blocks
    void *take(int64_t bytes, int64_t alignment);
    bool grow(int64_t bytes);
  };
  Pool pools[2] = {}; // of this run and of the run before
  int current = 0;
};

} // namespace perpend::library
#endif
