// Code that may not come back, in a process of its own.
#ifndef PERPEND_SUPPORT_CHILDPROCESS_H
#define PERPEND_SUPPORT_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace perpend::support {

/// Runs `body` in a copy of this process, for so many seconds of its time at most. Returns what it returns, or what
/// ended it: a signal, an error of LLVM's, the time. Only memory that both share (mmap) keeps what it writes. Other
/// threads do not exist in the copy: nothing in it waits for one.
struct ChildResult {
  bool isDone = false;
  std::string text;
  int signal = 0; ///< that ended it, if one did
};
ChildResult runInChild(unsigned seconds, llvm::function_ref<std::string()> body);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_CHILDPROCESS_H
