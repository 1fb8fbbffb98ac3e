// mlir-opt with Perpend's dialects, passes and phases.
#include "cli/OptTool.h"

int main(int argumentCount, char **arguments) { return perpend::cli::runOptTool(argumentCount, arguments); }
