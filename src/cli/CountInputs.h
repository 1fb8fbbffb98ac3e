//===- CountInputs.h - inputs that determine the amount of work -*- C++ -*-===//

#ifndef PERPEND_CLI_COUNTINPUTS_H
#define PERPEND_CLI_COUNTINPUTS_H

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace perpend::cli {

/// The names of main's integer inputs (scalars or vectors) that determine the number of iterations or the size of a
/// tensor, or that are not positions, such as lengths: with 0 for them, a run would show little.
std::set<std::string> countInputsOf(mlir::ModuleOp module);
} // namespace perpend::cli

#endif
