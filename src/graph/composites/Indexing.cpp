//===- Indexing.cpp - gathers, ranges, masks ------------------------------===//

#include "graph/composites/Formulas.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {

Value iota(Builder &b, const SymbolicInt &count, Type elementType) {
  return b.generate({}, {count}, elementType, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
    return Scalar(builder, loc, index[0]).to(scalarType(elementType)).value;
  });
}

Value normalIndices(Builder &b, Value indices, const SymbolicInt &extent) {
  if (!indices || isUnsigned(elementTypeOf(indices)))
    return indices;
  if (std::optional<Shape> known = b.contents(indices)) {
    bool isCertain = true;
    for (SymbolicInt &index : *known) {
      std::optional<bool> isNegative = compareLess(index, SymbolicInt(0));
      isCertain &= isNegative.has_value();
      if (isNegative == true)
        index += extent;
    }
    if (isCertain)
      return knownIntegers(b, *known, shapeOf(indices), elementTypeOf(indices));
  }
  return pointwise(b, {indices, number(b, extent, elementTypeOf(indices))},
                   [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0] + v[1], v[0]); });
}

static bool checkIndices(Builder &b, Value indices) {
  if (isa<IntegerType>(elementTypeOf(indices)))
    return true;
  b.fail("expected integer indices, got elements of type " + nameOf(elementTypeOf(indices)) + "\nhint: cast them");
  return false;
}

/// An element of an index tensor as a position in [0, extent): negative from the end, clamped.
static Value position(OpBuilder &builder, Location loc, Value tensor, ValueRange at, const SymbolicInt &bound) {
  Scalar index = Scalar(builder, loc, load(builder, loc, tensor, at), isUnsigned(elementTypeOf(tensor)))
                     .to(builder.getIndexType());
  index.noSign = false;
  Scalar count(builder, loc, extent(builder, loc, bound));
  Scalar wrapped = select(index < 0, index + count, index);
  return max(min(wrapped, count - 1), 0).value;
}

void requireExtents(Builder &b, ArrayRef<SymbolicInt> extents, ArrayRef<SymbolicInt> read, StringRef what) {
  for (auto [extent, needed] : llvm::zip(extents, read))
    b.require(extent - needed,
              (what + ": extents " + toString(read) + " are read of a tensor of shape " + toString(extents)).str());
}

void requireShape(Builder &b, Value x, const Twine &what, const Shape &expected) {
  if (!x)
    return;
  Shape shape = shapeOf(x);
  std::string message = (what + ": expected shape " + toString(expected) + ", got " + toString(shape)).str();
  if (shape.size() != expected.size())
    b.fail(message + "\nhint: correct the shape at this node, with a Reshape for example");
  else
    for (auto [extent, wanted] : llvm::zip(shape, expected)) {
      b.require(extent - wanted, message);
      b.require(wanted - extent, message);
    }
}

void requireAll(Builder &b, Value condition, StringRef message) {
  Value wrong = condition ? applyComposite(b, "logical_not", condition)[0] : condition;
  if (!wrong)
    return;
  Value count = sum(b, b.cast(wrong, b.i64()), llvm::to_vector(llvm::seq<int64_t>(0, rankOf(wrong))), false);
  b.require(-b.measure(count, "wrong_elements"), message);
}

namespace composites {
Results gather(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  if (axis < 0 || !checkIndices(b, in[1]))
    return {};
  // A single known index is a slice.
  auto index = b.contents(in[1]);
  SymbolicInt count = shapeOf(in[0])[axis];
  if (index && rankOf(in[1]) == 0 && !b.contents(in[0]) && index->front().constant()) {
    SymbolicInt start = *index->front().constant() < 0 ? index->front() + count : index->front();
    if (compareLess(start, count) == false || start.upperBound().value_or(0) < 0)
      return {b.fail("gather: index " + index->front().str() + " of dimension " + Twine(axis) + ", which has " +
                     count.str() + " elements")};
    return {b.squeeze(sliceAxis(b, in[0], axis, start, SymbolicInt(1)), axis)};
  }
  return {b.gather(in[0], normalIndices(b, in[1], count), axis)};
}

/// result[i..] = x[i.., indices[i..] in place of axis, ..]
Results gather_elements(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  if (axis < 0 || !checkIndices(b, in[1]))
    return {};
  if (rankOf(in[1]) != rankOf(in[0]))
    return {b.contradict("gather_elements: expected indices of rank " + Twine(rankOf(in[0])) + ", got " +
                         Twine(rankOf(in[1])))};
  SymbolicInt count = shapeOf(in[0])[axis];
  Shape read = shapeOf(in[1]);
  read[axis] = count;
  requireExtents(b, shapeOf(in[0]), read, "gather_elements");
  return {b.generate(in, shapeOf(in[1]), elementTypeOf(in[0]),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       SmallVector<Value> source(index);
                       source[axis] = position(builder, loc, tensors[1], index, count);
                       return load(builder, loc, tensors[0], source);
                     })};
}

/// indices [batch.., i.., k]: the last dimension is a position in the first k dimensions after the batch.
Results gather_nd(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), indexShape = shapeOf(in[1]);
  int64_t batch = a.getInt("batch_dims"), rank = shape.size(), indexRank = indexShape.size();
  std::optional<int64_t> depth = indexRank ? indexShape.back().constant() : std::nullopt;
  if (!checkIndices(b, in[1]))
    return {};
  if (!depth || batch < 0 || batch >= indexRank || batch + *depth > rank)
    return {b.contradict("gather_nd: indices of shape " + toString(indexShape) + " do not fit a tensor of shape " +
                         toString(shape))};
  requireExtents(b, ArrayRef(shape).take_front(batch), ArrayRef(indexShape).take_front(batch), "gather_nd");
  Shape result(indexShape.begin(), indexShape.end() - 1);
  result.append(shape.begin() + batch + *depth, shape.end());
  return {b.generate(in, result, elementTypeOf(in[0]),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       SmallVector<Value> source(index.take_front(batch)), at(index.take_front(indexRank - 1));
                       at.push_back({});
                       for (int64_t k = 0; k < *depth; ++k) {
                         at.back() = builder.create<arith::ConstantIndexOp>(loc, k);
                         source.push_back(position(builder, loc, tensors[1], at, shape[batch + k]));
                       }
                       llvm::append_range(source, index.drop_front(indexRank - 1));
                       return load(builder, loc, tensors[0], source);
                     })};
}

/// in: indices, off and on values; attribute depth; the new dimension is at `axis`.
Results one_hot(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> depth = a.getDims("depth");
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]) + 1);
  if (!depth || depth->size() != 1 || axis < 0)
    return {b.fail("one_hot: the depth must be one known number")};
  Value indices = b.unsqueeze(normalIndices(b, in[0], depth->front()), axis);
  if (!indices)
    return {};
  Shape shape = shapeOf(indices);
  shape[axis] = depth->front();
  Value positions = alongAxis(b, iota(b, depth->front(), elementTypeOf(indices)), axis, shape);
  Value hit = applyComposite(b, "equal", {indices, positions})[0];
  return {graph::where(b, hit, in[2], in[1])};
}

/// in: x, lengths [batch]; attributes batch_axis (1), time_axis (0).
Results reverse_sequence(Builder &b, Values in, const Attributes &a) {
  int64_t batch = normalAxis(b, a.getInt("batch_axis", 1), rankOf(in[0]));
  int64_t time = normalAxis(b, a.getInt("time_axis", 0), rankOf(in[0]));
  if (batch < 0 || time < 0 || !checkIndices(b, in[1]))
    return {};
  if (rankOf(in[1]) != 1)
    return {b.contradict("reverse_sequence: expected a vector of lengths, got shape " + toString(shapeOf(in[1])))};
  Value lengths = b.broadcast(in[1], 0, shapeOf(in[0])[batch]); // as many as there are batches
  return {b.generate({in[0], lengths}, shapeOf(in[0]), elementTypeOf(in[0]),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       Scalar i(builder, loc, index[time]);
                       Value length = load(builder, loc, tensors[1], index[batch]);
                       Scalar count = Scalar(builder, loc, length).to(builder.getIndexType());
                       Scalar bound(builder, loc, extent(builder, loc, shapeOf(in[0])[time]));
                       SmallVector<Value> source(index);
                       source[time] = select(i < min(count, bound), min(count, bound) - 1 - i, i).value;
                       return load(builder, loc, tensors[0], source);
                     })};
}

/// start, start + step, ... below limit; all three may be symbolic when they are integers.
Results arange(Builder &b, Values given, const Attributes &) {
  SmallVector<Value, 3> in;
  for (Value number : given) {
    if (provablyDiffer(elementCount(shapeOf(number)), SymbolicInt(1)))
      return {b.contradict("arange: expected one number each for start, limit and step, got shape " +
                           toString(shapeOf(number)) + "\nhint: give scalars, with a Reshape for example")};
    in.push_back(b.reshape(number, {}));
  }
  std::optional<Shape> start = b.contents(in[0]), limit = b.contents(in[1]), step = b.contents(in[2]);
  SymbolicInt count(0);
  if (start && limit && step && step->front().constant().value_or(0) != 0) {
    count = max(ceilDiv(limit->front() - start->front(), step->front()), SymbolicInt(0));
  } else {
    std::optional<double> first = constantNumber(in[0]), last = constantNumber(in[1]), delta = constantNumber(in[2]);
    if (delta == 0.0)
      return {b.fail("arange: the step is 0")};
    count = first && last && delta
                ? SymbolicInt(support::saturatedInteger(std::max(std::ceil((*last - *first) / *delta), 0.0)))
                : rangeMeasured(b, in[0], in[1], in[2]);
  }
  if (count.isPoison())
    return {b.fail("arange: how many numbers there are is too long an expression")};
  Type type = elementTypeOf(in[0]);
  Value result = graph::add(b, in[0], graph::mul(b, iota(b, count, type), in[2]));
  std::optional<int64_t> number = count.constant();
  if (!result || !start || !step || !number || *number > 128 || !isa<IntegerType>(type))
    return {result};
  Shape values;
  for (int64_t i = 0; i < *number; ++i)
    values.push_back(start->front() + step->front() * i);
  return {knownIntegers(b, values, {count}, type)};
}

/// Keeps the triangle j - i <= k (upper = 0) or j - i >= k (upper = 1) of the last two dimensions; 0 elsewhere. in: x,
/// k (optional, instead of the attribute).
Results trilu(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]);
  if (shape.size() < 2)
    return {b.contradict("trilu: expected rank 2 or more, got shape " + toString(shape))};
  bool isUpper = a.getInt("upper", 1);
  SymbolicInt diagonal = a.has("k") && a.getDims("k") ? a.getDims("k")->front() : SymbolicInt(a.getInt("k"));
  int64_t rank = shape.size();
  Value given = optionalInput(in, 1);
  if (given && (!checkIndices(b, given) || elementCount(shapeOf(given)) != SymbolicInt(1)))
    return {b.contradict("trilu: expected one diagonal, got shape " + toString(shapeOf(given)))};
  SmallVector<Value, 1> inputs;
  if (given)
    inputs.push_back(b.reshape(given, {}));
  Value mask = b.generate(inputs, {shape[rank - 2], shape[rank - 1]}, b.operations.getI1Type(),
                          [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                            Scalar i(builder, loc, index[0]), j(builder, loc, index[1]);
                            Scalar shift = given ? i.with(load(builder, loc, tensors[0], {})).to(i.type())
                                                 : i.with(extent(builder, loc, diagonal));
                            Scalar limit = i + shift;
                            return (isUpper ? j >= limit : j <= limit).value;
                          });
  return {graph::where(b, mask, in[0], b.scalar(0, elementTypeOf(in[0])))};
}
} // namespace composites
} // namespace perpend::graph
