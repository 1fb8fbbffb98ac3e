//===- KernelModel.h - a kernel as a model of its own ------------*- C++ -*-===//

#ifndef PERPEND_KERNELMODEL_H
#define PERPEND_KERNELMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace perpend {

/// A module whose main is one call of the kernel, as the first one in its module: constants stay what they are, and
/// what the model computes becomes an input. The kernel is one behind the phase `fuse`.
mlir::OwningOpRef<mlir::ModuleOp> kernelModelOf(mlir::func::FuncOp kernel);
} // namespace perpend

#endif
