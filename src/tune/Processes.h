//===- Processes.h - child processes of a tuner -----------------*- C++ -*-===//

#ifndef PERPEND_TUNE_PROCESSES_H
#define PERPEND_TUNE_PROCESSES_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace perpend::tune {

/// Starts a copy of this process that writes the result of `work` to `end`. It exits with this process, and has a limit
/// of additional memory.
pid_t startCopy(int end, llvm::function_ref<std::string()> work);
/// Starts a program whose output goes to `end`.
pid_t startProgram(int end, std::vector<std::string> words);
/// The output of the process that `start` creates. If it does not finish normally within the time: "crashed", "timed
/// out" or "not tried", and a line with the reason. `isInterrupted` stops it.
std::string outputOf(double seconds, const std::function<bool()> &isInterrupted,
                     llvm::function_ref<pid_t(int end)> start);
} // namespace perpend::tune

#endif
