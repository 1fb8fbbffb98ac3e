//===- DimensionNames.h - the symbols of inputs' dimensions -----*- C++ -*-===//

#ifndef PERPEND_SUPPORT_DIMENSIONNAMES_H
#define PERPEND_SUPPORT_DIMENSIONNAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace perpend::support {

/// Whether a model says no name of a dimension. For dimensions that they know nothing about, exporters write None, ?,
/// -1, unk__5 and the like: two of these need not be equal.
bool isUnnamed(llvm::StringRef dimension);

/// An identifier made of a name: other characters become '_'.
std::string identifierOf(llvm::StringRef name);

/// What the dimension at `axis` of an input is called: by its own name, or x_dim0 when it has none.
std::string symbolOfDimension(llvm::StringRef input, size_t axis, llvm::StringRef dimension = "");
} // namespace perpend::support

#endif
