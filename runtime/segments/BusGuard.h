// Memory mapped from files that others may cut short. Reading what a file has lost ends a process with SIGBUS; while a
// guard is up, it reads as zeros in guarded ranges, and the range says so. The handler is the process's: signals that
// are not about a guarded range go to the one that was there before, and one that is installed over it stays.
#ifndef PERPEND_RUNTIME_SEGMENTS_BUSGUARD_H
#define PERPEND_RUNTIME_SEGMENTS_BUSGUARD_H
#include <atomic>
#include <cstdint>

namespace perpend::runtime {

// The handler walks the list of ranges, so they are reused but never freed. begin is 0 in unused ones.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> isCut{false};
  GuardedRange *next = nullptr;
};

// Bytes [begin, end), until releaseRange. Null: there is no memory.
GuardedRange *guardRange(uintptr_t begin, uintptr_t end);
void releaseRange(GuardedRange *range);

// The guard is up from the first raiseGuard to the last lowerGuard.
void raiseGuard();
void lowerGuard();

} // namespace perpend::runtime
#endif
