//===- KernelModel.h - a kernel as a model of its own -----------*- C++ -*-===//

#ifndef PERPEND_TUNING_KERNELMODEL_H
#define PERPEND_TUNING_KERNELMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace perpend {

/// Builds a module whose main consists of the first call of this kernel. Constants stay constants; values that the
/// model computes become inputs. The kernel must come from a module after the phase `fuse`.
mlir::OwningOpRef<mlir::ModuleOp> kernelModelOf(mlir::func::FuncOp kernel);
} // namespace perpend

#endif
