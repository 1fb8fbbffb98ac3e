//===- Nests.cpp - scatter and sort as maps and reductions ----------------===//
//
//   scatter    for each element the number of the last update that goes there, by which it is looked up
//   sort       for each element the number of those before it, which is its place
//
//===----------------------------------------------------------------------===//

#include "graph/Nests.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

#include "graph/GraphNestInterface.cpp.inc"

namespace {

/// Beyond these, a core with one element at a time has fewer operations to do.
constexpr int64_t mostUpdates = 256, mostSorted = 1024, mostComparisons = int64_t{1} << 20;

/// Values that units compare, or look up in a table.
bool isNumber(Type type, bool isCompared) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && (isCompared ? integer.getWidth() > 1 : integer.getWidth() <= 32);
  return type.isF32() || type.isF16() || type.isBF16();
}

int64_t sizeOf(Value value) { return tensorTypeOf(value).getNumElements(); }

/// [updates, d...]: the number of the update if it goes there, otherwise -1.
Value placesOf(GraphBuilder &b, Value indices, int64_t updates, ArrayRef<SymbolicInt> indexed) {
  const auto depth = static_cast<int64_t>(indexed.size());
  Shape shape(indexed);
  shape.insert(shape.begin(), SymbolicInt(updates));
  Value tuples = b.reshape(indices, {SymbolicInt(updates), SymbolicInt(depth)});
  return b.generate(tuples, shape, b.operations.getI32Type(),
                    [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
                      Scalar number(builder, loc, builder.create<arith::IndexCastOp>(loc, builder.getI32Type(), at[0]));
                      Scalar result = number;
                      for (int64_t dim = 0; dim < depth; ++dim) {
                        Value which = builder.create<arith::ConstantIndexOp>(loc, dim);
                        Scalar index(builder, loc, load(builder, loc, in[0], {at[0], which}));
                        Scalar here(builder, loc, builder.create<arith::IndexCastOp>(loc, index.type(), at[1 + dim]));
                        result = select(equal(index, here), result, number.integer(-1));
                      }
                      return result.value;
                    });
}

Value lookUpUpdates(GraphBuilder &b, ScatterOp op) {
  auto isStatic = [](Value value) { return tensorTypeOf(value).hasStaticShape(); };
  Type indexType = elementTypeOf(op.getIndices());
  if (op.getKind() || !llvm::all_of(op->getOperands(), isStatic) || op.indexedDims() == 0 ||
      !(indexType.isSignlessInteger(32) || indexType.isSignlessInteger(64)) ||
      !isNumber(elementTypeOf(op.getInput()), false) || sizeOf(op.getInput()) == 0)
    return {};
  Shape shape = shapeOf(op.getInput());
  const ArrayRef<SymbolicInt> indexed = ArrayRef(shape).take_front(op.indexedDims()),
                              rest = ArrayRef(shape).drop_front(op.indexedDims());
  const int64_t updates = sizeOf(op.getIndices()) / static_cast<int64_t>(op.indexedDims());
  if (updates == 0 || updates > mostUpdates || updates * *elementCount(indexed).constant() > mostComparisons)
    return {};
  Value last = b.reduce(ReductionKind::Max, placesOf(b, op.getIndices(), updates, indexed), {0}, /*keepDims=*/false);
  Shape rows(rest);
  rows.insert(rows.begin(), SymbolicInt(updates));
  return b.generate(
      {op.getInput(), last, b.reshape(op.getUpdates(), rows)}, shape, elementTypeOf(op.getInput()),
      [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
        Scalar number(builder, loc, load(builder, loc, in[1], at.take_front(indexed.size())));
        Scalar row = number.with(builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), number.value));
        row = max(min(row, row.integer(updates - 1)), row.integer(0));
        SmallVector<Value> from{row.value};
        llvm::append_range(from, at.drop_front(indexed.size()));
        Value update = load(builder, loc, in[2], from), old = load(builder, loc, in[0], at);
        return builder.create<arith::SelectOp>(loc, (number >= number.integer(0)).value, update, old).getResult();
      });
}

/// NaN is equal to NaN, and above all numbers.
Scalar isBelow(Scalar a, Scalar b) { return a.isFloat() ? (a < b) | (notEqual(b, b) & equal(a, a)) : a < b; }

/// Positions of places, or places of positions: i32 numbers along `dim`, and one more dimension behind the others.
Value countPlaces(GraphBuilder &b, SortOp op) {
  Value input = op.getInput();
  Shape shape = shapeOf(input), pairs = shape, results = shapeOf(op.getResult());
  if (!tensorTypeOf(input).hasStaticShape() || !cast<RankedTensorType>(op.getType()).hasStaticShape() ||
      op.getLexicographic() || !isNumber(elementTypeOf(input), true) || sizeOf(input) == 0 ||
      sizeOf(op.getResult()) == 0)
    return {};
  const auto dim = static_cast<size_t>(op.getDim());
  const int64_t count = *shape[dim].constant();
  if (count > mostSorted || sizeOf(input) * count > mostComparisons)
    return {};
  Type i32 = b.operations.getI32Type();
  const auto rank = static_cast<int64_t>(shape.size());
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(count)));
  Value positions = b.constant(DenseElementsAttr::get(RankedTensorType::get({count}, i32), ArrayRef(numbers)));
  auto elementAt = [&](OpBuilder &builder, Location loc, Value tensor, ValueRange at, Value position) {
    SmallVector<Value> index(at.drop_back());
    index[dim] = position;
    return Scalar(builder, loc, load(builder, loc, tensor, index));
  };
  pairs.push_back(shape[dim]);
  Value isBefore =
      b.generate({input, positions}, pairs, i32, [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
        Scalar own = elementAt(builder, loc, in[0], at, at[dim]), other = elementAt(builder, loc, in[0], at, at.back());
        Scalar isFirst = op.getDescending() ? isBelow(own, other) : isBelow(other, own),
               isLast = op.getDescending() ? isBelow(other, own) : isBelow(own, other);
        Scalar place(builder, loc, load(builder, loc, in[1], at[dim])),
            otherPlace(builder, loc, load(builder, loc, in[1], at.back()));
        // Truths as numbers, so that each is one instruction: the first that holds decides.
        Scalar one = place.integer(1), zero = place.integer(0);
        return select(isFirst, one, select(isLast, zero, select(otherPlace < place, one, zero))).value;
      });
  Value places = b.reduce(ReductionKind::Sum, isBefore, {rank}, /*keepDims=*/false);
  pairs[dim] = results[dim];
  Value found =
      b.generate({places, positions}, pairs, i32, [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
        Scalar place = elementAt(builder, loc, in[0], at, at.back());
        Scalar wanted(builder, loc, load(builder, loc, in[1], at[dim])),
            own(builder, loc, load(builder, loc, in[1], at.back()));
        return select(equal(place, wanted), own, own.integer(-1)).value;
      });
  Value order = b.reduce(ReductionKind::Max, found, {rank}, /*keepDims=*/false);
  return b.cast(order, b.i64());
}

LogicalResult replace(Operation *op, RewriterBase &rewriter, llvm::function_ref<Value(GraphBuilder &)> build) {
  GraphBuilder builder(rewriter, op->getLoc());
  Value result = build(builder);
  return result ? (rewriter.replaceOp(op, result), success()) : failure();
}

struct ScatterNests : NestInterface::ExternalModel<ScatterNests, ScatterOp> {
  bool hasOperators(Operation *) const { return false; }
  LogicalResult makeNests(Operation *op, RewriterBase &rewriter) const {
    return replace(op, rewriter, [&](GraphBuilder &builder) { return lookUpUpdates(builder, cast<ScatterOp>(op)); });
  }
};

struct SortNests : NestInterface::ExternalModel<SortNests, SortOp> {
  bool hasOperators(Operation *) const { return false; }
  LogicalResult makeNests(Operation *op, RewriterBase &rewriter) const {
    return replace(op, rewriter, [&](GraphBuilder &builder) { return countPlaces(builder, cast<SortOp>(op)); });
  }
};

} // namespace

void perpend::graph::attachNests(MLIRContext *context) {
  ScatterOp::attachInterface<ScatterNests>(*context);
  SortOp::attachInterface<SortNests>(*context);
  attachControlFlowNests(context);
}
