//===- Reductions.cpp - gradients of reduce, scan and contract ------------===//

#include "graph/gradients/Placement.h"

using namespace mlir;

namespace perpend::graph {

static SmallVector<int64_t> keptDims(size_t rank, ArrayRef<int64_t> dropped) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(rank); ++dim)
    if (!llvm::is_contained(dropped, dim))
      kept.push_back(dim);
  return kept;
}

static SmallVector<int64_t> inverseOf(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  return inverse;
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// If several elements are the largest, each gets an equal part.
static Value extremumGradient(Builder &b, ReduceOp op, Value gradient) {
  Type type = elementTypeOf(gradient), compute = computeType(type);
  Shape shape = shapeOf(op.getInput());
  SmallVector<int64_t> kept = keptDims(shape.size(), op.getDims());
  Value extremum = b.broadcast(op.getResult(), kept, shape);
  Value isExtremum = pointwise(
      b, {op.getInput(), extremum},
      [&](ArrayRef<Scalar> v) {
        Scalar one = v[0].to(compute).constant(1);
        return select(equal(v[0], v[1]), one, one.constant(0));
      },
      compute);
  Value part = div(b, b.cast(gradient, compute), sum(b, isExtremum, op.getDims(), false));
  return b.cast(mul(b, isExtremum, b.broadcast(part, kept, shape)), type);
}

/// The product of all previous elements along the last dimension.
static Value productBefore(Builder &b, Value x) {
  Shape low(rankOf(x), SymbolicInt(0)), high = low;
  low.back() = SymbolicInt(1);
  high.back() = SymbolicInt(-1);
  return b.scan(ReductionKind::Product, padTensor(b, x, low, high, "constant", 1), rankOf(x) - 1);
}

/// The product of all other elements, without a division, which would fail for an element of 0.
static Value productOfOthers(Builder &b, Value x, ArrayRef<int64_t> dims) {
  Shape shape = shapeOf(x);
  SmallVector<int64_t> order = keptDims(shape.size(), dims);
  Shape rows = dropDims(shape, dims);
  SymbolicInt count(1);
  for (int64_t dim : dims)
    count *= shape[dim];
  rows.push_back(count);
  llvm::append_range(order, dims);
  Value ordered = b.transpose(x, order), matrix = b.reshape(ordered, rows);
  int64_t last = static_cast<int64_t>(rows.size()) - 1;
  Value behind = reversed(b, productBefore(b, reversed(b, matrix, last)), last);
  Value others = mul(b, productBefore(b, matrix), behind);
  return b.transpose(b.reshape(others, shapeOf(ordered)), inverseOf(order));
}

Value ReduceOp::operandGradient(Builder &b, Value gradient, unsigned) {
  if (getKind() == ReductionKind::Max || getKind() == ReductionKind::Min)
    return extremumGradient(b, *this, gradient);
  Shape shape = shapeOf(getInput());
  Value spread = b.broadcast(gradient, keptDims(shape.size(), getDims()), shape);
  return getKind() == ReductionKind::Sum ? spread : mul(b, spread, productOfOthers(b, getInput(), getDims()));
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// The gradient of each result goes to the last element that was the extremum so far.
static Value scanExtremumGradient(Builder &b, ScanOp op, Value gradient) {
  Shape shape = shapeOf(op.getInput());
  int64_t dim = op.getDim();
  Value places = b.generate({op.getInput(), op.getResult()}, shape, b.i64(),
                            [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
                              Scalar x(builder, loc, load(builder, loc, in[0], index));
                              Scalar at = Scalar(builder, loc, index[dim]).to(builder.getI64Type());
                              Scalar best = x.with(load(builder, loc, in[1], index));
                              return select(equal(x, best), at, at.constant(0)).value;
                            });
  Value last = b.scan(ReductionKind::Max, places, dim);
  Value positions =
      b.generate(last, shape, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
        Scalar flat(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0));
        Scalar at = flat.with(load(builder, loc, in[0], index)).to(builder.getIndexType());
        for (auto [d, i] : llvm::enumerate(index))
          flat =
              flat * flat.with(extent(builder, loc, shape[d])) + (static_cast<int64_t>(d) == dim ? at : flat.with(i));
        return flat.to(builder.getI64Type()).value;
      });
  return scatterSum(b, shape, positions, gradient);
}

/// dx[i] = sum over j >= i of g[j] * the product of x[k] for k <= j, k != i. Computed for all pairs (i, j) at once,
/// because a division would fail after an element of 0.
static Value scanProductGradient(Builder &b, ScanOp op, Value gradient) {
  Shape pairs = shapeOf(op.getInput());
  int64_t dim = op.getDim();
  pairs.insert(pairs.begin() + dim, pairs[dim]); // dimension dim is i, dim + 1 is j
  auto withPairs = [&](Value tensor, llvm::function_ref<Scalar(Scalar i, Scalar j, Scalar value)> formula) {
    return b.generate(tensor, pairs, elementTypeOf(tensor),
                      [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
                        SmallVector<Value> at(index);
                        at.erase(at.begin() + dim);
                        Scalar i(builder, loc, index[dim]), j(builder, loc, index[dim + 1]);
                        return formula(i, j, i.with(load(builder, loc, in[0], at))).value;
                      });
  };
  Value others =
      withPairs(op.getInput(), [](Scalar i, Scalar j, Scalar x) { return select(equal(i, j), x.constant(1), x); });
  Value slopes = b.scan(ReductionKind::Product, others, dim + 1);
  Value later = withPairs(gradient, [](Scalar i, Scalar j, Scalar g) { return select(j < i, g.constant(0), g); });
  return sum(b, mul(b, slopes, later), dim + 1, false);
}

Value ScanOp::operandGradient(Builder &b, Value gradient, unsigned) {
  int64_t dim = getDim();
  switch (getKind()) {
  case ReductionKind::Sum:
    return reversed(b, b.scan(ReductionKind::Sum, reversed(b, gradient, dim), dim), dim);
  case ReductionKind::Product:
    return scanProductGradient(b, *this, gradient);
  case ReductionKind::Max:
  case ReductionKind::Min:
    return scanExtremumGradient(b, *this, gradient);
  }
}

//===----------------------------------------------------------------------===//
// Contract
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of one operand of a contraction.
struct Side {
  Value tensor;
  ArrayRef<int64_t> batch, contracted;

  SmallVector<int64_t> freeDims() const {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contracted);
    return keptDims(rankOf(tensor), used);
  }
};
} // namespace

/// The contraction of the gradient with the other operand over the other's free dimensions: [batch, own free,
/// contracted in the order of the other operand].
Value ContractOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  Side lhs{getLhs(), getLhsBatch(), getLhsContracted()}, rhs{getRhs(), getRhsBatch(), getRhsContracted()};
  const Side &own = operand == 0 ? lhs : rhs, &other = operand == 0 ? rhs : lhs;
  SmallVector<int64_t> ownFree = own.freeDims(), otherFree = other.freeDims();
  int64_t batchCount = own.batch.size(), lhsFree = operand == 0 ? ownFree.size() : otherFree.size();
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(0, batchCount));
  int64_t first = operand == 0 ? batchCount + lhsFree : batchCount;
  SmallVector<int64_t> over = llvm::to_vector(llvm::seq<int64_t>(first, first + otherFree.size()));
  Value product = b.contract(gradient, other.tensor, batch, other.batch, over, otherFree, elementTypeOf(gradient));
  SmallVector<int64_t> order(own.batch);
  llvm::append_range(order, ownFree);
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [theirs, mine] : llvm::zip_equal(other.contracted, own.contracted))
    pairs.push_back({theirs, mine});
  llvm::sort(pairs);
  llvm::append_range(order, llvm::make_second_range(pairs));
  return b.cast(b.transpose(product, inverseOf(order)), elementTypeOf(own.tensor));
}
} // namespace perpend::graph
