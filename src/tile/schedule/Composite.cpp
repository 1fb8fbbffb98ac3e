//===- Composite.cpp - primitives composed of several others --------------===//
//
// Each is tried on a copy of the kernel first: if a step is refused, the
// earlier steps leave no trace.
//
//===----------------------------------------------------------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

LogicalResult KernelSchedule::tryOut(llvm::function_ref<LogicalResult(KernelSchedule &)> steps, Operation *another) {
  IRMapping mapping;
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(kernel->clone(mapping)));
  KernelSchedule trial(*this);
  trial.kernel = *copy;
  for (Operation *&handle : trial.handles)
    handle = handle ? mapping.lookup(handle) : nullptr;
  if (another)
    trial.addHandle(mapping.lookup(another), "another");
  LogicalResult result = steps(trial);
  if (failed(result))
    reason = trial.reason;
  return result;
}

LogicalResult KernelSchedule::applyAll(const std::string &title,
                                       llvm::function_ref<LogicalResult(KernelSchedule &)> steps) {
  if (failed(tryOut(steps)))
    return refuse(title + Twine(std::string(reason)));
  size_t before = instructions.size();
  LogicalResult result = steps(*this);
  assert(succeeded(result) && "what a copy of the kernel allowed");
  instructions.truncate(before);
  return result;
}

FailureOr<KernelSchedule::Block> KernelSchedule::readAt(Loop loop, Block block, int64_t number, StringRef scope) {
  Block copy{};
  auto steps = [&](KernelSchedule &schedule) -> LogicalResult {
    FailureOr<Block> created = schedule.cacheRead(block, number, scope);
    copy = succeeded(created) ? *created : Block{};
    return succeeded(created) ? schedule.computeAt(copy, loop) : failure();
  };
  if (failed(applyAll("read_at " + nameOf(loop) + ", " + nameOf(block) + ": ", steps)))
    return failure();
  record("read_at", nameOf(copy), {nameOf(loop), nameOf(block), std::to_string(number), quotedText(scope)});
  return copy;
}

FailureOr<KernelSchedule::Block> KernelSchedule::writeAt(Loop loop, Block block, StringRef scope) {
  Block copy{};
  auto steps = [&](KernelSchedule &schedule) -> LogicalResult {
    FailureOr<Block> created = schedule.cacheWrite(block, scope);
    copy = succeeded(created) ? *created : Block{};
    return succeeded(created) ? schedule.reverseComputeAt(copy, loop) : failure();
  };
  if (failed(applyAll("write_at " + nameOf(loop) + ", " + nameOf(block) + ": ", steps)))
    return failure();
  record("write_at", nameOf(copy), {nameOf(loop), nameOf(block), quotedText(scope)});
  return copy;
}
