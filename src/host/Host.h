//===- Host.h - the host dialect --------------------------------*- C++ -*-===//

#ifndef PERPEND_HOST_HOST_H
#define PERPEND_HOST_HOST_H

#include "graph/Graph.h"
#include "target/Machine.h"
#include "tile/ir/Tile.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <vector>

namespace perpend::host {
using graph::ShapeAttr;
using graph::SymbolicInt;

using target::hostMemory;
class EntryOp;
/// The programs of a module: first `main`, if there is one, then the others in order.
llvm::SmallVector<EntryOp, 2> entriesOf(mlir::ModuleOp module);
/// Of an argument of an entry, a symbol: the state (host.state) whose value it is, before or after the run.
inline constexpr llvm::StringLiteral stateAttribute = "host.state";
/// Unit, of an output that is a state: it lies in the memory of the input.
inline constexpr llvm::StringLiteral inPlaceAttribute = "host.in_place";
} // namespace perpend::host

#include "host/HostDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "host/HostTypes.h.inc"
#define GET_OP_CLASSES
#include "host/HostOps.h.inc"

#endif
