//===- Padding.cpp - adds and removes padding of sequences ----------------===//
//
// Operators of the domain com.microsoft that convert between two forms of a batch of sequences of different lengths:
// [batch, length, ..] with padding after each sequence; and [tokens, ..] without padding, beside the position of each
// token in the first form. Attention on the second form converts its operands to the first.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "frontend/onnx/microsoft/PackedSequences.h"
#include "graph/composites/Attention.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The positions of the tokens alone: the first `tokens` of [batch, length].
static Value placesOf(Builder &b, Value offsets, const SymbolicInt &tokens) {
  Value flat = b.reshape(b.cast(offsets, b.i64()), elementCount(shapeOf(offsets)));
  return flat ? sliceAxis(b, flat, 0, SymbolicInt(0), tokens) : flat;
}

/// Converts [tokens, ..] to [batch, length, ..], given the positions [batch, length] of the tokens, followed by those
/// of the padding.
static Value padded(Builder &b, Value tokens, Value offsets) {
  if (!tokens)
    return {};
  Shape batches = shapeOf(offsets);
  return withPadding(b, tokens, placesOf(b, offsets, shapeOf(tokens)[0]), batches[0], batches[1]);
}

static bool checkOffsets(Node &node, Value tokens, Value offsets) {
  bool fits = rankOf(tokens) >= 1 && rankOf(offsets) == 2;
  if (!fits)
    node.fail("expected tokens [tokens, ..] and token_offset [batch, length], got shapes " + toString(shapeOf(tokens)) +
              " and " + toString(shapeOf(offsets)));
  return fits;
}

/// in: [batch, length, size], the number of tokens per batch. Results: tokens [tokens, size]; the places of the tokens,
/// then of the padding [batch, length]; the sums of the numbers so far [batch + 1]; the largest.
Results importRemovePadding(Node &node) {
  if (!node.hasInputs(2) || !hasRanks(node, {{0, 3}, {1, 1}}))
    return {};
  Builder &b = node.builder;
  Shape shape = shapeOf(node.input(0)), places{shape[0], shape[1]};
  Type type = graph::elementTypeOf(node.input(1));
  Value counts = b.broadcastTo(b.cast(node.input(1), b.i64()), {shape[0]});
  Value isToken = counts ? call(b, "less", {iota(b, shape[1], b.i64()), b.unsqueeze(counts, {1})}) : counts;
  Value flat = b.reshape(isToken, elementCount(places)), tokens = positionsWhere(b, flat);
  if (!tokens)
    return {};
  Value others = positionsWhere(b, call(b, "logical_not", flat), elementCount(places) - shapeOf(tokens)[0]);
  Value offsets = b.reshape(b.concat({tokens, others}, 0), places);
  Value ends = b.concat({b.splat({SymbolicInt(1)}, 0, b.i64()), b.scan(ReductionKind::Sum, counts, 0)}, 0);
  return {withoutPadding(b, node.input(0), tokens), b.cast(offsets, type), b.cast(ends, type),
          b.cast(b.reduce(ReductionKind::Max, counts, 0, /*keepDims=*/true), type)};
}

Results importRestorePadding(Node &node) {
  if (!node.hasInputs(2) || !checkOffsets(node, node.input(0), node.input(1)))
    return {};
  return {padded(node.builder, node.input(0), node.input(1))};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Attention on padded inputs, whose padding is hidden by the lengths between `ends` [batch + 1], for inputs without
/// padding. `arrange` computes its inputs from the lengths.
static Results attendPacked(Node &node, Value offsets, Value ends, ImportFunction attention,
                            llvm::function_ref<SmallVector<Value>(Value lengths)> arrange) {
  if (!offsets || !ends)
    return node.fail("expected token_offset and cumulative_sequence_length");
  if (!checkOffsets(node, node.input(0), offsets))
    return {};
  Builder &b = node.builder;
  SymbolicInt batch = shapeOf(offsets)[0], tokens = shapeOf(node.input(0))[0];
  Value lengths =
      graph::sub(b, sliceAxis(b, ends, 0, SymbolicInt(1), batch), sliceAxis(b, ends, 0, SymbolicInt(0), batch));
  node.inputs = arrange(lengths);
  Results results = b.hasFailed() ? Results() : attention(node);
  return {results.empty() ? Value() : withoutPadding(b, results[0], placesOf(b, offsets, tokens))};
}

/// in: tokens, weights, bias, places of the tokens, sums of lengths, bias of the scores.
Results importPackedAttention(Node &node) {
  if (!node.hasInputs(5) || !hasRanks(node, {{0, 2}, {1, 2}, {2, 1}, {3, 2}, {4, 1}, {5, 4}}))
    return {};
  Value offsets = node.input(3);
  return attendPacked(node, offsets, node.input(4), importMicrosoftAttention, [&](Value lengths) {
    return SmallVector<Value>{
        padded(node.builder, node.input(0), offsets), node.input(1), node.input(2), lengths, Value(), node.input(5)};
  });
}

/// in: query, key, value, bias, places of the tokens, sums of lengths, bias of the scores.
Results importPackedMultiHeadAttention(Node &node) {
  if (!node.hasInputs(1) || !hasRanks(node, {{1, 2}, {2, 2}, {3, 1}, {4, 2}, {5, 1}, {6, 4}}))
    return {};
  Value offsets = node.input(4);
  return attendPacked(node, offsets, node.input(5), importMultiHeadAttention, [&](Value lengths) {
    SmallVector<Value> inputs;
    for (size_t index : {0, 1, 2})
      inputs.push_back(padded(node.builder, node.input(index), offsets));
    inputs.append({node.input(3), lengths, node.input(6)});
    return inputs;
  });
}

//===----------------------------------------------------------------------===//
// Biases by position
//===----------------------------------------------------------------------===//

/// The bucket of a distance: one each below half of `buckets`, then logarithmic steps up to `farthest`.
static Scalar bucketOf(Scalar distance, int64_t buckets, int64_t farthest, Type f32) {
  int64_t exact = buckets / 2;
  double steps = static_cast<double>(buckets - exact), half = static_cast<double>(exact);
  Scalar ratio = max(distance, 1).to(f32) / half;
  Scalar span = log(ratio.constant(static_cast<double>(farthest)) / half);
  Scalar far = (log(ratio) / span * steps).to(distance.type()) + distance.integer(exact);
  return select(distance < half, distance, min(far, static_cast<double>(buckets - 1)));
}

/// in: table [buckets, heads] stored column by column, number of queries, number of keys. The result is
/// [1, heads, queries, keys]. Source: the relative attention bias of T5.
Results importRelativePositionBias(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Builder &b = node.builder;
  Value table = node.input(0);
  int64_t farthest = node.attributes.getInt("max_distance");
  bool isBidirectional = node.attributes.getInt("is_bidirectional");
  std::optional<int64_t> rows = rankOf(table) == 2 ? shapeOf(table)[0].constant() : std::nullopt;
  int64_t buckets = rows.value_or(0) / (isBidirectional ? 2 : 1);
  if (buckets < 2 || farthest <= buckets / 2)
    return node.fail("expected a table [buckets, heads] of a known number of buckets, at least 2 per direction, and a "
                     "max_distance of more than half of them, got " +
                     Twine(farthest));
  SymbolicInt queries = b.measure(node.input(1), "query_length"), keys = b.measure(node.input(2), "key_length");
  if (b.hasFailed())
    return {};
  Value relative = graph::sub(b, iota(b, keys, b.i64()), b.unsqueeze(iota(b, queries, b.i64()), {1}));
  Value bucket = pointwise(b, relative, [&](ArrayRef<Scalar> v) {
    Scalar back = bucketOf(max(-v[0], 0), buckets, farthest, b.f32());
    if (!isBidirectional)
      return back;
    return select(v[0] > 0, bucketOf(v[0], buckets, farthest, b.f32()) + static_cast<double>(buckets), back);
  });
  Value byHead = b.reshape(table, {shapeOf(table)[1], shapeOf(table)[0]});
  return {b.unsqueeze(b.gather(byHead, bucket, 1), {0})};
}

/// in: query, its bias, bias by position [1, heads, length, length], weight [size, d], bias [d], eco_a, positions of
/// the tokens. With u and r the sigmoids of the sums of both halves of a query's d: (u (r eco_a - 1) + 2) bias.
Results importGatedRelativePositionBias(Node &node) {
  if (!node.hasInputs(6) || !hasRanks(node, {{1, 1}, {2, 4}, {3, 2}, {4, 1}, {5, 4}, {6, 2}}))
    return {};
  Builder &b = node.builder;
  Value query = node.input(0);
  if (node.input(6) && (!checkOffsets(node, query, node.input(6)) || !(query = padded(b, query, node.input(6)))))
    return {};
  if (rankOf(query) != 3)
    return node.fail("expected a query [batch, length, heads * size], got shape " + toString(shapeOf(query)));
  Value split = splitHeads(b, graph::add(b, query, node.input(1)), SymbolicInt(node.attributes.getInt("num_heads")));
  std::optional<SymbolicInt> half = exactDiv(shapeOf(node.input(4))[0], SymbolicInt(2));
  if (!half)
    return node.fail("expected a weight with an even number of columns, got " + shapeOf(node.input(4))[0].str());
  Value product = graph::add(b, matmulOf(b, split, node.input(3)), node.input(4));
  if (!product)
    return {};
  Shape halves = shapeOf(split);
  halves.back() = SymbolicInt(2);
  halves.push_back(*half);
  Value gates = call(b, "sigmoid", graph::sum(b, b.reshape(product, halves), {4}, false));
  if (!gates)
    return {};
  Value u = sliceAxis(b, gates, 3, SymbolicInt(0), SymbolicInt(1)),
        r = sliceAxis(b, gates, 3, SymbolicInt(1), SymbolicInt(1));
  Type type = graph::elementTypeOf(query);
  Value inner = graph::sub(b, graph::mul(b, r, node.input(5)), b.scalar(1, type));
  return {graph::mul(b, graph::add(b, graph::mul(b, u, inner), b.scalar(2, type)), node.input(2))};
}
} // namespace perpend::onnx
