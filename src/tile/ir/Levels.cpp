//===- Levels.cpp - who runs the iterations of a kernel's loops -----------===//

#include "tile/ir/Levels.h"

#include "tile/Attributes.h"

using namespace mlir;

namespace perpend::tile {

ForOp loopOfUnits(func::FuncOp kernel) {
  auto body = kernel.getBody().front().without_terminator();
  auto loop = llvm::hasSingleElement(body) ? dyn_cast<ForOp>(*body.begin()) : ForOp();
  return loop && loop.getKind() == LoopKind::Parallel ? loop : ForOp();
}

std::string unmetBinding(func::FuncOp kernel, const target::Machine &target) {
  ForOp units = loopOfUnits(kernel);
  StringRef outermost;
  if (!target.levels.empty())
    outermost = target.levels.front().name;
  std::string why;
  kernel.walk([&](ForOp loop) {
    auto level = loop.getAnnotations().getAs<StringAttr>(levelAnnotation);
    if (!level || !why.empty())
      return;
    std::string bound = "the loop '" + loop.getName().str() + "' is bound to '" + level.str() + "', but ";
    if (target.levels.empty())
      why = bound + "the target has no levels";
    else if (level != outermost)
      why = bound + "the target runs units of kernels at '" + outermost.str() + "' only";
    else if (loop != units)
      why = bound + "is not the kernel's only outermost loop";
  });
  return why;
}
} // namespace perpend::tile
