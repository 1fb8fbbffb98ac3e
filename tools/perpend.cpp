// The command-line tool; src/cli holds the commands.
#include "cli/Command.h"

int main(int argumentCount, char **arguments) { return perpend::cli::runCommandLine(argumentCount, arguments); }
