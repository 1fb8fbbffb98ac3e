//===- KernelFacts.h - what a report says of a kernel ------------*- C++ -*-===//

#ifndef PERPEND_KERNELFACTS_H
#define PERPEND_KERNELFACTS_H

#include "tile/KernelWork.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace perpend {

struct KernelFacts {
  std::string name;
  std::vector<std::string> nodes; ///< of the model, that it computes
  int64_t calls = 0;              ///< places in main that call it
  /// Of all calls, in the model's symbols; none: its operators are not counted, or differ from run to run.
  std::optional<tile::KernelWork> work;
};

/// The kernels of a module behind the phase `plan`, in their order.
std::vector<KernelFacts> kernelFactsOf(mlir::ModuleOp module);
} // namespace perpend

#endif
