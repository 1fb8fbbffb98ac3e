//===- AssumedExtents.h - finds extents that were not given -----*- C++ -*-===//

#ifndef PERPEND_CLI_ASSUMEDEXTENTS_H
#define PERPEND_CLI_ASSUMEDEXTENTS_H

#include "arrays/Array.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace perpend::cli {

/// The symbols in an extent's text, such as "2*n + 1".
std::set<std::string> symbolsIn(llvm::StringRef text);

/// Adds a value for each symbol of inputs without an array: 2, or powers of 2 up to 512, as small as possible, such
/// that the model accepts inputs of these shapes and gives nonempty outputs. More than four symbols get the same value.
/// Returns their names, in the order of the inputs.
std::vector<std::string> assumeExtents(perpend_model *model, llvm::ArrayRef<std::optional<arrays::Array>> given,
                                       llvm::StringMap<int64_t> &symbols);
} // namespace perpend::cli

#endif
