//===- Schedule.cpp - handles, the trace, and queries ---------------------===//

#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

std::string TraceInstruction::str() const {
  std::string text = llvm::join(results, ", ");
  if (!results.empty())
    text += " = ";
  text += primitive;
  if (!operands.empty())
    text += " " + llvm::join(operands, ", ");
  return text;
}

LogicalResult KernelSchedule::refuse(const Twine &text) {
  reason = text.str();
  return failure();
}

BlockOp KernelSchedule::operation(Block block) const { return dyn_cast_or_null<BlockOp>(handles[block.id]); }
ForOp KernelSchedule::operation(Loop loop) const { return dyn_cast_or_null<ForOp>(handles[loop.id]); }

FailureOr<ForOp> KernelSchedule::find(Loop loop) {
  if (ForOp op = operation(loop))
    return op;
  return refuse(nameOf(loop) + ": an earlier step has consumed this loop\nhint: use the loops that it returned");
}

FailureOr<BlockOp> KernelSchedule::find(Block block) {
  if (BlockOp op = operation(block))
    return op;
  return refuse(nameOf(block) + ": an earlier step has consumed this block");
}

unsigned KernelSchedule::addHandle(Operation *op, StringRef stem) {
  unsigned uses = usedNames[stem]++;
  handleNames.push_back(uses ? (stem + "_" + Twine(uses)).str() : stem.str());
  handles.push_back(op);
  return handles.size() - 1;
}

void KernelSchedule::record(StringRef primitive, ArrayRef<std::string> results, ArrayRef<std::string> operands) {
  instructions.push_back(
      {primitive, llvm::SmallVector<std::string, 2>(results), llvm::SmallVector<std::string, 4>(operands)});
}

FailureOr<KernelSchedule::Block> KernelSchedule::getBlock(StringRef name) {
  BlockOp found;
  std::string known;
  kernel.walk([&](BlockOp block) {
    if (block.getName() == name)
      found = block;
    known += (known.empty() ? "" : ", ") + block.getName().str();
  });
  if (!found)
    return refuse("get_block: expected one of the blocks " + known + ", got '" + name + "'");
  Block handle{addHandle(found, name)};
  record("get_block", nameOf(handle), "\"" + name.str() + "\"");
  return handle;
}

SmallVector<KernelSchedule::Loop> KernelSchedule::getLoops(Block block) {
  SmallVector<ForOp> around;
  for (Operation *op = operation(block)->getParentOp(); op; op = op->getParentOp())
    if (auto loop = dyn_cast<ForOp>(op))
      around.push_back(loop);
  SmallVector<Loop> loops;
  SmallVector<std::string> names;
  for (ForOp loop : llvm::reverse(around)) {
    loops.push_back({addHandle(loop, loop.getName())});
    names.push_back(nameOf(loops.back()));
  }
  record("get_loops", names, nameOf(block));
  return loops;
}
