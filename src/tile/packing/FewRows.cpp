//===- FewRows.cpp - products of few rows with run-time operands ----------===//

#include "tile/packing/FewRows.h"

#include "graph/BatchInvariance.h"
#include "graph/ElementTypes.h"
#include "graph/States.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/ExactOperands.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// The number of rows if it is small, otherwise 0. With more than half a vector of rows, packed products and softmax of
/// attention share one kernel, which is better.
static int64_t fewRows(graph::ProductInterface op, const Matrices &matrices, const target::Machine &target) {
  auto sum = dyn_cast<FloatType>(graph::tensorTypeOf(op->getResult(0)).getElementType());
  int64_t rows = matrices.extents.rows.constant().value_or(0);
  return sum && rows <= target.vectorLanes(elementBytes(sum)) / 2 ? rows : 0;
}

bool perpend::tile::isOfGrownState(Value value) {
  Value moved = value;
  while (onlyMoves(moved.getDefiningOp()))
    moved = moved.getDefiningOp()->getOperand(0);
  Value narrow = extendedBy(moved.getDefiningOp());
  return graph::isGrownState(narrow ? narrow : value);
}

bool perpend::tile::isTransposed(graph::ProductInterface op, const Matrices &matrices, const target::Machine &target) {
  constexpr int64_t mostRowsOfCache = 64; // packing all keys takes longer than a product with these
  Value right = op->getOperand(1);
  std::optional<int64_t> known = matrices.extents.rows.constant();
  bool isFloat = isa<FloatType>(graph::tensorTypeOf(op->getResult(0)).getElementType());
  if (isFloat && isOfGrownState(right) && matrices.sumsAlongRight(right))
    return known && *known <= mostRowsOfCache;
  int64_t rows = fewRows(op, matrices, target);
  return rows > 1 && !graph::isBatchInvariant(op) && matrices.hasTransposedRight(right);
}

bool perpend::tile::isReadAsItIs(graph::ProductInterface op, const Matrices &matrices, const target::Machine &target) {
  int64_t rows = graph::isBatchInvariant(op) ? 0 : fewRows(op, matrices, target);
  Value right = op->getOperand(1);
  bool isNarrow = isOfGrownState(right) && extendedFloats(right); // products on panels extend it where it lies
  if (rows == 0 || isNarrow || target.cyclesPerSecond == 0)
    return false;
  // Cost of packing, in units of reading the operand once. If the number of columns is unknown, it tests a condition
  // per element, and if it also transposes, it is scalar.
  double packing = matrices.extents.columns.isConstant() ? 3 : matrices.sumsAlongRight(right) ? 12 : 6;
  // The first reading is from wherever the operand lies; later ones come from the cache that holds a matrix.
  double whole = target.bytesPerSecondOf(matrices.bytesOfRight(right, /*ofMatrix=*/false)),
         matrix = target.bytesPerSecondOf(matrices.bytesOfRight(right, /*ofMatrix=*/true));
  return 1 + double(rows - 1) * whole / matrix < packing;
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
