//===- ModuleFunctions.h - the functions of the module ABI -------*- C++ -*-===//
//
// What a host program becomes (runtime/include/perpend_module.h is the contract).
// Each adds one function to the module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULEFUNCTIONS_H
#define PERPEND_TARGET_CPU_MODULEFUNCTIONS_H

#include "host/Host.h"

namespace perpend::target {
/// perpend_bind(dims, symbols, error): the symbols of inputs from their extents, and checks.
void emitBind(host::EntryOp entry);
/// perpend_sizes(symbols, bytes, dims): sizes of arena buffers, extents of outputs.
void emitSizes(host::EntryOp entry);
/// perpend_run(frame): kernels through frame->parallel, branches, loops, symbols from data. The kernels' entries
/// must be there.
void emitRun(host::EntryOp entry);
} // namespace perpend::target

#endif
