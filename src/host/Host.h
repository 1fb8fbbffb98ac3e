//===- Host.h - the host dialect --------------------------------*- C++ -*-===//

#ifndef PERPEND_HOST_HOST_H
#define PERPEND_HOST_HOST_H

#include "graph/Graph.h"
#include "tile/ir/Tile.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <vector>

namespace perpend::host {
using graph::ShapeAttr;
using graph::SymbolicInt;

/// The memory of the process.
inline constexpr llvm::StringLiteral hostMemory = "host";
} // namespace perpend::host

#include "host/HostDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "host/HostTypes.h.inc"
#define GET_OP_CLASSES
#include "host/HostOps.h.inc"

#endif
