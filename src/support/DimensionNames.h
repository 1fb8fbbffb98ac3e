//===- DimensionNames.h - symbols of the inputs' dimensions -----*- C++ -*-===//

#ifndef PERPEND_SUPPORT_DIMENSIONNAMES_H
#define PERPEND_SUPPORT_DIMENSIONNAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace perpend::support {

/// Whether a model says no name of a dimension. For dimensions that they know nothing about, exporters write None, ?,
/// -1, unk__5 and the like: two of these need not be equal.
bool isUnnamed(llvm::StringRef dimension);

/// Turns a name into an identifier; other characters become '_'.
std::string identifierOf(llvm::StringRef name);

/// The symbol of the dimension `axis` of an input: its own name, or x_dim0 if it has none.
std::string symbolOfDimension(llvm::StringRef input, size_t axis, llvm::StringRef dimension = "");
} // namespace perpend::support

#endif
