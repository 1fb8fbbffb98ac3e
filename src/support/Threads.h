// Threads that the system may refuse, for which std::thread ends a program without exceptions.
#ifndef PERPEND_SUPPORT_THREADS_H
#define PERPEND_SUPPORT_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>

namespace perpend::support {

/// Runs `work` on a thread that nobody waits for. False: the system has none for it.
bool startThread(std::function<void()> work);

/// Runs work(0) to work(count - 1), each beside the others as far as the system has threads, and returns when all are
/// done.
void runBeside(unsigned count, llvm::function_ref<void(unsigned)> work);

} // namespace perpend::support

#endif
