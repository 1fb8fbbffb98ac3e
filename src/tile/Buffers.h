//===- Buffers.h - elements in memory ---------------------------*- C++ -*-===//
//
// Elements and constants as they lie in memory.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_BUFFERS_H
#define PERPEND_TILE_BUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <vector>

namespace perpend::tile {

/// The error for a tensor with more bytes than 63 bits count, or whose size no expression says.
void reportTooLarge(mlir::Value tensor);

/// Bytes of one element in memory.
int64_t elementBytes(mlir::Type elementType);

/// The elements of a constant as they lie in memory (row-major; bool one byte each). Points into the attribute where
/// it can, else into `storage`.
llvm::ArrayRef<char> constantBytes(mlir::ElementsAttr value, std::vector<char> &storage);
} // namespace perpend::tile

#endif
