//===- Python.h - Python programs that the tool runs -------------*- C++ -*-===//

#ifndef PERPEND_CLI_PYTHON_H
#define PERPEND_CLI_PYTHON_H

#include "cli/Options.h"

namespace perpend::cli {
/// $PERPEND_PYTHON, the environment in the source tree, or python3 on the path. Empty: none.
std::string findPython();
/// Where the tool's source tree is, if it runs from its build folder; else empty.
std::string findSourceTree();
/// The exit code of the program; its output goes where the tool's goes.
int runProgram(StringRef program, ArrayRef<std::string> arguments);
} // namespace perpend::cli

#endif
