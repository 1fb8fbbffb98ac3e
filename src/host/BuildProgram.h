//===- BuildProgram.h - main as a host program ------------------*- C++ -*-===//

#ifndef PERPEND_HOST_BUILDPROGRAM_H
#define PERPEND_HOST_BUILDPROGRAM_H

#include "host/Host.h"
#include "host/MemoryPlan.h"

namespace perpend::host {
/// Puts a host.entry of the same name, and segments, in the place of main. Attributes of main and of its arguments and
/// results stay. Buffers and rooms have memory of their own, and no lifetimes yet (ShareMemory.h).
EntryOp buildProgram(mlir::func::FuncOp main, const MemoryPlan &plan, const target::Machine &machine);
} // namespace perpend::host

#endif
