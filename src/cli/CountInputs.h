//===- CountInputs.h - inputs that say how much is computed ------*- C++ -*-===//

#ifndef PERPEND_CLI_COUNTINPUTS_H
#define PERPEND_CLI_COUNTINPUTS_H

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace perpend::cli {

/// The names of those inputs of main, few integers each, that say how often a loop runs or how large a tensor is: one
/// that is 0 makes a run of little meaning.
std::set<std::string> countInputsOf(mlir::ModuleOp module);
} // namespace perpend::cli

#endif
