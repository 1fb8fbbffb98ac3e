// perpend with one more accelerator.
#include "Ashlar.h"
#include "cli/Command.h"
#include "cli/EarlyEnd.h"

int main(int argumentCount, char **arguments) {
  perpend::target::addAccelerator(ashlar::accelerator(), {ashlar::makeMaker, ashlar::loadProgram});
  perpend::cli::cleanUpOnSignals();
  return perpend::cli::runCommandLine(argumentCount, arguments);
}
