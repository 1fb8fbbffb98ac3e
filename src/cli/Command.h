//===- Command.h - the commands of the perpend tool -------------*- C++ -*-===//
//
// Each command is one function and one entry of the table in Command.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_COMMAND_H
#define PERPEND_CLI_COMMAND_H

#include "cli/Options.h"

namespace perpend::cli {

struct Command {
  StringRef name, summary, usage;
  /// Shown below the options: explanations and examples.
  StringRef details;
  /// Returns an ExitCode.
  int (*run)(const Command &command, ArrayRef<StringRef> arguments);
};

ArrayRef<Command> commands();
/// Null if there is no command of this name; prints that, with the nearest. `kind` describes the commands.
const Command *findCommand(ArrayRef<Command> commands, StringRef name, StringRef kind);

/// Runs the action of a command that the first of the arguments names, or lists the actions (--help).
int runAction(const Command &command, ArrayRef<Command> actions, ArrayRef<StringRef> arguments);

/// Parses `arguments`. Returns an exit code if the command is finished (--help, errors). Expects at least
/// `positionalCount` other arguments; `what` describes the first.
std::optional<int> parseArguments(const Command &command, OptionList &options, ArrayRef<StringRef> arguments,
                                  size_t positionalCount, std::vector<std::string> &positional,
                                  StringRef what = "a model", bool mayBeMore = false);

int runCompile(const Command &command, ArrayRef<StringRef> arguments);
int runRun(const Command &command, ArrayRef<StringRef> arguments);
int runCheck(const Command &command, ArrayRef<StringRef> arguments);
int runBench(const Command &command, ArrayRef<StringRef> arguments);
int runInspect(const Command &command, ArrayRef<StringRef> arguments);
int runTune(const Command &command, ArrayRef<StringRef> arguments);
int runDb(const Command &command, ArrayRef<StringRef> arguments);
int runLlm(const Command &command, ArrayRef<StringRef> arguments);
int runTokenize(const Command &command, ArrayRef<StringRef> arguments);
int runTargets(const Command &command, ArrayRef<StringRef> arguments);

/// The main function of `perpend`. Returns an ExitCode.
int runCommandLine(int argumentCount, char **arguments);
} // namespace perpend::cli

#endif
