//===- BuildBinding.h - from extents of inputs to symbols -------*- C++ -*-===//

#ifndef PERPEND_HOST_BUILDBINDING_H
#define PERPEND_HOST_BUILDBINDING_H

#include "host/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::host {
/// Emits what binds the symbols of main to the extents of an entry's inputs, and refuses inputs that do not fit.
void buildBinding(mlir::OpBuilder &builder, mlir::func::FuncOp main, EntryOp entry);
} // namespace perpend::host

#endif
