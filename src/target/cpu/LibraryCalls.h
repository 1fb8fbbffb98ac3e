//===- LibraryCalls.h - what a call of the library is told ------*- C++ -*-===//
//
// The tables of runtime/library/CallSignature.h, for code and for programs of accelerators.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_LIBRARYCALLS_H
#define PERPEND_TARGET_CPU_LIBRARYCALLS_H

#include "host/Host.h"

namespace perpend::target {

/// For example perpend_string_concat for string.concat.
std::string symbolOfFunction(llvm::StringRef function);

/// The types of inputs and results.
llvm::SmallVector<mlir::RankedTensorType> tensorsOf(host::CallOp op);

/// A CallCounts, then a CallTensor for each operand and result.
llvm::SmallVector<int32_t> signatureOf(host::CallOp op);

} // namespace perpend::target

#endif
