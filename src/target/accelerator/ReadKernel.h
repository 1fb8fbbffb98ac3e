//===- ReadKernel.h - from blocks to nests ----------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_ACCELERATOR_READKERNEL_H
#define PERPEND_TARGET_ACCELERATOR_READKERNEL_H

#include "target/accelerator/Nest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace perpend::accelerator {

/// A kernel of blocks that no schedule has changed, for these values of its symbols. Errors: what no nest can say; the
/// text names the block. contents: of the first arguments, or null where a run decides.
llvm::Expected<Kernel> readKernel(mlir::func::FuncOp kernel, const llvm::StringMap<int64_t> &symbols,
                                  llvm::ArrayRef<mlir::ElementsAttr> contents = {});

} // namespace perpend::accelerator

#endif
