// The command-line tool; src/cli holds the commands.
#include "cli/Command.h"
#include "cli/EarlyEnd.h"

int main(int argumentCount, char **arguments) {
  perpend::cli::cleanUpOnSignals();
  return perpend::cli::runCommandLine(argumentCount, arguments);
}
