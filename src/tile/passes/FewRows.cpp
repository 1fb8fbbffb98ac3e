//===- FewRows.cpp - products of few rows with what a run computes --------===//

#include "tile/passes/FewRows.h"

#include "graph/composites/Formulas.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::SymbolicInt;

/// Whether a value depends on more than constants. Operators without operands that are no constants count.
static bool isComputedInRun(Value value) {
  SmallVector<Value> pending{value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second || matchPattern(next, m_Constant()))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

/// Whether the elements that follow one another in memory are those of the sum.
static bool liesAlongDepth(Value operand, ArrayRef<int64_t> summed) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, graph::tensorTypeOf(operand).getRank()));
  while (auto transpose = operand.getDefiningOp<graph::TransposeOp>()) {
    for (int64_t &dim : dims)
      dim = transpose.getPermutation()[dim];
    operand = transpose.getInput();
  }
  graph::Shape shape = graph::shapeOf(operand);
  auto last = static_cast<int64_t>(shape.size()) - 1;
  while (last > 0 && shape[last] == SymbolicInt(1))
    --last;
  return llvm::any_of(summed, [&](int64_t dim) { return dims[dim] == last; });
}

/// Of a tensor, or of some dimensions; those that are not known count as one element.
static double bytesOf(Value operand, std::optional<ArrayRef<int64_t>> except = std::nullopt) {
  double bytes = double(graph::bitWidth(graph::elementTypeOf(operand))) / 8;
  for (auto [dim, extent] : llvm::enumerate(graph::shapeOf(operand)))
    if (!except || !llvm::is_contained(*except, int64_t(dim)))
      bytes *= double(extent.constant().value_or(1));
  return bytes;
}

RightOperand perpend::tile::cheapestReading(graph::ProductInterface op, const Matrices &matrices,
                                            const target::TargetInfo &target) {
  constexpr double readingsOfPacking = 3;
  const int64_t most = target.vectorLanes(4) / 2; // more keep products and softmax of attention in one kernel
  Value right = op->getOperand(1);
  std::optional<int64_t> rows = matrices.extents.rows.constant();
  bool isReal = isa<FloatType>(graph::elementTypeOf(op->getResult(0)));
  if (!isReal || !rows || *rows < 1 || *rows > most || !isComputedInRun(right))
    return RightOperand::Packed;
  if (liesAlongDepth(right, matrices.ofRight().summed)) // of one row, each sum runs along two rows of memory
    return *rows == 1 ? RightOperand::AsItIs : RightOperand::Transposed;
  // Once from where it is, and then from what holds a matrix.
  double whole = target.bytesPerSecondOf(bytesOf(right)),
         matrix = target.bytesPerSecondOf(bytesOf(right, ArrayRef(matrices.ofRight().batch)));
  double readings = 1 + double(*rows - 1) * whole / matrix;
  return target.cyclesPerSecond > 0 && readings < readingsOfPacking ? RightOperand::AsItIs : RightOperand::Packed;
}
