//===- Levels.cpp - who runs the iterations of a kernel's loops -----------===//

#include "tile/ir/Levels.h"

#include "graph/ErrorKind.h"
#include "tile/Attributes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using perpend::graph::SymbolicInt;

namespace perpend::tile {

ForOp loopOfUnits(func::FuncOp kernel) {
  auto body = kernel.getBody().front().without_terminator();
  auto loop = llvm::hasSingleElement(body) ? dyn_cast<ForOp>(*body.begin()) : ForOp();
  return loop && loop.getKind() == LoopKind::Parallel ? loop : ForOp();
}

/// The only operation in a loop, if that is a loop that may run in parallel.
static ForOp onlyLoopIn(ForOp loop) {
  auto body =
      llvm::make_filter_range(*loop.body(), [](Operation &op) { return !op.hasTrait<OpTrait::IsTerminator>(); });
  auto inner = llvm::hasSingleElement(body) ? dyn_cast<ForOp>(*body.begin()) : ForOp();
  return inner && inner.getKind() == LoopKind::Parallel ? inner : ForOp();
}

static StringRef levelOf(ForOp loop) {
  auto level = loop.getAnnotations().getAs<StringAttr>(levelAnnotation);
  return level ? level.getValue() : StringRef();
}

SmallVector<ForOp> loopsOfLevels(func::FuncOp kernel, const target::Machine &target) {
  SmallVector<ForOp> loops(target.levels.size());
  ForOp loop = loopOfUnits(kernel);
  if (target.launch == target::Launch::Ranges) {
    if (!loops.empty())
      loops.front() = loop;
    return loops;
  }
  for (size_t next = 0; loop; loop = onlyLoopIn(loop)) {
    StringRef level = levelOf(loop);
    size_t own =
        llvm::find_if(target.levels, [&](const auto &each) { return each.name == level; }) - target.levels.begin();
    if (level.empty() && next == 0)
      own = 0;
    if (own < next || own >= loops.size())
      break;
    loops[own] = loop;
    next = own + 1;
  }
  return loops;
}

const target::Machine *machineOf(func::FuncOp kernel, const target::Machine &target) {
  auto device = kernel->getAttrOfType<StringAttr>(deviceAttribute);
  return device ? target.device(device) : &target;
}

LogicalResult reportDevice(func::FuncOp kernel, const target::Machine &target) {
  auto names = llvm::map_range(target.devices, [](const target::Machine &device) { return device.name; });
  return kernel.emitError("kernel '") << kernel.getSymName() << "': expected one of the devices of '" << target.name
                                      << "' (" << (target.devices.empty() ? "there is none" : llvm::join(names, ", "))
                                      << "), got " << kernel->getAttr(deviceAttribute)
                                      << graph::Hint("without tile.device the kernel runs on the machine itself");
}

/// Of a machine that gets ranges of units.
static std::string unmetByUnits(ForOp loop, ForOp units, const target::Machine &target) {
  StringRef outermost = target.levels.front().name;
  if (levelOf(loop) != outermost)
    return "the target runs units of kernels at '" + outermost.str() + "' only";
  return loop == units ? "" : "is not the kernel's only outermost loop";
}

/// Of a machine that starts grids.
static std::string unmetByGrid(ForOp loop, ArrayRef<ForOp> loops, const target::Machine &target) {
  auto level = llvm::find_if(target.levels, [&](const auto &each) { return each.name == levelOf(loop); });
  if (level == target.levels.end())
    return "the levels of '" + target.name + "' are " + llvm::join(target.levelNames(), ", ");
  if (!llvm::is_contained(loops, loop))
    return "is not in a nest of bound loops, the outer ones of outer levels, around all of the kernel";
  SymbolicInt extent = loop.getExtent().values().front(), most(static_cast<int64_t>(level->count));
  return level->count && !(most - extent).knownNonNegative()
             ? "'" + level->name + "' has " + most.str() + " instances, got " + extent.str() + " iterations"
             : "";
}

std::string unmetBinding(func::FuncOp kernel, const target::Machine &target) {
  SmallVector<ForOp> loops = loopsOfLevels(kernel, target);
  std::string why;
  kernel.walk([&](ForOp loop) {
    StringRef level = levelOf(loop);
    if (level.empty() || !why.empty())
      return;
    why = target.levels.empty()                     ? "the target has no levels"
          : target.launch == target::Launch::Ranges ? unmetByUnits(loop, loops.front(), target)
                                                    : unmetByGrid(loop, loops, target);
    if (!why.empty())
      why = "the loop '" + loop.getName().str() + "' is bound to '" + level.str() + "', but " + why;
  });
  return why;
}
} // namespace perpend::tile
