//===- CountInputs.h - inputs that say how much is computed ------*- C++ -*-===//

#ifndef PERPEND_CLI_COUNTINPUTS_H
#define PERPEND_CLI_COUNTINPUTS_H

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace perpend::cli {

/// The names of main's inputs of integers, scalars or vectors, that say how often a loop runs or how large a tensor is,
/// or that are no positions in a tensor, such as lengths: a run says little where they are 0.
std::set<std::string> countInputsOf(mlir::ModuleOp module);
} // namespace perpend::cli

#endif
