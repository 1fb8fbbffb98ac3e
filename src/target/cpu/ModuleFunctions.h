//===- ModuleFunctions.h - the functions of the module ABI ------*- C++ -*-===//
//
// The functions that a host program is compiled to (the contract is
// runtime/include/perpend_module.h). Each emitter adds one function to the module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULEFUNCTIONS_H
#define PERPEND_TARGET_CPU_MODULEFUNCTIONS_H

#include "host/Host.h"

namespace perpend::target {
/// perpend_bind(dims, symbols, error): computes the inputs' symbols from their extents, and checks requirements.
void emitBind(host::EntryOp entry);
/// perpend_sizes(symbols, bytes, dims): computes sizes of arena buffers and extents of outputs.
void emitSizes(host::EntryOp entry);
/// perpend_run(frame): launches kernels through frame->parallel; branches, loops, symbols from data. The kernels'
/// entries must exist already.
void emitRun(host::EntryOp entry);
} // namespace perpend::target

#endif
