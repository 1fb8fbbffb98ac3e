//===- Rotary.cpp - rotary position embedding -----------------------------===//

#include "graph/composites/Attention.h"

using namespace mlir;

namespace perpend::graph {

/// Rows of a table [positions, pairs], or a table per batch and position; as [batch, 1, length, pairs].
static Value anglesOf(Builder &b, Value table, Value positions, Type type) {
  if (table && positions)
    table = b.gather(table, normalIndices(b, positions, shapeOf(table)[0]), 0);
  return table ? b.unsqueeze(b.cast(table, type), {1}) : table;
}

/// The first and the second elements of the pairs.
static std::pair<Value, Value> pairsOf(Builder &b, Value x, const SymbolicInt &pairs, bool interleaved) {
  Shape sizes = shapeOf(x), first(sizes.size(), SymbolicInt(0)), second = first;
  sizes.back() = pairs;
  second.back() = interleaved ? SymbolicInt(1) : pairs;
  SmallVector<int64_t> steps(sizes.size(), 1);
  steps.back() = interleaved ? 2 : 1;
  return {b.slice(x, first, sizes, steps), b.slice(x, second, sizes, steps)};
}

static Value joinPairs(Builder &b, Value first, Value second, const Shape &shape, bool interleaved) {
  int64_t rank = shape.size();
  if (!first || !second)
    return {};
  if (!interleaved)
    return b.concat({first, second}, rank - 1);
  return b.reshape(b.concat({b.unsqueeze(first, {rank}), b.unsqueeze(second, {rank})}, rank), shape);
}

Value rotate(Builder &b, Value x, Value cosines, Value sines, const RotaryForm &form) {
  if (!x || !cosines || !sines)
    return {};
  Shape shape = shapeOf(x);
  int64_t tableRank = form.positions ? 2 : 3;
  if (shape.size() != 4 || rankOf(cosines) != tableRank || rankOf(sines) != tableRank ||
      (form.positions && rankOf(form.positions) != 2))
    return b.contradict("rotary embedding: expected a tensor of rank 4 and tables of rank " + Twine(tableRank) +
                        ", got shapes " + toString(shape) + ", " + toString(shapeOf(cosines)) + " and " +
                        toString(shapeOf(sines)));
  SymbolicInt pairs = shapeOf(cosines).back(), size = pairs * 2;
  if (provablyDiffer(size, form.size))
    return b.fail("rotary embedding: the tables have " + pairs.str() + " pairs, expected half of " + form.size.str());
  Type type = computeType(elementTypeOf(x));
  Value whole = b.cast(x, type), rotated = sliceAxis(b, whole, 3, SymbolicInt(0), size);
  if (!rotated)
    return {};
  auto [first, second] = pairsOf(b, rotated, pairs, form.interleaved);
  Value cosine = anglesOf(b, cosines, form.positions, type), sine = anglesOf(b, sines, form.positions, type);
  Value real = sub(b, mul(b, cosine, first), mul(b, sine, second));
  Value imaginary = add(b, mul(b, sine, first), mul(b, cosine, second));
  Shape rotatedShape = shape;
  rotatedShape.back() = size;
  Value result = joinPairs(b, real, imaginary, rotatedShape, form.interleaved);
  if (result && shape.back() != size)
    result = b.concat({result, sliceAxis(b, whole, 3, size, shape.back() - size)}, 3);
  return result ? b.cast(result, elementTypeOf(x)) : result;
}

namespace composites {
/// in: x, cosines, sines, positions (optional). Of rank 3, x is split into num_heads.
Results rotary_embedding(Builder &b, Values in, const Attributes &a) {
  bool isPacked = rankOf(in[0]) == 3;
  Value x = isPacked ? splitHeads(b, in[0], SymbolicInt(a.getInt("num_heads"))) : in[0];
  if (!x || rankOf(x) != 4)
    return {x ? b.contradict("rotary embedding: expected rank 3 or 4, got shape " + toString(shapeOf(x))) : x};
  int64_t size = a.getInt("rotary_embedding_dim");
  RotaryForm form{optionalInput(in, 3), a.getInt("interleaved") != 0, size ? SymbolicInt(size) : shapeOf(x)[3]};
  Value result = rotate(b, x, in[1], in[2], form);
  return {isPacked ? joinHeads(b, result) : result};
}
} // namespace composites
} // namespace perpend::graph
