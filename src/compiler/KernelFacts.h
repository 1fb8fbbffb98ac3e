//===- KernelFacts.h - facts of a kernel for reports ------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_KERNELFACTS_H
#define PERPEND_COMPILER_KERNELFACTS_H

#include "tile/kernel/KernelWork.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace perpend {

struct KernelFacts {
  std::string name;
  std::vector<std::string> nodes; ///< nodes of the model that it computes
  int64_t calls = 0;              ///< number of call sites in main
  /// Work of all calls, in the model's symbols; none if its operators are not counted or the number of calls varies.
  std::optional<tile::KernelWork> work;
};

/// The kernels of a module after the phase `plan`, in module order.
std::vector<KernelFacts> kernelFactsOf(mlir::ModuleOp module);
} // namespace perpend

#endif
