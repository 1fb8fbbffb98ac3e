// Runs code that may crash or hang in a child process.
#ifndef PERPEND_SUPPORT_CHILDPROCESS_H
#define PERPEND_SUPPORT_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace perpend::support {

/// Runs `body` in a copy of this process, limited to some seconds of CPU time. Returns the body's result, or what ended
/// it: a signal, an LLVM error, the time limit. Writes are visible to the parent only in shared memory (mmap). The copy
/// has no other threads, so nothing in it may wait for one.
struct ChildResult {
  bool isDone = false;
  std::string text;
  int signal = 0; ///< the signal that ended it, or 0
};
ChildResult runInChild(unsigned seconds, llvm::function_ref<std::string()> body);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_CHILDPROCESS_H
