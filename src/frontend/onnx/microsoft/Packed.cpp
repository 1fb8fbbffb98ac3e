//===- Packed.cpp - recurrences over packed sequences ---------------------===//
//
// Operators of the domain com.microsoft on concatenated sequences, with a state per sequence. They are computed on
// padded sequences; padding leaves the states unchanged.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "frontend/onnx/microsoft/PackedSequences.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// GatedDeltaNet
//===----------------------------------------------------------------------===//

namespace {
/// f32 tensors with the leading dimensions of the tokens, then heads and sizes. Decay and rate have no sizes (decay may
/// have those of the keys) and are null if absent.
struct DeltaTokens {
  Value query, key, value, decay, rate;
  /// [count, heads of the value, size of the value, size of the keys]; null: zeros.
  Value state;
  int64_t leading = 1, keyHeads = 0, heads = 0;

  SmallVector<Value *> all() { return {&query, &key, &value, &decay, &rate}; }
};
} // namespace

/// A part of [.., n] as [.., heads, size].
static Value headsOf(Builder &b, Value packed, const SymbolicInt &start, const SymbolicInt &heads,
                     const SymbolicInt &size) {
  Shape shape = shapeOf(packed);
  Value part = sliceAxis(b, packed, rankOf(packed) - 1, start, heads * size);
  shape.back() = heads;
  shape.push_back(size);
  return b.reshape(part, shape);
}

/// Splits query, key and value out of one tensor, at positions given by the state.
static bool unpack(Node &node, DeltaTokens &x) {
  Value packed = node.input(0);
  if (node.input(1) || node.input(2) || !x.state || rankOf(packed) != x.leading + 1)
    return node.fail("expected query, key and value [tokens, heads, size], or one tensor [tokens, n] for all and an "
                     "initial_state\nhint: split the tensor, or give it an initial_state of zeros, which says how many "
                     "heads there are"),
           false;
  Builder &b = node.builder;
  Shape state = shapeOf(x.state);
  SymbolicInt width = state[1] * state[2], size = state[3];
  std::optional<SymbolicInt> heads = exactDiv(shapeOf(packed).back() - width, size * SymbolicInt(2));
  if (!heads)
    return node.fail("the " + shapeOf(packed).back().str() + " columns are not those of values " + width.str() +
                     " and of query and key of heads of " + size.str() +
                     "\nhint: correct the columns, or the shape of initial_state, which says what heads there are"),
           false;
  x.query = headsOf(b, packed, SymbolicInt(0), *heads, size);
  x.key = headsOf(b, packed, *heads * size, *heads, size);
  x.value = headsOf(b, packed, *heads * size * SymbolicInt(2), state[1], state[2]);
  return true;
}

static bool checkDeltaShapes(Node &node, DeltaTokens &x) {
  Builder &b = node.builder;
  Shape query = shapeOf(x.query), value = shapeOf(x.value);
  requireShape(b, x.key, "key", query);
  std::optional<int64_t> keyHeads = query[x.leading].constant(), heads = value[x.leading].constant();
  if (!keyHeads || !heads || *keyHeads < 1 || *heads % *keyHeads != 0)
    return node.fail("expected known numbers of heads, those of the value a multiple of the others, got " +
                     value[x.leading].str() + " and " + query[x.leading].str() +
                     "\nhint: give the dimensions of heads as numbers, where they are symbols with --dim"),
           false;
  x.keyHeads = *keyHeads, x.heads = *heads;
  Shape tokens(ArrayRef(query).take_front(x.leading));
  tokens.push_back(value[x.leading]);
  requireShape(b, x.rate, "beta", tokens);
  if (x.decay && rankOf(x.decay) != x.leading + 1)
    tokens.push_back(query.back());
  requireShape(b, x.decay, "decay", tokens);
  return !b.hasFailed();
}

/// The inputs as f32, with the activations of the decay and of the rate of updates applied.
static bool readTokens(Node &node, DeltaTokens &x) {
  Builder &b = node.builder;
  x.state = node.input(6);
  if (x.state && rankOf(x.state) != 4)
    return node.fail("initial_state: expected [batch, heads, value size, key size], got shape " +
                     toString(shapeOf(x.state)) + "\nhint: correct the shape at this node, with a Reshape for example"),
           false;
  bool isApart = node.input(1) && node.input(2);
  x.leading = rankOf(node.input(0)) - (isApart ? 2 : 1);
  if (x.leading != 1 && x.leading != 2)
    return node.fail("expected tokens in one dimension or two, got a query of shape " +
                     toString(shapeOf(node.input(0))) +
                     "\nhint: [tokens, heads, size] or [batch, length, heads, size]"),
           false;
  x.query = node.input(0), x.key = node.input(1), x.value = node.input(2);
  if (!isApart && !unpack(node, x))
    return false;
  x.decay = node.input(4), x.rate = node.input(5);
  for (Value *value : x.all())
    *value = *value ? b.cast(*value, b.f32()) : *value;
  if (b.hasFailed() || rankOf(x.key) != x.leading + 2 || rankOf(x.value) != x.leading + 2)
    return node.fail("expected query, key and value of the same rank, got shapes " + toString(shapeOf(x.query)) + ", " +
                     toString(shapeOf(x.key)) + " and " + toString(shapeOf(x.value)) +
                     "\nhint: correct them with a Reshape"),
           false;
  return checkDeltaShapes(node, x);
}

/// x [.., size] divided by its norm.
static Value unitVectors(Builder &b, Value x) {
  constexpr double epsilon = 1e-12; // the operator's own
  Value squares = graph::sum(b, graph::mul(b, x, x), rankOf(x) - 1, /*keepDims=*/true);
  return pointwise(b, {x, squares}, [&](ArrayRef<Scalar> v) { return v[0] / sqrt(v[1] + epsilon); });
}

/// -e^a_log softplus(decay + dt_bias), per head.
static Value qwenDecay(Node &node, const DeltaTokens &x) {
  Builder &b = node.builder;
  Value factor = node.input(7), bias = node.input(8);
  if (!factor || !bias || rankOf(factor) != 1 || rankOf(bias) != 1)
    return b.fail(
        "gate_activation qwen: expected the vectors a_log and dt_bias\nhint: give both, or leave the attribute out");
  if (rankOf(x.decay) == x.leading + 2)
    factor = b.unsqueeze(factor, {1}), bias = b.unsqueeze(bias, {1});
  Value rate = call(b, "softplus", graph::add(b, x.decay, bias));
  return call(b, "neg", graph::mul(b, call(b, "exp", factor), rate));
}

/// Applies the activations given by attributes. If the rule does not use the decay or the rate, drops it, or turns it
/// into a factor of the value.
static bool activate(Node &node, DeltaTokens &x, bool decays, bool corrects) {
  Builder &b = node.builder;
  StringRef gate = node.attributes.getString("gate_activation", "none");
  StringRef rate = node.attributes.getString("beta_activation", "none");
  if ((gate != "none" && gate != "qwen") || (rate != "none" && rate != "sigmoid"))
    return node.fail("expected the gate_activation none or qwen, and the beta_activation none or sigmoid, got '" +
                     gate + "' and '" + rate + "'\nhint: compute other activations before this node"),
           false;
  if (!decays)
    x.decay = {};
  else if (x.decay && gate == "qwen")
    x.decay = qwenDecay(node, x);
  if (x.rate && rate == "sigmoid")
    x.rate = call(b, "sigmoid", x.rate);
  if (x.rate && !corrects)
    x.value = graph::mul(b, x.value, b.unsqueeze(x.rate, {x.leading + 1})), x.rate = {};
  else if (!x.rate && corrects)
    x.rate = b.splat(ArrayRef(shapeOf(x.value)).drop_back(), 1, b.f32());
  if (node.attributes.getInt("qk_l2_norm"))
    x.query = unitVectors(b, x.query), x.key = unitVectors(b, x.key);
  return !b.hasFailed();
}

/// Repeats x [batch, length, key heads, size] to [batch, length, heads * size]: each head serves several neighbours.
static Value repeatedHeads(Builder &b, Value x, int64_t heads) {
  if (!x)
    return {};
  Shape shape = shapeOf(x), wide = shape;
  wide.insert(wide.begin() + 3, floorDiv(SymbolicInt(heads), shape[2]));
  Value repeated = b.broadcast(x, {0, 1, 2, 4}, wide);
  return b.reshape(repeated, {shape[0], shape[1], SymbolicInt(heads) * shape[3]});
}

/// Joins the last dimensions [.., heads, sizes..].
static Value joinedHeads(Builder &b, Value x) {
  if (!x || rankOf(x) == 3)
    return x;
  Shape shape = shapeOf(x);
  return b.reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
}

/// Runs the recurrence over [batch, length, ..]. Results: [batch, length, heads, size], the states.
static Results recurrence(Node &node, const DeltaTokens &x) {
  Builder &b = node.builder;
  auto rule = (x.decay ? (x.rate ? "gated_delta" : "gated") : (x.rate ? "delta" : "linear"));
  Attribute heads = b.operations.getI64IntegerAttr(x.heads);
  Value state = x.state ? b.transpose(x.state, {0, 1, 3, 2}) : Value();
  Results results = node.composite("linear_attention",
                                   {repeatedHeads(b, x.query, x.heads), repeatedHeads(b, x.key, x.heads),
                                    joinedHeads(b, x.value), state, joinedHeads(b, x.decay), x.rate},
                                   {node.attribute("q_num_heads", heads), node.attribute("kv_num_heads", heads),
                                    node.attribute("update_rule", b.operations.getStringAttr(rule))});
  if (results.size() < 2)
    return {};
  return {b.reshape(results[0], shapeOf(x.value)), b.transpose(results[1], {0, 1, 3, 2})};
}

/// Arranges the tokens as [batch, length, ..]: by their bounds, or in equal parts per state. Errors: false.
static bool batchTokens(Node &node, DeltaTokens &x, std::optional<PackedSequences> &packed) {
  Builder &b = node.builder;
  if (x.leading == 2 && !node.input(3))
    return true;
  if (x.leading == 2 || (!node.input(3) && !x.state))
    return node.fail(x.leading == 2 ? "expected tokens in one dimension beside cu_seqlens, got two"
                                      "\nhint: reshape them to [tokens, heads, size], or leave cu_seqlens out"
                                    : "expected cu_seqlens or an initial_state, which say how many sequences there are"
                                      "\nhint: give one of them, or tokens [batch, length, heads, size]"),
           false;
  SymbolicInt tokens = shapeOf(x.query)[0];
  if (node.input(3) && !(packed = packedSequences(b, node.input(3), tokens, "cu_seqlens")))
    return false;
  SymbolicInt batch = packed ? packed->count : shapeOf(x.state)[0];
  SymbolicInt length = packed ? packed->longest : floorDiv(tokens, max(batch, SymbolicInt(1)));
  if (!packed)
    b.require(batch * length - tokens, "the tokens do not divide by the number of sequences of initial_state");
  for (Value *value : x.all()) {
    if (!*value)
      continue;
    Shape shape = shapeOf(*value), split{batch, length};
    split.append(shape.begin() + 1, shape.end());
    *value = packed ? withPadding(b, *value, packed->places, batch, length) : b.reshape(*value, split);
  }
  return !b.hasFailed();
}

/// in: query, key, value [tokens, heads, size], bounds of sequences, decay, rates, states, factor and bias of the
/// decay. linear_attention per sequence, with states [batch, heads, value size, key size]. Source: GatedDeltaNet of
/// ONNX Runtime.
Results importGatedDeltaNet(Node &node) {
  if (!node.hasInputs(1))
    return {};
  if (node.attributes.getInt("state_update_capacity"))
    return node.fail("expected the state_update_capacity 0, got another: a record of updates is not supported"
                     "\nhint: leave it out, and keep the states that the node gives");
  StringRef rule = node.attributes.getString("update_rule", "gated_delta");
  bool decays = rule.starts_with("gated"), corrects = rule.ends_with("delta");
  if (!llvm::is_contained({"linear", "gated", "delta", "gated_delta"}, rule))
    return node.fail("expected the update_rule linear, gated, delta or gated_delta, got '" + rule +
                     "'\nhint: correct the attribute");
  Builder &b = node.builder;
  DeltaTokens x;
  std::optional<PackedSequences> packed;
  if (!readTokens(node, x) || !activate(node, x, decays, corrects))
    return {};
  Shape shape = shapeOf(x.value);
  if (!batchTokens(node, x, packed))
    return {};
  requireShape(b, x.state, "initial_state",
               {shapeOf(x.value)[0], shapeOf(x.value)[2], shape.back(), shapeOf(x.query).back()});
  Results results = b.hasFailed() ? Results() : recurrence(node, x);
  if (results.empty())
    return {};
  Value output = packed ? withoutPadding(b, results[0], packed->places) : b.reshape(results[0], shape);
  return {castLike(b, output, node.input(0)), results[1]};
}

//===----------------------------------------------------------------------===//
// VarlenCausalConvWithState
//===----------------------------------------------------------------------===//

/// The last `kept` positions of [batch, channels, kept + length], where sequences end before the padding.
static Value lastPositions(Builder &b, Value all, Value lengths, const SymbolicInt &kept) {
  Shape shape = shapeOf(all);
  shape[2] = kept;
  return b.generate({all, lengths}, shape, graph::elementTypeOf(all),
                    [](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar length(builder, loc, load(builder, loc, tensors[1], index[0]));
                      Scalar at = length.to(builder.getIndexType()) + length.with(index[2]);
                      return load(builder, loc, tensors[0], {index[0], index[1], at.value});
                    });
}

/// The first tokens of [batch, length, channels], as many as counts [batch] give and exist; zeros up to `capacity`.
static Value firstTokens(Builder &b, Value padded, Value counts, const PackedSequences &packed, int64_t capacity) {
  Shape none(3, SymbolicInt(0)), behind = none;
  behind[1] = SymbolicInt(capacity);
  Value slots = sliceAxis(b, padTensor(b, padded, none, behind, "constant"), 1, SymbolicInt(0), behind[1]);
  Value most = b.unsqueeze(call(b, "min", {b.cast(counts, b.i64()), packed.lengths}), {1, 2});
  Value number = b.unsqueeze(iota(b, behind[1], b.i64()), {1});
  return graph::where(b, call(b, "less", {number, most}), slots, b.scalar(0, graph::elementTypeOf(padded)));
}

/// in: x [tokens, channels], filter [channels, 1, k], bounds of sequences, bias, states [batch, channels, (k - 1)
/// dilation], number of tokens to return. causal_conv per sequence. Source: VarlenCausalConvWithState of ONNX Runtime.
Results importVarlenCausalConv(Node &node) {
  if (!node.hasInputs(3) || !hasRanks(node, {{0, 2}, {1, 3}, {2, 1}, {3, 1}, {4, 3}, {5, 1}}))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), state = node.input(4), counts = node.input(5);
  int64_t capacity = node.attributes.getInt("state_update_capacity"), dilation = node.attributes.getInt("dilation", 1);
  if (!state || capacity < 0 || capacity > 8 || bool(counts) != (capacity > 0) || dilation < 1)
    return node.fail(
        "expected an initial_state, a dilation of at least 1, a state_update_capacity from 0 to 8, and a "
        "capture_count where that is positive\nhint: correct these attributes, or leave them out and give a state "
        "of zeros");
  Shape shape = shapeOf(x);
  std::optional<PackedSequences> packed = packedSequences(b, node.input(2), shape[0], "cumulative_sequence_length");
  if (!packed)
    return {};
  SymbolicInt kept = (shapeOf(node.input(1))[2] - 1) * SymbolicInt(dilation);
  requireShape(b, state, "initial_state", {packed->count, shape[1], kept});
  requireShape(b, counts, "capture_count", {packed->count});
  Value padded = withPadding(b, x, packed->places, packed->count, packed->longest);
  Value channelsFirst = padded ? b.transpose(padded, {0, 2, 1}) : padded;
  Results results = node.composite("causal_conv", {channelsFirst, node.input(1), node.input(3), state});
  if (b.hasFailed() || results.empty())
    return {};
  Value output = withoutPadding(b, b.transpose(results[0], {0, 2, 1}), packed->places);
  Value last = lastPositions(b, b.concat({state, channelsFirst}, 2), packed->lengths, kept);
  return {output, last, counts ? firstTokens(b, padded, counts, *packed, capacity) : Value()};
}
} // namespace perpend::onnx
