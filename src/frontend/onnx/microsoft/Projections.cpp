//===- Projections.cpp - attention with projections -----------------------===//
//
// Attention operators of the domain com.microsoft that compute query, key and
// value from hidden states and weights.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Attention.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// Columns from `start` on of x weight + bias, as [batch, heads, length, size].
static Value projection(Builder &b, Value x, Value weight, Value bias, const SymbolicInt &start,
                        const SymbolicInt &width, const SymbolicInt &heads) {
  if (!x || !weight || !bias)
    return {};
  Value product = graph::matmulOf(b, x, sliceAxis(b, weight, 1, start, width));
  return product ? splitHeads(b, graph::add(b, product, sliceAxis(b, bias, 0, start, width)), heads) : product;
}

namespace {
/// Tensors [batch, heads, length, size].
struct Projections {
  Value query, key, value;
};
} // namespace

/// Query, key and value from the same hidden states: weight [n, 3 width], bias [3 width].
static Projections projections(Node &node, Value x, Value weight, Value bias) {
  Builder &b = node.builder;
  SymbolicInt heads(node.attributes.getInt("num_heads")), width = floorDiv(shapeOf(weight)[1], SymbolicInt(3));
  requireShape(b, weight, "weight, of queries, keys and values of one size,",
               {shapeOf(x).back(), width * SymbolicInt(3)});
  requireShape(b, bias, "bias", {shapeOf(weight)[1]});
  if (b.hasFailed())
    return {};
  return {projection(b, x, weight, bias, SymbolicInt(0), width, heads),
          projection(b, x, weight, bias, width, width, heads),
          projection(b, x, weight, bias, width * SymbolicInt(2), width, heads)};
}

static bool hasHeads(Node &node) {
  int64_t heads = node.attributes.getInt("num_heads");
  if (heads < 1)
    node.fail("expected num_heads of at least 1, got " + Twine(heads) + "\nhint: give the attribute num_heads");
  return heads >= 1;
}

//===----------------------------------------------------------------------===//
// DecoderMaskedSelfAttention
//===----------------------------------------------------------------------===//

/// The number of adjacent elements of a key in a shared cache: those of 16 bytes.
static SymbolicInt neighbours(Value cache) {
  return SymbolicInt(128 / graph::elementTypeOf(cache).getIntOrFloatBitWidth());
}

/// Converts keys [batch, heads, size / n, length, n] to [batch, heads, length, size].
static Value keysInOrder(Builder &b, Value cache) {
  Shape shape = shapeOf(cache);
  SymbolicInt n = neighbours(cache);
  Value parts = b.reshape(cache, {shape[0], shape[1], floorDiv(shape[3], n), shape[2], n});
  return parts ? b.reshape(b.transpose(parts, {0, 1, 3, 2, 4}), shape) : parts;
}
/// The inverse.
static Value keysInParts(Builder &b, Value keys) {
  Shape shape = shapeOf(keys);
  SymbolicInt n = neighbours(keys);
  Value parts = b.reshape(keys, {shape[0], shape[1], shape[2], floorDiv(shape[3], n), n});
  return parts ? b.reshape(b.transpose(parts, {0, 1, 3, 2, 4}), shape) : parts;
}

/// Whether the node's form is supported; otherwise emits an error.
static bool checkMaskedDecoder(Node &node) {
  Value past = node.input(4);
  if (!node.hasInputs(3) || !hasHeads(node) || !hasRanks(node, {{0, 3}, {1, 2}, {2, 1}, {3, 2}, {4, 5}, {5, 4}}))
    return false;
  bool isShared = node.attributes.getInt("past_present_share_buffer");
  if (!past || node.attributes.getInt("do_rotary") || node.input(8))
    return node.fail("expected the input past, and neither do_rotary nor the input cache_indirection (beams)"
                     "\nhint: rotate query and key before this node, reorder the past by beams with Gather, and give "
                     "an empty past in the first step"),
           false;
  if (isShared && (!node.input(6) || !exactDiv(shapeOf(past)[4], neighbours(past))))
    return node.fail("a shared past needs past_sequence_length and heads of a multiple of " + neighbours(past).str() +
                     " elements, got " + shapeOf(past)[4].str() +
                     "\nhint: give both, or leave past_present_share_buffer out"),
           false;
  return true;
}

/// in: x [batch, 1, n], weight, bias, mask [batch, keys], past [2, batch, heads, length, size], bias of the scores, how
/// much of a shared past is used. Results: [batch, 1, heads * size], the past with the new key and value.
/// MultiHeadAttention of the products. Source: DecoderMaskedSelfAttention of ONNX Runtime.
Results importDecoderMaskedSelfAttention(Node &node) {
  if (!checkMaskedDecoder(node))
    return {};
  Builder &b = node.builder;
  Value past = node.input(4);
  bool isShared = node.attributes.getInt("past_present_share_buffer");
  Projections own = projections(node, node.input(0), node.input(1), node.input(2));
  Value pastKey = b.gather(past, b.scalar(0, b.i64()), 0), pastValue = b.gather(past, b.scalar(1, b.i64()), 0);
  if (b.hasFailed())
    return {};
  if (isShared)
    pastKey = keysInOrder(b, pastKey);
  node.inputs = {
      joinHeads(b, own.query),           own.key, own.value, Value(), node.input(3), node.input(5), pastKey, pastValue,
      isShared ? node.input(6) : Value()};
  Results results = importMultiHeadAttention(node);
  if (b.hasFailed() || results.size() < 3)
    return {};
  Value key = isShared ? keysInParts(b, results[1]) : results[1];
  return {results[0], b.concat({b.unsqueeze(key, {0}), b.unsqueeze(results[2], {0})}, 0)};
}

//===----------------------------------------------------------------------===//
// LongformerAttention
//===----------------------------------------------------------------------===//

/// The mask of keys [batch, length] as a bias [batch, 1, length, length]: -inf where neither query nor key is global
/// and they are farther apart than `window`.
static Value windowBias(Builder &b, Value mask, Value isGlobal, int64_t window) {
  Shape shape = shapeOf(mask);
  Type type = graph::elementTypeOf(mask);
  return b.generate({mask, isGlobal}, {shape[0], SymbolicInt(1), shape[1], shape[1]}, type,
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar query(builder, loc, index[2]), key(builder, loc, index[3]);
                      auto at = [&](Value tensor, Value place) {
                        return Scalar(builder, loc, load(builder, loc, tensor, {index[0], place}));
                      };
                      Scalar isNear = (query - key <= query.integer(window)) & (key - query <= key.integer(window));
                      Scalar isSeen = isNear | at(tensors[1], query.value) | at(tensors[1], key.value);
                      Scalar bias = at(tensors[0], key.value);
                      return select(isSeen, bias, bias.constant(-std::numeric_limits<double>::infinity())).value;
                    });
}

/// in: x [batch, length, n], weight, bias, mask [batch, length], weight and bias for global tokens, which tokens are
/// global. Global queries see all keys, by their own projections; the others see global keys and those nearby. Masked
/// tokens also get the result 0. Source: LongformerAttention of ONNX Runtime.
Results importLongformerAttention(Node &node) {
  if (!node.hasInputs(7) || !hasHeads(node) ||
      !hasRanks(node, {{0, 3}, {1, 2}, {2, 1}, {3, 2}, {4, 2}, {5, 1}, {6, 2}}))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0);
  int64_t window = node.attributes.getInt("window");
  if (window < 0)
    return node.fail("expected a window of at least 0, got " + Twine(window) + "\nhint: correct the attribute window");
  Shape places(shapeOf(x));
  places.pop_back();
  requireShape(b, node.input(3), "mask", places);
  requireShape(b, node.input(6), "global", places);
  Projections local = projections(node, x, node.input(1), node.input(2));
  Projections global = projections(node, x, node.input(4), node.input(5));
  if (b.hasFailed())
    return {};
  Value mask = toCompute(b, node.input(3)), isGlobal = b.cast(node.input(6), b.operations.getI1Type());
  AttentionForm near, all;
  near.mask = windowBias(b, mask, isGlobal, window);
  all.mask = b.unsqueeze(mask, {1, 2});
  Value ofLocal = joinHeads(b, attend(b, local.query, local.key, local.value, near).result);
  Value ofGlobal = joinHeads(b, attend(b, global.query, global.key, global.value, all).result);
  Value result = graph::where(b, b.unsqueeze(isGlobal, {2}), ofGlobal, ofLocal);
  Value isHidden = call(b, "less", {mask, b.scalar(0, graph::elementTypeOf(mask))});
  return {graph::where(b, b.unsqueeze(isHidden, {2}), b.scalar(0, graph::elementTypeOf(x)), result)};
}

//===----------------------------------------------------------------------===//
// DecoderAttention
//===----------------------------------------------------------------------===//

/// Converts [length, batch, n] to [batch, length, n], and back.
static Value batchFirst(Builder &b, Value x) { return x ? b.transpose(x, {1, 0, 2}) : x; }

/// Keys and values [batch, heads, length, size]: from the caches, from the caches followed by the query's, or from the
/// key, as selected by three booleans at run time.
static SmallVector<Value> keysAndValues(Node &node, Value query, Value key, const SymbolicInt &heads) {
  Builder &b = node.builder;
  Value weight = node.input(3), bias = node.input(4), keyCache = node.input(6), valueCache = node.input(7);
  SymbolicInt width = shapeOf(node.input(2))[1];
  Value own = sliceAxis(b, bias, 0, width, width * SymbolicInt(2));
  auto projected = [&](Value x) {
    return SmallVector<Value>{projection(b, x, weight, own, SymbolicInt(0), width, heads),
                              projection(b, x, weight, own, width, width, heads)};
  };
  auto ifCached = [&](Builder::Branch cached, Builder::Branch otherwise) {
    if (!keyCache || !valueCache)
      return otherwise();
    return b.ifThenElse(node.input(10), [&] { return b.ifThenElse(node.input(9), cached, otherwise); }, otherwise);
  };
  auto behindCaches = [&] {
    SmallVector<Value> fresh = projected(query);
    return SmallVector<Value>{b.concat({keyCache, fresh[0]}, 2), b.concat({valueCache, fresh[1]}, 2)};
  };
  auto ofKey = [&] {
    return ifCached([&] { return SmallVector<Value>{keyCache, valueCache}; }, [&] { return projected(key); });
  };
  auto ofQuery = [&] { return ifCached(behindCaches, [&] { return projected(query); }); };
  return b.ifThenElse(node.input(8), ofKey, ofQuery);
}

/// -inf where the mask [batch, keys] is true and enabled, as [batch, 1, 1, keys].
static Value paddingBias(Node &node, const SymbolicInt &batch, const SymbolicInt &keys, Type type) {
  Builder &b = node.builder;
  Value mask = node.input(5);
  if (!mask)
    return {};
  Value isUsed = b.reshape(b.cast(node.input(11), b.operations.getI1Type()), {});
  SmallVector<Value> chosen = b.ifThenElse(
      isUsed,
      [&] {
        requireShape(b, mask, "key_padding_mask", {batch, keys});
        return SmallVector<Value>{padLast(b, mask, keys, 0)};
      },
      [&] { return SmallVector<Value>{b.splat({batch, keys}, 0, b.operations.getI1Type())}; });
  if (b.hasFailed())
    return {};
  double hidden = -std::numeric_limits<double>::infinity();
  return graph::where(b, b.unsqueeze(chosen[0], {1, 2}), b.scalar(hidden, type), b.scalar(0, type));
}

/// in: query and key [length, batch, n], weight of the query, of key and value, bias of all, padding [batch, keys],
/// caches [batch, heads, length, size], whether the key is another sequence, whether caches are used and present,
/// whether there is padding. Results: [length, batch, n], the keys and values. Source: DecoderAttention of ONNX
/// Runtime.
Results importDecoderAttention(Node &node) {
  if (!hasHeads(node) || !hasRanks(node, {{0, 3}, {1, 3}, {2, 2}, {3, 2}, {4, 1}, {5, 2}, {6, 4}, {7, 4}}))
    return {};
  Builder &b = node.builder;
  SymbolicInt heads(node.attributes.getInt("num_heads")), width = shapeOf(node.input(2))[1];
  requireShape(b, node.input(4), "bias", {width * SymbolicInt(3)});
  Value x = batchFirst(b, node.input(0));
  Value query = projection(b, x, node.input(2), node.input(4), SymbolicInt(0), width, heads);
  SmallVector<Value> pair = keysAndValues(node, x, batchFirst(b, node.input(1)), heads);
  if (b.hasFailed() || pair.size() != 2)
    return {};
  AttentionForm form;
  Shape keys = shapeOf(pair[0]);
  form.mask = paddingBias(node, keys[0], keys[2], computeType(graph::elementTypeOf(query)));
  return {batchFirst(b, joinHeads(b, attend(b, query, pair[0], pair[1], form).result)), pair[0], pair[1]};
}
} // namespace perpend::onnx
