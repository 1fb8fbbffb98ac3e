//===- Devices.h - who runs kernels, and in which memory values lie -*- C++ -*-===//
//
// Before memory is planned, a value of main lies in a memory by what stands in
// main: at the call that computes it (host.memories) or at a transfer. Behind,
// the types of buffers and places say it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_DEVICES_H
#define PERPEND_HOST_DEVICES_H

#include "graph/Graph.h"
#include "graph/States.h"
#include "host/Host.h"
#include "target/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::host {

/// Strings, of a call of a kernel in main: the memory of each result. Without it they lie in the farthest memory in
/// which the kernel's machine can write, and host-place-values may bring them nearer.
inline constexpr llvm::StringLiteral memoriesAttribute = "host.memories";
/// Unit, of a transfer or a buffer: its memory stays as it is.
inline constexpr llvm::StringLiteral pinnedAttribute = "host.pinned";

/// The device that runs the kernel of a call, or the machine itself.
const target::Machine &runnerOf(graph::CallKernelOp call, const target::Machine &machine);
/// The same of a launch; null: there is no such device.
const target::Machine *runnerOf(LaunchOp launch, const target::Machine &machine);

using graph::originOf;

/// The memory of a value of main: views lie where their source does.
llvm::StringRef memoryOf(mlir::Value value, const target::Machine &machine);
/// Whether main says so itself.
bool isPinned(mlir::Value value);
/// Where a call's kernel has scratch memory: the farthest memory that its machine reads and writes.
llvm::StringRef scratchMemoryOf(graph::CallKernelOp call, const target::Machine &machine);

/// Moves a buffer, or a place, to another memory: its type and those of all places in it.
void setMemory(mlir::Value value, llvm::StringRef memory);

/// Bytes of the constants of a module that loading puts into a memory.
int64_t constantBytesIn(llvm::StringRef memory, mlir::ModuleOp module);
} // namespace perpend::host

#endif
