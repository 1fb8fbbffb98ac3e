//===- Devices.h - which values of main lie in which memory -----*- C++ -*-===//

#ifndef PERPEND_HOST_DEVICES_H
#define PERPEND_HOST_DEVICES_H

#include "graph/Graph.h"
#include "graph/States.h"
#include "target/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::host {

/// The device on which a call runs its kernel; null: the host runs it.
const target::Machine *deviceOf(graph::CallKernelOp call, const target::Machine &machine);

using graph::originOf;

/// The memory of a value of main whose places are decided by who computes it: views lie where their source does.
llvm::StringRef memoryOf(mlir::Value value, const target::Machine &machine);

/// The names of all memories in which a program may have places.
llvm::SmallVector<llvm::StringRef> memoriesOf(const target::Machine &machine);
} // namespace perpend::host

#endif
