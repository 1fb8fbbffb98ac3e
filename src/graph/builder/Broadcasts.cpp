//===- Broadcasts.cpp - broadcasting in the builder -----------------------===//
//
// Functions of the builder that compose primitives: broadcasting, unit
// dimensions, and numpy.matmul.
//
//===----------------------------------------------------------------------===//

#include "graph/builder/Builder.h"

using namespace mlir;

namespace perpend::graph {

/// Whether an extent is the open dimension of a reshape that divides only at run time. It may be 1 and then broadcasts,
/// although no input can be repeated in its place (docs/decisions/0003).
static bool isOpenQuotient(const SymbolicInt &extent) {
  auto terms = extent.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1 || terms[0].factors[0].power != 1)
    return false;
  const support::SymbolicAtom &atom = terms[0].factors[0].atom;
  return atom.kind() == support::SymbolicAtomKind::FloorDiv && !atom.operands()[1].isConstant();
}

/// Repeats dimensions that may turn out to be 1 at run time to the extents of `shape`, which has the same rank.
static Value repeatOpenQuotients(Builder &b, Value input, ArrayRef<SymbolicInt> shape) {
  Shape from = shapeOf(input), to = from;
  SmallVector<int64_t> repeated;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    if (extent == shape[dim] || !isOpenQuotient(extent) || isAtMostOne(extent) || provablyDiffer(extent, shape[dim]))
      continue;
    SymbolicInt misfit = (extent - 1) * (extent - shape[dim]);
    for (const SymbolicInt &value : {misfit, -misfit})
      b.require(value, "expected an extent that is 1 or that of the other tensor");
    to[dim] = shape[dim];
    repeated.push_back(dim);
  }
  if (repeated.empty())
    return input;
  return b.generate({input}, to, tensorTypeOf(input).getElementType(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      SmallVector<Value> source(index);
                      for (int64_t dim : repeated)
                        source[dim] =
                            builder.create<arith::MinSIOp>(loc, index[dim], extent(builder, loc, from[dim] - 1));
                      return load(builder, loc, tensors[0], source);
                    });
}

std::optional<Shape> Builder::broadcastShapes(Values inputs) {
  if (llvm::is_contained(inputs, Value()))
    return std::nullopt;
  Shape result;
  for (Value input : inputs) {
    Shape shape = shapeOf(input);
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), SymbolicInt(1));
    size_t offset = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      SymbolicInt &extent = result[offset + i];
      if (extent == shape[i] || isAtMostOne(shape[i]))
        continue;
      if (isAtMostOne(extent))
        extent = shape[i];
      else if (provablyDiffer(shape[i], extent)) {
        contradict("cannot broadcast the shapes " +
                   llvm::join(llvm::map_range(inputs, [](Value value) { return toString(shapeOf(value)); }), " and ") +
                   " together: expected extents that are equal or 1, got " + extent.str() + " and " + shape[i].str() +
                   " for dimension " + Twine(offset + i) +
                   "\nhint: reshape or expand one of them, or correct the sizes of the model's inputs");
        return std::nullopt;
      } else if (shape[i].isConstant() || (isOpenQuotient(extent) && !isOpenQuotient(shape[i]))) {
        extent = shape[i]; // equal extents: prefer a number, or one that cannot be 1
      }
    }
  }
  return result;
}

Value Builder::broadcastTo(Value input, Extents shape) {
  if (!input)
    return {};
  int64_t rank = shapeOf(input).size(), resultRank = shape.size();
  if (rank > resultRank)
    return contradict("cannot broadcast a tensor of shape " + toString(shapeOf(input)) + " to " + toString(shape) +
                      "\nhint: its extents, counted from the last, must be 1 or those of the new shape");
  input = repeatOpenQuotients(*this, input, shape.take_back(rank));
  return broadcast(input, llvm::to_vector(llvm::seq<int64_t>(resultRank - rank, resultRank)), shape);
}

Value Builder::mapBroadcast(Values inputs, Type elementType, ScalarBody body) {
  std::optional<Shape> shape = broadcastShapes(inputs);
  if (!shape)
    return {};
  SmallVector<Value> broadcasted;
  for (Value input : inputs)
    broadcasted.push_back(broadcastTo(input, *shape));
  return map(broadcasted, elementType, body);
}

Value Builder::unsqueeze(Value input, Ints axes) {
  if (!input)
    return {};
  Shape shape = shapeOf(input);
  int64_t rank = shape.size() + axes.size();
  SmallVector<int64_t> sorted;
  for (int64_t axis : axes)
    sorted.push_back(axis < 0 ? axis + rank : axis);
  llvm::sort(sorted);
  for (int64_t axis : sorted) {
    if (!checkAxis(axis, shape.size() + 1, "unsqueeze"))
      return {};
    shape.insert(shape.begin() + axis, SymbolicInt(1));
  }
  return reshape(input, shape);
}

Value Builder::squeeze(Value input, Ints axes) {
  if (!input)
    return {};
  Shape shape = shapeOf(input);
  int64_t rank = shape.size();
  SmallVector<int64_t> dropped;
  for (int64_t axis : axes) {
    int64_t dim = axis < 0 ? axis + rank : axis;
    if (!checkAxis(dim, rank, "squeeze"))
      return {};
    if (provablyDiffer(shape[dim], SymbolicInt(1)))
      return contradict("squeeze: expected dimension " + Twine(dim) + " of " + toString(shape) + " to be 1, got " +
                        shape[dim].str() + "\nhint: squeeze dimensions of extent 1, or reshape");
    dropped.push_back(dim);
  }
  return reshape(input, dropDims(shape, dropped));
}

Value Builder::matmul(Value lhs, Value rhs, Type elementType) {
  if (!lhs || !rhs)
    return {};
  Shape left = shapeOf(lhs), right = shapeOf(rhs);
  if (left.empty() || right.empty())
    return contradict("matmul: expected tensors of rank 1 or more, got shapes " + toString(left) + " and " +
                      toString(right) + "\nhint: multiply by a scalar with mul");
  if (left.size() == 1 || right.size() == 1) {
    int64_t l = left.size() - 1, r = right.size() == 1 ? 0 : right.size() - 2;
    if (left.size() > 1 || right.size() <= 2)
      return contract(lhs, rhs, {}, {}, {l}, {r}, elementType);
    Value row = matmul(unsqueeze(lhs, {0}), rhs, elementType);
    return row ? squeeze(row, {-2}) : row;
  }
  int64_t leftRank = left.size(), rightRank = right.size();
  if (rightRank == 2)
    return contract(lhs, rhs, {}, {}, {leftRank - 1}, {0}, elementType);
  // Equal batch dimensions stay batch dimensions of the contraction; a batch that broadcasts is repeated first.
  SmallVector<SymbolicInt> leftBatch(left.begin(), left.end() - 2), rightBatch(right.begin(), right.end() - 2);
  Value leftLike = splat(leftBatch, 0, f32()), rightLike = splat(rightBatch, 0, f32());
  std::optional<Shape> batch = broadcastShapes({leftLike, rightLike});
  if (!batch)
    return {};
  Shape leftShape = *batch, rightShape = *batch;
  leftShape.append(left.end() - 2, left.end());
  rightShape.append(right.end() - 2, right.end());
  SmallVector<int64_t> batchDims = llvm::to_vector(llvm::seq<int64_t>(0, batch->size()));
  int64_t rank = leftShape.size();
  return contract(broadcastTo(lhs, leftShape), broadcastTo(rhs, rightShape), batchDims, batchDims, {rank - 1},
                  {rank - 2}, elementType);
}
} // namespace perpend::graph
