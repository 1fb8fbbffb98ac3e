//===- OptTool.h - the main function of perpend-opt -------------*- C++ -*-===//

#ifndef PERPEND_CLI_OPTTOOL_H
#define PERPEND_CLI_OPTTOOL_H

namespace perpend::cli {
/// mlir-opt with Perpend's dialects and passes. Each phase of the compiler is a pipeline:
/// --perpend-fuse="target=x86-64-v3 level=3".
int runOptTool(int argumentCount, char **arguments);
} // namespace perpend::cli

#endif
