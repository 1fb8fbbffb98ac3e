//===- Attention.cpp - ONNX Runtime's attention ---------------------------===//
//
// The attention operators of the domain com.microsoft: each converts its query,
// key, value, masks and past to the form of graph::attend().
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Attention.h"
#include "frontend/onnx/Operators.h"
#include "frontend/onnx/Ranks.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
namespace {
/// Tensors [batch, heads, length, size].
struct Heads {
  Value query, key, value;
};
} // namespace

static Value afterPast(Builder &b, Value past, Value present) {
  return past && present ? b.concat({past, present}, 2) : present;
}
static Value part(Builder &b, Value x, int64_t axis, const SymbolicInt &start, const SymbolicInt &size) {
  return x ? sliceAxis(b, x, axis, start, size) : x;
}
/// Element `position` of dimension `axis`, which is dropped.
static Value at(Builder &b, Value x, int64_t axis, int64_t position) {
  return x ? b.squeeze(part(b, x, axis, SymbolicInt(position), SymbolicInt(1)), {axis}) : x;
}

static AttentionForm formOf(Node &node) {
  AttentionForm form;
  if (node.attributes.getFloat("scale") != 0)
    form.scale = node.attributes.getFloat("scale");
  form.softcap = node.attributes.getFloat("softcap");
  if (node.attributes.getInt("unidirectional"))
    form.right = 0;
  return form;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Converts a mask of lengths [batch], or of ends and starts [2 batch], to booleans [batch, 1, 1, keys].
static Value lengthMask(Builder &b, Value lengths, const SymbolicInt &batch, const SymbolicInt &keys) {
  bool hasStarts = shapeOf(lengths)[0] != batch;
  Value position = b.reshape(iota(b, keys, b.i64()), {SymbolicInt(1), SymbolicInt(1), SymbolicInt(1), keys});
  auto bounds = [&](const SymbolicInt &first) {
    return b.reshape(part(b, b.cast(lengths, b.i64()), 0, first, batch),
                     {batch, SymbolicInt(1), SymbolicInt(1), SymbolicInt(1)});
  };
  Value visible = call(b, "less", {position, bounds(SymbolicInt(0))});
  return hasStarts ? call(b, "logical_and", {visible, call(b, "greater_equal", {position, bounds(batch)})}) : visible;
}

/// Converts the integer mask to a bias: 0 where it is nonzero, otherwise mask_filter_value. Shapes: [batch], [2 batch],
/// [batch, keys] or [batch, queries, keys].
static Value paddingBias(Node &node, Value mask, const SymbolicInt &batch, const SymbolicInt &keys, Type type) {
  Builder &b = node.builder;
  Shape shape = shapeOf(mask);
  bool isLengths = shape.size() == 1 && (shape[0] == batch || shape[0] == batch * 2);
  if (!isLengths && shape.size() != 2 && shape.size() != 3)
    return b.fail("a mask of shape " + toString(shape) + " is not supported\nhint: use a mask [batch, keys]");
  Value visible;
  if (isLengths)
    visible = lengthMask(b, mask, batch, keys);
  else
    visible = b.unsqueeze(b.cast(mask, b.operations.getI1Type()),
                          shape.size() == 2 ? ArrayRef<int64_t>{1, 2} : ArrayRef<int64_t>{1});
  double hidden = node.attributes.getFloat("mask_filter_value", -10000);
  return graph::where(b, visible, b.scalar(0, type), b.scalar(hidden, type));
}

/// Combines both masks into one bias, in the type of the scores.
static Value combinedBias(Node &node, Value padding, Value bias, const Heads &heads) {
  Type type = computeType(graph::elementTypeOf(heads.query));
  bias = bias ? node.builder.cast(bias, type) : bias;
  if (!padding)
    return bias;
  Value mask = paddingBias(node, padding, shapeOf(heads.query)[0], shapeOf(heads.key)[2], type);
  return bias && mask ? graph::add(node.builder, mask, bias) : mask;
}

//===----------------------------------------------------------------------===//
// Attention, QAttention
//===----------------------------------------------------------------------===//

/// Splits the product [batch, length, query + key + value] into three tensors of heads.
static Heads splitProduct(Node &node, Value product) {
  Builder &b = node.builder;
  if (!product || rankOf(product) != 3)
    return {};
  SmallVector<int64_t> sizes = node.attributes.getInts("qkv_hidden_sizes");
  SymbolicInt heads(node.attributes.getInt("num_heads")), width = shapeOf(product)[2];
  Shape widths(sizes.begin(), sizes.end());
  if (widths.size() != 3)
    widths.assign(3, floorDiv(width, SymbolicInt(3)));
  return {splitHeads(b, part(b, product, 2, SymbolicInt(0), widths[0]), heads),
          splitHeads(b, part(b, product, 2, widths[0], widths[1]), heads),
          splitHeads(b, part(b, product, 2, widths[0] + widths[1], widths[2]), heads)};
}

/// Attention on a product, with a past [2, batch, heads, length, size]. Results: [batch, length, heads * size], and the
/// past extended by the new keys and values.
static Results attendProduct(Node &node, Value product, Value mask, Value past, Value bias) {
  Builder &b = node.builder;
  Heads heads = splitProduct(node, product);
  if (!heads.query || !heads.key || !heads.value)
    return {};
  AttentionForm form = formOf(node);
  if (past) {
    form.past = shapeOf(past)[3];
    heads.key = afterPast(b, at(b, past, 0, 0), heads.key);
    heads.value = afterPast(b, at(b, past, 0, 1), heads.value);
    if (!heads.key || !heads.value)
      return {};
  }
  form.mask = combinedBias(node, mask, bias, heads);
  Value result = joinHeads(b, attend(b, heads.query, heads.key, heads.value, form).result);
  if (shapeOf(heads.key)[3] != shapeOf(heads.value)[3])
    return {result};
  return {result, b.concat({b.unsqueeze(heads.key, {0}), b.unsqueeze(heads.value, {0})}, 0)};
}

static bool refuses(Node &node, std::initializer_list<StringRef> attributes) {
  for (StringRef name : attributes)
    if (node.attributes.getInt(name)) {
      node.fail("the attribute " + name + " is not supported");
      return true;
    }
  return false;
}

static bool checkPast(Node &node, Value past) {
  if (past && rankOf(past) != 5)
    node.fail("expected a past [2, batch, heads, length, size], got shape " + toString(shapeOf(past)));
  return !past || rankOf(past) == 5;
}

Results importMicrosoftAttention(Node &node) {
  if (!node.hasInputs(2) || refuses(node, {"do_rotary", "past_present_share_buffer"}) ||
      !checkPast(node, node.input(4)) || !hasRanks(node, {{0, 3}, {1, 2}, {2, 1}, {5, 4}}))
    return {};
  Value product = matmulOf(node.builder, node.input(0), node.input(1));
  if (product && node.input(2))
    product = graph::add(node.builder, product, node.input(2));
  return attendProduct(node, product, node.input(3), node.input(4), node.input(5));
}

/// in: input, weight, bias, input scale, weight scale, mask, input zero point, weight zero point, past.
Results importQAttention(Node &node) {
  if (!node.hasInputs(5) || refuses(node, {"do_rotary", "past_present_share_buffer"}) ||
      !checkPast(node, node.input(8)) || !hasRanks(node, {{0, 3}, {1, 2}, {2, 1}}))
    return {};
  Builder &b = node.builder;
  Value product = applyComposite(
      b, "scaled_matmul_integer",
      {node.input(0), node.input(1), node.input(3), node.input(4), node.input(6), node.input(7), node.input(2)})[0];
  return attendProduct(node, product, node.input(5), node.input(8), {});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Element `position` of dimension 3 of [batch, length, heads, count, size], as [batch, heads, length, size].
static Value unpacked(Builder &b, Value packed, int64_t position) {
  Value one = at(b, packed, 3, position);
  return one ? b.transpose(one, {0, 2, 1, 3}) : one;
}

/// Adds part `position` of a bias for query, key and value to [batch, length, heads * size].
static Value biased(Builder &b, Value x, Value bias, const SymbolicInt &start) {
  return bias && x ? graph::add(b, x, part(b, bias, 0, start, shapeOf(x)[2])) : x;
}

/// Reads query, key and value: separate, packed together, or with a key and value that are already split into heads.
static Heads readHeads(Node &node) {
  Builder &b = node.builder;
  Value query = node.input(0), key = node.input(1), value = node.input(2), bias = node.input(3);
  SymbolicInt heads(node.attributes.getInt("num_heads"));
  if (rankOf(query) == 5 && !bias)
    return {unpacked(b, query, 0), unpacked(b, query, 1), unpacked(b, query, 2)};
  bool isPacked = key && rankOf(key) == 5;
  if (!key || rankOf(query) != 3 || (bias && (rankOf(key) != 3 || !value)) ||
      (!isPacked && (!value || rankOf(value) != rankOf(key)))) {
    node.fail("these layouts of query, key, value and bias are not supported"
              "\nhint: use tensors [batch, length, heads * size]");
    return {};
  }
  SymbolicInt width = shapeOf(query)[2];
  Value split = splitHeads(b, biased(b, query, bias, SymbolicInt(0)), heads);
  if (isPacked)
    return {split, unpacked(b, key, 0), unpacked(b, key, 1)};
  if (rankOf(key) == 4)
    return {split, key, value};
  return {split, splitHeads(b, biased(b, key, bias, width), heads),
          splitHeads(b, biased(b, value, bias, width * 2), heads)};
}

/// Extends `past` to `length`, with `fresh` written from position starts[batch] on.
static Value writtenCache(Builder &b, Value past, Value fresh, Value starts, const SymbolicInt &length) {
  if (!past || !fresh)
    return fresh;
  SmallVector<SymbolicInt> low(4, SymbolicInt(0)), high = low;
  high[2] = length - shapeOf(past)[2];
  Value wide = padTensor(b, past, low, high, "constant");
  return wide ? call(b, "tensor_scatter", {wide, fresh, starts}) : wide;
}

/// Writes key and value after the first `used` elements of the past, whose size does not change: it is a buffer.
/// Returns the number of keys in use; poison after an error.
static SymbolicInt shareBuffer(Node &node, Heads &heads, Value used, AttentionForm &form) {
  Builder &b = node.builder;
  Value pastKey = node.input(6), pastValue = node.input(7);
  if (!pastKey || !pastValue || !heads.key || !heads.value) {
    node.fail("past_sequence_length needs the caches past_key and past_value");
    return SymbolicInt::poison();
  }
  SymbolicInt fresh = shapeOf(heads.key)[2], length = b.measure(used, "used");
  if (length.isPoison())
    return length;
  b.require(shapeOf(pastKey)[2] - fresh - length, "past_sequence_length leaves no place for the new keys");
  form.starts = b.broadcastTo(number(b, length, b.i64()), {shapeOf(pastKey)[0]});
  form.keyLengths = graph::add(b, form.starts, number(b, fresh, b.i64()));
  heads.key = writtenCache(b, pastKey, heads.key, form.starts, shapeOf(pastKey)[2]);
  heads.value = writtenCache(b, pastValue, heads.value, form.starts, shapeOf(pastValue)[2]);
  return length + fresh;
}

/// Extends a mask [.., keys in use] to all keys of the buffer; unused keys are already hidden by their position. A mask
/// [batch] is unchanged. `wanted` describes the keys in use.
static Value bufferMask(Builder &b, Value mask, StringRef name, StringRef wanted, const SymbolicInt &used,
                        const SymbolicInt &length) {
  if (!mask || rankOf(mask) < 2)
    return mask;
  SymbolicInt extent = shapeOf(mask).back();
  std::string message = (name + ": its last dimension is not " + wanted).str();
  b.require(extent - used, message);
  b.require(used - extent, message);
  return padLast(b, mask, length, 0);
}

/// Results: [batch, length, heads * size], key and value with their past.
Results importMultiHeadAttention(Node &node) {
  if (!node.hasInputs(1) || !hasRanks(node, {{3, 1}, {5, 4}, {6, 4}, {7, 4}}))
    return {};
  if (node.input(9))
    return node.fail("beams that share a cache are not supported");
  Builder &b = node.builder;
  Heads heads = readHeads(node);
  AttentionForm form = formOf(node);
  Value pastKey = node.input(6), pastValue = node.input(7), mask = node.input(4), bias = node.input(5);
  if (Value past = node.input(8)) {
    SymbolicInt used = shareBuffer(node, heads, past, form);
    if (used.isPoison())
      return {};
    StringRef wanted = "past_sequence_length and the new keys";
    mask = bufferMask(b, mask, "mask", wanted, used, shapeOf(pastKey)[2]);
    bias = bufferMask(b, bias, "attention_bias", wanted, used, shapeOf(pastKey)[2]);
  } else {
    heads.key = afterPast(b, pastKey, heads.key);
    heads.value = afterPast(b, pastValue, heads.value);
    form.past = pastKey ? shapeOf(pastKey)[2] : SymbolicInt(0);
  }
  if (b.hasFailed() || !heads.query || !heads.key || !heads.value)
    return {};
  form.mask = combinedBias(node, mask, bias, heads);
  AttentionResult result = attend(b, heads.query, heads.key, heads.value, form);
  Value scores = result.scores ? b.cast(result.masked, graph::elementTypeOf(heads.query)) : result.scores;
  return {joinHeads(b, result.result), heads.key, heads.value, scores};
}

/// MultiHeadAttention with one query per batch and another order of inputs: query, key, value, mask, bias of the
/// scores, past key, past value, past length, number of beams, beams of the cache, bias.
Results importDecoderMaskedMultiHeadAttention(Node &node) {
  if (node.proto.outputs.size() > 3)
    return node.fail("the output of the scores is not supported");
  if (!hasRanks(node, {{3, 2}, {4, 4}, {5, 4}, {6, 4}, {10, 1}}))
    return {};
  SmallVector<Value> in;
  for (size_t index : {0, 1, 2, 10, 3, 4, 5, 6, 7, 9})
    in.push_back(node.input(index));
  if (!node.attributes.getInt("past_present_share_buffer"))
    in[8] = {};
  node.inputs = in;
  return importMultiHeadAttention(node);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Positions start, start + 1, .. per batch, [batch, length]; `start` has one element, or one per batch.
static Value positionsFrom(Builder &b, Value start, const SymbolicInt &batch, const SymbolicInt &length) {
  Value first = b.reshape(b.cast(start, b.i64()), {elementCount(shapeOf(start)), SymbolicInt(1)});
  Value row = b.reshape(iota(b, length, b.i64()), {SymbolicInt(1), length});
  return first ? b.broadcastTo(graph::add(b, first, row), {batch, length}) : first;
}

Results importMicrosoftRotaryEmbedding(Node &node) {
  if (!node.hasInputs(4) || refuses(node, {"is_packed_batching"}))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), positions = node.input(1), cosines = node.input(2);
  if (node.attributes.getFloat("scale", 1) != 1 || rankOf(cosines) != 2 || (rankOf(x) != 3 && rankOf(x) != 4))
    return node.fail("expected a tensor of rank 3 or 4, tables of rank 2 and the scale 1");
  bool isPacked = rankOf(x) == 3;
  SymbolicInt size = shapeOf(cosines)[1] * 2, heads(node.attributes.getInt("num_heads"));
  if (isPacked && heads == SymbolicInt(0))
    heads = floorDiv(shapeOf(x)[2], size);
  Value split = isPacked ? splitHeads(b, x, heads) : x;
  if (!split)
    return {};
  Shape shape = shapeOf(split);
  if (rankOf(positions) != 2)
    positions = positionsFrom(b, positions, shape[0], shape[2]);
  RotaryForm form{positions, node.attributes.getInt("interleaved") != 0, size};
  Value result = rotate(b, split, cosines, node.input(3), form);
  return {isPacked ? joinHeads(b, result) : result};
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// [batch, length, (heads + 2 key heads) * size] in three, or three tensors.
static Heads readGroupedHeads(Node &node) {
  Builder &b = node.builder;
  SymbolicInt heads(node.attributes.getInt("num_heads")), keyHeads(node.attributes.getInt("kv_num_heads"));
  Value query = node.input(0), key = node.input(1), value = node.input(2);
  if (rankOf(query) == 3 && !key) {
    std::optional<SymbolicInt> size = exactDiv(shapeOf(query)[2], heads + keyHeads * 2);
    if (!size) {
      node.fail("expected a query, with key and value, whose width divides by num_heads and twice kv_num_heads "
                "together, " +
                (heads + keyHeads * 2).str() + ", got " + shapeOf(query)[2].str());
      return {};
    }
    SymbolicInt width = heads * *size, keyWidth = keyHeads * *size;
    key = part(b, query, 2, width, keyWidth);
    value = part(b, query, 2, width + keyWidth, keyWidth);
    query = part(b, query, 2, SymbolicInt(0), width);
  }
  return {splitHeads(b, query, heads), splitHeads(b, key, keyHeads), splitHeads(b, value, keyHeads)};
}

/// Normalises each head of x by its root mean square.
static Value normalisedHeads(Node &node, Value x, Value weight) {
  if (!weight || !x)
    return x;
  auto epsilon = node.builder.operations.getF64FloatAttr(node.attributes.getFloat("qk_norm_epsilon", 1e-6));
  return node.composite("rms_norm", {x, weight}, node.attribute("epsilon", epsilon))[0];
}

/// Normalises and rotates query and key, as the attributes require.
static void prepareHeads(Node &node, Heads &heads, Value starts) {
  Builder &b = node.builder;
  heads.query = normalisedHeads(node, heads.query, node.input(14));
  heads.key = normalisedHeads(node, heads.key, node.input(15));
  Value cosines = node.input(7), sines = node.input(8), positions = node.input(9);
  if (!node.attributes.getInt("do_rotary") || !heads.query)
    return;
  Shape shape = shapeOf(heads.query);
  if (!cosines || !sines || rankOf(cosines) != 2) {
    node.fail("do_rotary needs the tables cos_cache and sin_cache of rank 2");
    return;
  }
  if (!positions || rankOf(positions) != 2)
    positions = positionsFrom(b, starts, shape[0], shape[2]);
  RotaryForm form{positions, node.attributes.getInt("rotary_interleaved") != 0, shapeOf(cosines)[1] * 2};
  heads.query = rotate(b, heads.query, cosines, sines, form);
  heads.key = rotate(b, heads.key, cosines, sines, form);
}

/// The first query of each batch is at `starts`, the last key at `last`.
static AttentionForm groupedForm(Node &node, Value starts, Value last) {
  AttentionForm form = formOf(node);
  bool isCausal = node.attributes.getInt("causal", 1);
  int64_t window = node.attributes.getInt("local_window_size", -1);
  form.starts = starts;
  if (isCausal)
    form.right = 0;
  else
    form.keyLengths = graph::add(node.builder, last, number(node.builder, SymbolicInt(1), node.builder.i64()));
  if (window > 0)
    form.left = window - 1; // it counts the query's own position
  form.sinks = node.input(11);
  if (!form.sinks && node.attributes.getInt("smooth_softmax") == 1)
    form.sinks = node.builder.splat(SymbolicInt(node.attributes.getInt("num_heads")), 0, node.builder.f32());
  return form;
}

/// total_sequence_length; without a past there are as many keys as queries. Errors: poison.
static SymbolicInt totalLength(Node &node, Value past, const SymbolicInt &queries) {
  if (!past)
    return queries;
  SymbolicInt total = node.builder.measure(node.input(6), "total"), cached = shapeOf(past)[2];
  node.builder.require(cached + queries - total, "total_sequence_length is more than past and new keys");
  node.builder.require(total - queries, "total_sequence_length is less than the number of new keys, which it counts "
                                        "too\nhint: give the length of the past and of the new keys together");
  return total;
}

static bool refusesQuantisedCache(Node &node) {
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (node.attributes.getString(name, "NONE") != "NONE") {
      node.fail("quantised caches are not supported");
      return true;
    }
  return refuses(node, {"sliding_window_cache"});
}

/// in: query, key, value, past key, past value, lengths - 1 per batch, longest length, tables of rotations, positions,
/// bias, sinks. Results: [batch, length, heads * size], the caches, the scores that qk_output asks for.
Results importGroupQueryAttention(Node &node) {
  if (!node.hasInputs(1) || refusesQuantisedCache(node) ||
      !hasRanks(node, {{1, 3}, {2, 3}, {3, 4}, {4, 4}, {10, 4}, {11, 1}, {14, 1}, {15, 1}}))
    return {};
  if (rankOf(node.input(0)) != 3 || !node.input(5) || !node.input(6))
    return node.fail("expected a query of rank 3, seqlens_k and total_sequence_length");
  Builder &b = node.builder;
  SymbolicInt queries = shapeOf(node.input(0))[1];
  Value last = b.reshape(b.cast(node.input(5), b.i64()), {shapeOf(node.input(0))[0]});
  if (!last)
    return {};
  Value starts = graph::add(b, last, number(b, SymbolicInt(1) - queries, b.i64()));
  starts = call(b, "max", {starts, number(b, SymbolicInt(0), b.i64())});
  Heads heads = readGroupedHeads(node);
  prepareHeads(node, heads, starts);
  SymbolicInt total = totalLength(node, node.input(3), queries);
  if (total.isPoison())
    return {};
  SymbolicInt cached = node.input(3) ? shapeOf(node.input(3))[2] : total, length = max(total, cached);
  if (node.input(3) && node.declaresSameExtent(3, 1, 2)) { // past and present are one buffer
    b.require(cached - total, "total_sequence_length is more than the buffer of keys and values has");
    length = cached;
  }
  requireAll(b,
             pointwise(
                 b, {last, number(b, length, b.i64())}, [](ArrayRef<Scalar> v) { return (v[0] >= 0) & (v[0] < v[1]); },
                 b.operations.getI1Type()),
             "seqlens_k is not inside the caches");
  Value key = writtenCache(b, node.input(3), heads.key, starts, length);
  Value value = writtenCache(b, node.input(4), heads.value, starts, length);
  if (!heads.query || !key || !value)
    return {};
  AttentionForm form = groupedForm(node, starts, last);
  form.mask = node.input(10);
  if (form.mask && shapeOf(form.mask).back() != cached) // otherwise it already covers the buffer
    form.mask = bufferMask(b, form.mask, "attention_bias", "total_sequence_length", total, length);
  AttentionResult result = attend(b, heads.query, key, value, form);
  Value inner = node.attributes.getInt("qk_output") == 2 ? result.probabilities : result.masked;
  return {joinHeads(b, result.result), key, value, inner ? b.cast(inner, graph::elementTypeOf(heads.query)) : inner};
}
} // namespace perpend::onnx
