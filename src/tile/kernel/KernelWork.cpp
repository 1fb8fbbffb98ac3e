//===- KernelWork.cpp - least work of a kernel ----------------------------===//

#include "tile/kernel/KernelWork.h"

#include "tile/Attributes.h"
#include "tile/ir/KernelIndices.h"
#include "tile/kernel/Buffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

std::optional<KernelWork> KernelWork::of(Operation *kernel) {
  auto list = kernel->getAttrOfType<graph::ShapeAttr>(workAttribute);
  if (!list || list.values().size() != 3)
    return std::nullopt;
  return KernelWork{list.values()[0], list.values()[1], list.values()[2]};
}

void KernelWork::attachTo(Operation *kernel) const {
  if (!operations.isPoison() && !operationBytes.isPoison() && !bytes.isPoison())
    kernel->setAttr(workAttribute, graph::ShapeAttr::get(kernel->getContext(), {operations, operationBytes, bytes}));
}

KernelWork KernelWork::substitute(const llvm::StringMap<graph::SymbolicInt> &symbols) const {
  return {operations.substitute(symbols), operationBytes.substitute(symbols), bytes.substitute(symbols)};
}

static bool isArithmetic(Operation &op) {
  if (op.getNumResults() != 1 || !getElementTypeOrSelf(op.getResult(0).getType()).isIntOrFloat())
    return false; // constants and index arithmetic do not count
  return isa<math::MathDialect>(op.getDialect()) ||
         isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::NegFOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::MaxSIOp, arith::MaxUIOp,
             arith::MinSIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op);
}

int64_t perpend::tile::elementBytesOf(BlockOp block) {
  Value result;
  for (const Access &access : accessesIn(block))
    if (access.isStore())
      result = access.buffer();
  int64_t most = 0;
  for (const Access &access : accessesIn(block))
    if (!block.isReduction() || access.buffer() != result)
      most = std::max(most, elementBytes(cast<BufferType>(access.buffer().getType()).getElementType()));
  return most || !result ? most : elementBytes(cast<BufferType>(result.getType()).getElementType());
}

int64_t perpend::tile::operationsOf(BlockOp block) {
  int64_t count = 0;
  block.walk([&](Operation *op) { count += isArithmetic(*op) && !op->getParentOfType<InitOp>(); });
  return count;
}

KernelWork perpend::tile::workOf(func::FuncOp kernel) {
  KernelWork work;
  llvm::DenseMap<Value, SymbolicInt> accessed; // number of elements accessed in each of the caller's buffers
  kernel.walk([&](BlockOp block) {
    SymbolicInt instances = graph::elementCount(block.getDomain().values());
    SymbolicInt operations = instances * SymbolicInt(operationsOf(block));
    work.operations += operations;
    work.operationBytes += operations * SymbolicInt(elementBytesOf(block));
    for (const Access &access : accessesIn(block))
      if (!access.buffer().getDefiningOp())
        accessed[access.buffer()] += instances;
  });
  for (Value buffer : kernel.getArguments()) {
    auto type = cast<BufferType>(buffer.getType());
    SymbolicInt elements = support::min(graph::elementCount(type.extents()), accessed.lookup(buffer));
    work.bytes += elements * SymbolicInt(elementBytes(type.getElementType()));
  }
  return work;
}
