//===- Selection.cpp - selections with data-dependent sizes ---------------===//
//
// The number of selected elements is usually known only at run time. Then a function of the library lists the positions
// of a mask, and their number becomes a symbol. If the mask is known when the graph is built, so are the positions.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Value positionsWhere(Builder &b, Value mask, std::optional<SymbolicInt> count) {
  if (!mask)
    return {};
  if (auto known = b.constantContents(mask)) {
    Shape positions;
    for (auto [position, isChosen] : llvm::enumerate(*known))
      if (isChosen)
        positions.emplace_back(static_cast<int64_t>(position));
    return knownIntegers(b, positions, SymbolicInt(static_cast<int64_t>(positions.size())), b.i64());
  }
  CallResult positions{{count ? *count : SymbolicInt::poison()}, b.i64(), {"selected"}};
  return b.callLibrary("order.positions", mask, positions)[0];
}

/// x != 0, as a vector.
static Value flatMask(Builder &b, Value x) {
  Value mask = elementTypeOf(x).isInteger(1) ? x : b.cast(x, b.operations.getI1Type());
  return b.reshape(mask, elementCount(shapeOf(x)));
}

namespace composites {
Results nonzero(Builder &b, Values in, const Attributes &) {
  Value positions = positionsWhere(b, flatMask(b, in[0]));
  if (!positions)
    return {};
  Shape shape = shapeOf(in[0]), strides = rowMajorStrides(shape);
  SymbolicInt rank(rankOf(in[0]));
  if (shape.size() == 1)
    return {b.reshape(positions, {rank, shapeOf(positions)[0]})};
  return {b.generate(positions, {rank, shapeOf(positions)[0]}, b.i64(),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       Scalar which(builder, loc, index[0]),
                           flat(builder, loc, load(builder, loc, tensors[0], index[1]));
                       auto number = [&](const SymbolicInt &value) {
                         return Scalar(builder, loc, extent(builder, loc, value)).to(builder.getI64Type());
                       };
                       Scalar chosen = flat;
                       for (auto [dim, extent] : llvm::enumerate(shape)) {
                         Scalar position = flat / number(strides[dim]);
                         if (dim != 0)
                           position = position % number(extent);
                         chosen = select(equal(which, which.integer(dim)), position, chosen);
                       }
                       return chosen.value;
                     })};
}

Results compress(Builder &b, Values in, const Attributes &a) {
  Value x = a.has("axis") ? in[0] : b.reshape(in[0], elementCount(shapeOf(in[0])));
  int64_t axis = normalAxis(b, a.getInt("axis"), x ? rankOf(x) : 0);
  if (axis < 0)
    return {};
  if (rankOf(in[1]) != 1)
    return {b.contradict("compress: expected a vector of conditions, got shape " + toString(shapeOf(in[1])))};
  return {b.gather(x, positionsWhere(b, flatMask(b, in[1])), axis)};
}
} // namespace composites

//===----------------------------------------------------------------------===//
// Non-maximum suppression
//===----------------------------------------------------------------------===//

namespace {
/// Greedy selection per batch and class: boxes are sorted by score; each iteration takes the first remaining box of
/// every class at once, and drops the boxes that overlap it.
class Suppression {
public:
  Suppression(Builder &b, Value boxes, Value scores, bool isCentered)
      : b(b), boxes(boxes), scores(scores), isCentered(isCentered), shape(shapeOf(scores)), extent(shape[2]) {}

  /// [selected, 3]: batch, class, box.
  Value run(Value limit, Value overlapThreshold, Value scoreThreshold);

private:
  Value corner(unsigned which);
  Value takenBox(Value sorted, Value position);
  Value overlaps(Value position, Value threshold);
  Iteration iterate(Value alive, Value threshold);
  Value selected(Value taken);

  Builder &b;
  Value boxes, scores;
  bool isCentered;
  Shape shape; ///< [batches, classes, boxes]
  SymbolicInt extent;
  Value order;
  SmallVector<Value> corners; ///< low y, low x, high y, high x of the sorted boxes
};
} // namespace

/// One corner coordinate per sorted box. Centered boxes are (x, y, width, height), others two opposite corners.
Value Suppression::corner(unsigned which) {
  return b.generate({boxes, order}, shape, elementTypeOf(boxes),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Value box = load(builder, loc, tensors[1], index);
                      box = Scalar(builder, loc, box).to(builder.getIndexType()).value;
                      auto entry = [&](int64_t k) {
                        Value position = builder.create<arith::ConstantIndexOp>(loc, k);
                        return Scalar(builder, loc, load(builder, loc, tensors[0], {index[0], box, position}));
                      };
                      unsigned dim = which % 2;
                      if (!isCentered)
                        return (which < 2 ? min(entry(dim), entry(dim + 2)) : max(entry(dim), entry(dim + 2))).value;
                      Scalar center = entry(1 - dim), half = entry(3 - dim) * 0.5;
                      return (which < 2 ? center - half : center + half).value;
                    });
}

/// A coordinate of the box at `position` [batches, classes, 1] in sorted order; 0 beyond the last one.
Value Suppression::takenBox(Value sorted, Value position) {
  Value padded =
      padTensor(b, sorted, Shape(3, SymbolicInt(0)), Shape{SymbolicInt(0), SymbolicInt(0), SymbolicInt(1)}, "constant");
  return b.generate({padded, position}, shapeOf(position), elementTypeOf(sorted),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Value at = load(builder, loc, tensors[1], index);
                      SmallVector<Value> source(index);
                      source[2] = Scalar(builder, loc, at).to(builder.getIndexType()).value;
                      return load(builder, loc, tensors[0], source);
                    });
}

Value Suppression::overlaps(Value position, Value threshold) {
  SmallVector<Value> inputs(corners);
  for (Value sorted : corners)
    inputs.push_back(takenBox(sorted, position));
  inputs.push_back(threshold);
  return pointwise(
      b, inputs,
      [](ArrayRef<Scalar> v) {
        auto area = [](Scalar lowY, Scalar lowX, Scalar highY, Scalar highX) {
          return (highY - lowY) * (highX - lowX);
        };
        Scalar height = min(v[2], v[6]) - max(v[0], v[4]), width = min(v[3], v[7]) - max(v[1], v[5]);
        Scalar common = height * width;
        Scalar first = area(v[0], v[1], v[2], v[3]), second = area(v[4], v[5], v[6], v[7]);
        Scalar together = first + second - common;
        return (height > 0.0) & (width > 0.0) & (first > 0.0) & (second > 0.0) & (together > 0.0) &
               (common / together > v[8]);
      },
      b.operations.getI1Type());
}

Iteration Suppression::iterate(Value alive, Value threshold) {
  Value places = alongAxis(b, iota(b, extent, b.i64()), 2, shape);
  Value candidates = graph::where(b, alive, places, number(b, extent, b.i64()));
  Value position = b.reduce(ReductionKind::Min, candidates, 2, true);
  Value dropped = overlaps(position, threshold);
  if (!dropped)
    return {};
  Value isTaken = applyComposite(b, "equal", {places, position})[0];
  Value left = pointwise(b, {alive, dropped, isTaken}, [](ArrayRef<Scalar> v) { return v[0] & ~(v[1] | v[2]); });
  Value any = b.reduce(ReductionKind::Max, left, {0, 1, 2}, false);
  return {any, {left}, {b.squeeze(position, 2)}};
}

/// `taken`: [iterations, batches, classes], places in sorted order; the number of boxes for none.
Value Suppression::selected(Value taken) {
  Value perClass = b.transpose(taken, {1, 2, 0});
  SymbolicInt iterations = shapeOf(taken)[0], classes = shape[1];
  Value flat = b.reshape(perClass, elementCount(shapeOf(taken)));
  Value isTaken = applyComposite(b, "less", {flat, number(b, extent, b.i64())})[0];
  Value places = positionsWhere(b, isTaken);
  if (!places)
    return {};
  return b.generate(
      {places, flat, order}, {shapeOf(places)[0], SymbolicInt(3)}, b.i64(),
      [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        auto toIndex = [&](Value value) { return Scalar(builder, loc, value).to(builder.getIndexType()); };
        Scalar place = toIndex(load(builder, loc, tensors[0], index[0]));
        Scalar row = place / place.with(graph::extent(builder, loc, iterations));
        Scalar count = place.with(graph::extent(builder, loc, classes));
        Scalar sorted = toIndex(load(builder, loc, tensors[1], place.value));
        Scalar batch = row / count, category = row % count;
        Scalar box = toIndex(load(builder, loc, tensors[2], {batch.value, category.value, sorted.value}));
        Scalar which = place.with(index[1]);
        Scalar chosen =
            select(equal(which, which.integer(0)), batch, select(equal(which, which.integer(1)), category, box));
        return chosen.to(builder.getI64Type()).value;
      });
}

Value Suppression::run(Value limit, Value overlapThreshold, Value scoreThreshold) {
  boxes = b.broadcast(boxes, {0, 1, 2}, {shape[0], extent, SymbolicInt(4)}); // as many as there are scores
  order = b.sort(scores, 2, /*isDescending=*/true);
  if (!boxes || !order)
    return {};
  for (unsigned which = 0; which < 4; ++which)
    corners.push_back(corner(which));
  Value alive = b.splat(shape, 1, b.operations.getI1Type());
  if (scoreThreshold) {
    NamedAttribute last = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(2));
    Results sorted = applyComposite(b, "gather_elements", {scores, order}, Attributes(b.context(), {last}));
    alive = sorted.empty() ? Value() : applyComposite(b, "greater", {sorted[0], scoreThreshold})[0];
  }
  Value any = b.reduce(ReductionKind::Max, alive, {0, 1, 2}, false);
  SmallVector<Value> results =
      b.loop({limit, any}, alive, [&](Value, ValueRange carried) { return iterate(carried[0], overlapThreshold); });
  return results.empty() ? Value() : selected(results[1]);
}

namespace composites {
/// in: boxes [b, n, 4], scores [b, c, n]; optional scalars: most boxes per class (0), overlap threshold (0), score
/// threshold. Attribute center_point_box.
Results non_max_suppression(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) != 3 || rankOf(in[1]) != 3 || !isFloat(in[0]) || !isFloat(in[1]))
    return {b.contradict("non_max_suppression: expected boxes [b, n, 4] and scores [b, c, n] of floats, got shapes " +
                         toString(shapeOf(in[0])) + " and " + toString(shapeOf(in[1])))};
  auto scalar = [&](size_t index) {
    Value value = optionalInput(in, index);
    return value ? b.reshape(value, {}) : value;
  };
  Value limit = scalar(2), overlap = scalar(3);
  limit = limit ? limit : b.scalar(0, b.i64());
  overlap = overlap ? overlap : b.scalar(0, elementTypeOf(in[0]));
  return {Suppression(b, in[0], in[1], a.getInt("center_point_box")).run(limit, overlap, scalar(4))};
}
} // namespace composites
} // namespace perpend::graph
