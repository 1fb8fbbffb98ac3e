//===- Python.h - runs Python programs --------------------------*- C++ -*-===//

#ifndef PERPEND_CLI_PYTHON_H
#define PERPEND_CLI_PYTHON_H

#include "cli/Options.h"

namespace perpend::cli {
/// $PERPEND_PYTHON, the environment in the source tree, or python3 on the path. Empty: none found.
std::string findPython();
/// The tool's source tree if it runs from its build folder; otherwise empty.
std::string findSourceTree();
/// Runs a program with the tool's standard output. Returns its exit code, negative if it did not exit by itself.
/// `onSignal`: message if a signal ended it. `errors`: file for its error output, which is then printed without
/// colours; empty: printed directly.
int runProgram(StringRef program, ArrayRef<std::string> arguments, StringRef onSignal, StringRef errors = "");
} // namespace perpend::cli

#endif
