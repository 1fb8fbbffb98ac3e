//===- Python.h - Python programs that the tool runs -------------*- C++ -*-===//

#ifndef PERPEND_CLI_PYTHON_H
#define PERPEND_CLI_PYTHON_H

#include "cli/Options.h"

namespace perpend::cli {
/// $PERPEND_PYTHON, the environment in the source tree, or python3 on the path. Empty: none.
std::string findPython();
/// Where the tool's source tree is, if it runs from its build folder; else empty.
std::string findSourceTree();
/// The exit code of the program, negative where it did not end by itself; its output goes where the tool's goes.
/// `onSignal`: the message where a signal ended it. `errors`: a file for the text of its errors, which is then printed
/// without colours; empty: it is printed as it comes.
int runProgram(StringRef program, ArrayRef<std::string> arguments, StringRef onSignal, StringRef errors = "");
} // namespace perpend::cli

#endif
