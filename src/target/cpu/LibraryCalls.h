//===- LibraryCalls.h - what a call of the library is told ------*- C++ -*-===//
//
// The tables of runtime/library/CallSignature.h, for code and for programs of accelerators.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_LIBRARYCALLS_H
#define PERPEND_TARGET_CPU_LIBRARYCALLS_H

#include "host/Host.h"

namespace perpend::target {

struct Machine;

/// For example perpend_string_concat for string.concat, or the part of a function for the type of its first operand
/// and the machine's instruction sets (runtime/library/Functions.def); null: none.
std::string symbolOfFunction(host::CallOp call, const Machine *machine = nullptr);

/// The types of inputs and results.
llvm::SmallVector<mlir::RankedTensorType> tensorsOf(host::CallOp op);

/// A CallCounts, then a CallTensor for each operand and result.
llvm::SmallVector<int32_t> signatureOf(host::CallOp op);

} // namespace perpend::target

#endif
