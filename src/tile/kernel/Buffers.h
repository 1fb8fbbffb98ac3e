//===- Buffers.h - elements in memory ---------------------------*- C++ -*-===//
//
// Elements and constants as they lie in memory.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_BUFFERS_H
#define PERPEND_TILE_KERNEL_BUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <vector>

namespace perpend::tile {

/// Reports a tensor whose size in bytes exceeds 63 bits or is given by no expression.
void reportTooLarge(mlir::Value tensor);

/// Bytes of one element in memory.
int64_t elementBytes(mlir::Type elementType);

/// A constant's bytes in the layout of memory (row-major, one byte per bool). Points into the attribute if possible,
/// otherwise into `storage`.
llvm::ArrayRef<char> constantBytes(mlir::ElementsAttr value, std::vector<char> &storage);
} // namespace perpend::tile

#endif
