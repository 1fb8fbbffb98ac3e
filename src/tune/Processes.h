//===- Processes.h - processes of a tuner ------------------------*- C++ -*-===//

#ifndef PERPEND_TUNE_PROCESSES_H
#define PERPEND_TUNE_PROCESSES_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace perpend::tune {

/// A copy of this process that writes what `work` returns to `end`. It ends with this one, and has so much memory more.
pid_t startCopy(int end, llvm::function_ref<std::string()> work);
/// A program that prints to `end`.
pid_t startProgram(int end, std::vector<std::string> words);
/// What the process says that `start` makes; "crashed", "timed out" or "not tried", and a line why, where it does not
/// end well within so many seconds. `isInterrupted` ends it.
std::string outputOf(double seconds, const std::function<bool()> &isInterrupted,
                     llvm::function_ref<pid_t(int end)> start);
} // namespace perpend::tune

#endif
