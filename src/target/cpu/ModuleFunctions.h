//===- ModuleFunctions.h - the functions of the module ABI ------*- C++ -*-===//
//
// The functions that a host program is compiled to (the contract is
// runtime/include/perpend_module.h). Each emitter adds one function to the module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULEFUNCTIONS_H
#define PERPEND_TARGET_CPU_MODULEFUNCTIONS_H

#include "host/Host.h"
#include "target/Machine.h"

namespace perpend::target {
/// What follows perpend_bind, perpend_sizes and perpend_run in the names of an entry's functions: nothing for the
/// first.
std::string suffixOfEntry(size_t number);

/// perpend_bind(dims, symbols, error): computes the inputs' symbols from their extents, and checks requirements.
void emitBind(host::EntryOp entry, llvm::StringRef suffix);
/// perpend_sizes(symbols, bytes, dims): computes sizes of arena buffers and extents of outputs.
void emitSizes(host::EntryOp entry, llvm::StringRef suffix);
/// perpend_run(frame): launches kernels through frame->parallel; branches, loops, symbols from data. The kernels'
/// entries must exist already. `machine` decides which code of the library it calls.
void emitRun(host::EntryOp entry, llvm::StringRef suffix, const Machine &machine);
} // namespace perpend::target

#endif
