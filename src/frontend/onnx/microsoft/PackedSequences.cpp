//===- PackedSequences.cpp - concatenated sequences -----------------------===//

#include "frontend/onnx/microsoft/PackedSequences.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// Ends the run unless the bounds increase from 0 to the number of tokens.
static void checkBounds(Builder &b, Value bounds, Value lengths, const SymbolicInt &tokens, StringRef name) {
  SymbolicInt count = shapeOf(lengths)[0];
  std::string message = (name + ": expected numbers that ascend from 0 to the number of tokens").str();
  Value zero = b.scalar(0, b.i64());
  requireAll(b, call(b, "greater_equal", {lengths, zero}), message);
  auto requireEqual = [&](const SymbolicInt &place, const SymbolicInt &wanted) {
    Value bound = sliceAxis(b, bounds, 0, place, SymbolicInt(1));
    requireAll(b, call(b, "equal", {bound, number(b, wanted, b.i64())}), message);
  };
  requireEqual(SymbolicInt(0), SymbolicInt(0));
  requireEqual(count, tokens);
}

std::optional<PackedSequences> packedSequences(Builder &b, Value bounds, const SymbolicInt &tokens, StringRef name) {
  if (rankOf(bounds) != 1) {
    b.fail(name + ": expected a vector, got shape " + toString(shapeOf(bounds)));
    return std::nullopt;
  }
  SymbolicInt count = shapeOf(bounds)[0] - SymbolicInt(1);
  b.require(count, (name + ": expected at least one number").str());
  bounds = b.cast(bounds, b.i64());
  if (b.hasFailed())
    return std::nullopt;
  Value lengths =
      graph::sub(b, sliceAxis(b, bounds, 0, SymbolicInt(1), count), sliceAxis(b, bounds, 0, SymbolicInt(0), count));
  checkBounds(b, bounds, lengths, tokens, name);
  Value zero = b.splat(SymbolicInt(1), 0, b.i64());
  Value most = b.reduce(ReductionKind::Max, b.concat({lengths, zero}, 0), 0, false);
  SymbolicInt longest = b.measure(most, "longest");
  if (b.hasFailed())
    return std::nullopt;
  Value isToken = call(b, "less", {iota(b, longest, b.i64()), b.unsqueeze(lengths, {1})});
  Value places = positionsWhere(b, b.reshape(isToken, count * longest), tokens);
  return PackedSequences{count, longest, lengths, places};
}

Value withPadding(Builder &b, Value tokens, Value places, const SymbolicInt &batch, const SymbolicInt &length) {
  if (!tokens || !places)
    return {};
  Shape rows = shapeOf(tokens), flat{batch * length}, padded{batch, length};
  flat.append(rows.begin() + 1, rows.end());
  padded.append(rows.begin() + 1, rows.end());
  Value zeros = b.splat(flat, 0, graph::elementTypeOf(tokens));
  return b.reshape(b.scatter(zeros, b.unsqueeze(places, {1}), tokens), padded);
}

Value withoutPadding(Builder &b, Value padded, Value places) {
  if (!padded || !places)
    return {};
  Shape shape = shapeOf(padded), flat{shape[0] * shape[1]};
  flat.append(shape.begin() + 2, shape.end());
  return b.gather(b.reshape(padded, flat), places, 0);
}
} // namespace perpend::onnx
