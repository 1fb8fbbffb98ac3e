//===- FewRows.cpp - products of few rows with what a run computes --------===//

#include "tile/passes/FewRows.h"

#include "graph/ElementTypes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

RightOperand perpend::tile::cheapestReading(graph::ProductInterface op, const Matrices &matrices,
                                            const target::TargetInfo &target) {
  constexpr double readingsOfPacking = 3;
  Value right = op->getOperand(1);
  auto sum = dyn_cast<FloatType>(graph::tensorTypeOf(op->getResult(0)).getElementType());
  std::optional<int64_t> rows = matrices.extents.rows.constant();
  // More rows than half a vector keep products and softmax of attention in one kernel.
  if (!sum || !rows || *rows < 1 || *rows > target.vectorLanes(sum.getWidth() / 8) / 2)
    return RightOperand::Packed;
  if (*rows == 1 && matrices.sumsAlongRight(right)) // each sum runs along two rows of memory
    return RightOperand::AsItIs;
  if (matrices.hasTransposedRight(right))
    return RightOperand::Transposed;
  // Once from where it is, and then from what holds a matrix.
  double whole = target.bytesPerSecondOf(matrices.bytesOfRight(right, /*ofMatrix=*/false)),
         matrix = target.bytesPerSecondOf(matrices.bytesOfRight(right, /*ofMatrix=*/true));
  double readings = 1 + double(*rows - 1) * whole / matrix;
  return target.cyclesPerSecond > 0 && readings < readingsOfPacking ? RightOperand::AsItIs : RightOperand::Packed;
}

DenseSet<Value> perpend::tile::foldedValues(ModuleOp module) {
  DenseSet<Value> folded;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
    bool isComputed = op->getNumOperands() > 0 && isa<graph::ElementInterface>(op) &&
                      llvm::all_of(op->getOperands(), [&](Value operand) { return folded.contains(operand); });
    if (isConstant || isComputed)
      folded.insert(op->result_begin(), op->result_end());
  });
  return folded;
}
