//===- StoredElements.h - constants from the bytes of a file ----*- C++ -*-===//

#ifndef PERPEND_GRAPH_STOREDELEMENTS_H
#define PERPEND_GRAPH_STOREDELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <memory>

namespace perpend::graph {

/// Bytes of one element in memory; types below 8 bits take one byte.
uint64_t storedSize(mlir::Type elementType);
/// Bytes of a value in memory; 0 if an extent is no number.
int64_t storedBytes(mlir::Value value);

/// The elements of a tensor, row-major. Few become a dense attribute, which importers can read. Many become a resource
/// of this name (empty: "weight"), which points to `bytes` and keeps their owner; without an owner it has a copy.
mlir::ElementsAttr storedElements(mlir::RankedTensorType type, llvm::StringRef name, llvm::StringRef bytes,
                                  std::shared_ptr<const void> owner);
} // namespace perpend::graph

#endif
