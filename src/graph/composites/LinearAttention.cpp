//===- LinearAttention.cpp - operators with a state or a cache ------------===//
//
// Linear attention, causal convolutions, and updates of key and value caches.
//
//===----------------------------------------------------------------------===//

#include "graph/Updates.h"
#include "graph/composites/Attention.h"

using namespace mlir;

namespace perpend::graph {

namespace {
/// Tensors [batch, heads, length, size] in the compute type; decay and rate are null where the rule has none.
struct Recurrence {
  Value query, key, value, decay, rate, state;
};
} // namespace

/// Position `step` of [batch, heads, length, size], as [batch, heads, size].
static Value atStep(Builder &b, Value x, Value step) { return x ? b.gather(x, step, 2) : x; }

/// state = e^decay state + key (rate (value - state^T key))^T
static Value nextState(Builder &b, const Recurrence &r, Value state, Value step) {
  Value key = atStep(b, r.key, step), value = atStep(b, r.value, step);
  if (Value decay = atStep(b, r.decay, step))
    state = mul(b, state, b.unsqueeze(applyComposite(b, "exp", decay)[0], {3}));
  if (Value rate = atStep(b, r.rate, step))
    value = mul(b, rate, sub(b, value, b.contract(state, key, {0, 1}, {0, 1}, {2}, {2})));
  return add(b, state, mul(b, b.unsqueeze(key, {3}), b.unsqueeze(value, {2})));
}

/// query^T state of neighbouring query heads, as [batch, query heads * size].
static Value readState(Builder &b, Value query, Value state) {
  if (!query || !state)
    return {};
  Shape queries = shapeOf(query), states = shapeOf(state);
  SymbolicInt group = *exactDiv(queries[1], states[1]);
  Value grouped = b.reshape(query, {queries[0], states[1], group, queries[2]});
  Value read = b.contract(grouped, state, {0, 1}, {0, 1}, {3}, {2});
  return b.reshape(read, {queries[0], queries[1] * states[3]});
}

/// The outputs [batch, length, query heads * size] and the last state; empty after an error.
static Results recur(Builder &b, const Recurrence &r) {
  Value steps = b.dims(shapeOf(r.key)[2], /*isScalar=*/true);
  SmallVector<Value> results = b.loop({steps, {}}, r.state, [&](Value step, ValueRange states) {
    Value state = nextState(b, r, states[0], step);
    return Iteration{{}, {state}, {readState(b, atStep(b, r.query, step), state)}};
  });
  if (results.size() < 2)
    return {};
  return {b.transpose(results[1], {1, 0, 2}), results[0]};
}

/// Reshapes x [batch, length, n] to [batch, heads, length, size], where only the run decides whether n is 1, heads or
/// heads * size: one number for all, per head, or per element.
static Value splitUnknown(Builder &b, Value x, int64_t heads, const SymbolicInt &size) {
  Shape shape = shapeOf(x);
  SymbolicInt n = shape[2], perHead = floorDiv(n, SymbolicInt(heads));
  SymbolicInt misfit = (n - SymbolicInt(1)) * (n - SymbolicInt(heads)) * (n - SymbolicInt(heads) * size);
  for (const SymbolicInt &value : {misfit, -misfit})
    b.require(value, "linear attention: decay or beta fits neither the heads nor their elements");
  return b.generate({x}, {shape[0], SymbolicInt(heads), shape[1], size}, elementTypeOf(x),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar head(builder, loc, index[1]), element(builder, loc, index[3]);
                      Scalar width(builder, loc, extent(builder, loc, perHead));
                      Scalar last(builder, loc, extent(builder, loc, n - SymbolicInt(1)));
                      Scalar at = min(head * width + min(element, max(width - 1, 0)), last);
                      return load(builder, loc, tensors[0], {index[0], index[2], at.value});
                    });
}

/// Rates [batch, length, heads] or [batch, length, 1], as [batch, heads or 1, length, 1].
static Value splitRate(Builder &b, Value rate, int64_t heads, Value like) {
  if (!rate)
    return {};
  Shape shape = shapeOf(rate);
  if (shape.size() != 3)
    return b.contradict("linear attention: expected a rate [batch, length, heads], got shape " + toString(shape));
  if (!shape[2].isConstant())
    return castLike(b, splitUnknown(b, rate, heads, SymbolicInt(1)), like);
  SymbolicInt count = shape[2] == SymbolicInt(1) ? shape[2] : SymbolicInt(heads);
  Value perHead = b.reshape(rate, {shape[0], shape[1], count, SymbolicInt(1)});
  return castLike(b, b.transpose(perHead, {0, 2, 1, 3}), like);
}

/// Gates [batch, length, heads * size] or [batch, length, 1], as [batch, heads or 1, length, size].
static Value splitGate(Builder &b, Value gate, int64_t heads, Value like) {
  if (!gate)
    return {};
  if (rankOf(gate) == 3 && !shapeOf(gate)[2].isConstant())
    return castLike(b, splitUnknown(b, gate, heads, shapeOf(like)[3]), like);
  bool isShared = rankOf(gate) == 3 && shapeOf(gate)[2] == SymbolicInt(1);
  return castLike(b, splitHeads(b, gate, SymbolicInt(isShared ? 1 : heads)), like);
}

static bool checkRule(Builder &b, StringRef rule, bool hasDecay, bool hasRate) {
  bool decays = rule.starts_with("gated"), corrects = rule.ends_with("delta");
  bool isKnown = decays || corrects || rule == "linear";
  if (isKnown && decays == hasDecay && corrects == hasRate)
    return true;
  b.fail("linear attention: the rule '" + rule + "' " +
         (isKnown ? "does not fit the inputs\nhint: decay belongs to the gated rules, beta to the delta rules"
                  : "is not one of linear, gated, delta, gated_delta"));
  return false;
}

/// Returns a state that must have this shape; null, with an error, if it cannot.
static Value checkedState(Builder &b, Value state, const Shape &expected) {
  Shape shape = shapeOf(state);
  std::string message = "linear attention: expected a state " + toString(expected) + ", got shape " + toString(shape) +
                        "\nhint: a state is [batch, kv_num_heads, size of a key, size of a value]";
  if (shape.size() != expected.size())
    return b.fail(message);
  for (auto [extent, wanted] : llvm::zip(shape, expected))
    for (const SymbolicInt &difference : {extent - wanted, wanted - extent})
      b.require(difference, message);
  return b.hasFailed() ? Value() : b.reshape(state, expected);
}

namespace composites {
/// in: query, key, value [batch, length, heads * size], state [batch, heads, key size, value size], decay, beta.
/// Results: [batch, length, query heads * value size], the new state. Source: ONNX LinearAttention-27.
Results linear_attention(Builder &b, Values in, const Attributes &a) {
  int64_t queryHeads = a.getInt("q_num_heads"), heads = a.getInt("kv_num_heads");
  Value past = optionalInput(in, 3), decay = optionalInput(in, 4), rate = optionalInput(in, 5);
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
    return {b.fail("linear attention: " + Twine(queryHeads) + " query heads do not divide by " + Twine(heads))};
  if (!checkRule(b, a.getString("update_rule", "gated_delta"), bool(decay), bool(rate)))
    return {};
  Type type = computeType(elementTypeOf(in[0]));
  Value query = splitHeads(b, b.cast(in[0], type), SymbolicInt(queryHeads));
  Value key = splitHeads(b, b.cast(in[1], type), SymbolicInt(heads));
  Value value = splitHeads(b, b.cast(in[2], type), SymbolicInt(heads));
  if (!query || !key || !value)
    return {};
  Shape shape{shapeOf(key)[0], shapeOf(key)[1], shapeOf(key)[3], shapeOf(value)[3]};
  Value state = past ? checkedState(b, castLike(b, past, key), shape) : b.splat(shape, 0, type);
  if (!state)
    return {};
  Recurrence start{query, key, value, splitGate(b, decay, heads, key), splitRate(b, rate, heads, key), state};
  Results results = recur(b, start);
  if (results.empty())
    return {};
  double scale = a.getFloat("scale");
  Value output = scale != 0 ? mul(b, results[0], b.scalar(scale, type)) : divideByRoot(b, results[0], shape[2]);
  return {castLike(b, output, in[0]), castLike(b, results[1], past ? past : in[0])};
}

/// Convolves each channel with its own filter, for a symbolic number of channels.
static Value convByChannel(Builder &b, Value x, Value filter, Value bias, int64_t dilation) {
  Shape shape = shapeOf(x), taps = shapeOf(filter);
  for (const SymbolicInt &difference : {taps[0] - shape[1], shape[1] - taps[0], taps[1] - 1, 1 - taps[1]})
    b.require(difference, "causal convolution: expected a filter [channels, 1, k], got " + toString(taps) + " for " +
                              toString(shape));
  Shape products{shape[0], shape[1], shape[2] - (taps[2] - 1) * SymbolicInt(dilation), taps[2]};
  Value wide = toCompute(b, x), weights = toCompute(b, filter);
  Value parts = b.generate(
      {wide, weights}, products, elementTypeOf(wide),
      [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        Scalar place(builder, loc, index[2]), tap(builder, loc, index[3]);
        Value at = (place + tap * tap.integer(dilation)).value, zero = builder.create<arith::ConstantIndexOp>(loc, 0);
        Scalar element(builder, loc, load(builder, loc, tensors[0], {index[0], index[1], at}));
        return (element * Scalar(builder, loc, load(builder, loc, tensors[1], {index[1], zero, index[3]}))).value;
      });
  Value result = parts ? sum(b, parts, 3, false) : parts;
  if (result && bias)
    result = add(b, result, alongAxis(b, toCompute(b, bias), 1, shapeOf(result)));
  return result ? b.cast(result, elementTypeOf(x)) : result;
}

/// in: x [batch, channels, length], filter [channels, 1, k], bias, past [batch, channels, (k - 1) dilation].
/// Results: as x; as many of the last positions as the past has. Source: ONNX CausalConvWithState-27.
Results causal_conv(Builder &b, Values in, const Attributes &a) {
  Value x = in[0], past = optionalInput(in, 3);
  StringRef activation = a.getString("activation", "none");
  if (rankOf(x) != 3 || rankOf(in[1]) != 3 || (activation != "none" && activation != "silu" && activation != "swish"))
    return {b.contradict(
        "causal convolution: expected an input and a filter of rank 3 and the activation none or silu, got " +
        toString(shapeOf(x)) + ", " + toString(shapeOf(in[1])) + " and '" + activation + "'")};
  int64_t dilation = a.getInt("dilation", 1);
  if (dilation < 1 || dilation > std::numeric_limits<int32_t>::max())
    return {b.fail("causal convolution: expected a dilation from 1 to 2147483647, got " + Twine(dilation))};
  SymbolicInt kept = (shapeOf(in[1])[2] - 1) * SymbolicInt(dilation);
  std::optional<int64_t> channels = shapeOf(in[1])[0].constant();
  Shape low{SymbolicInt(0), SymbolicInt(0), kept}, high(3, SymbolicInt(0));
  Value padded = past ? b.concat({past, x}, 2) : padTensor(b, x, low, high, "constant");
  if (!padded)
    return {};
  NamedAttribute form[] = {b.operations.getNamedAttr("group", b.operations.getI64IntegerAttr(channels.value_or(1))),
                           b.operations.getNamedAttr("dilations", b.operations.getDenseI64ArrayAttr(dilation))};
  Value bias = optionalInput(in, 2);
  Value result = channels ? applyComposite(b, "conv", {padded, in[1], bias}, Attributes(b.context(), form))[0]
                          : convByChannel(b, padded, in[1], bias, dilation);
  if (result && activation != "none")
    result = applyComposite(b, "silu", result)[0];
  return {result, sliceAxis(b, padded, 2, shapeOf(x)[2], kept)};
}

/// A block that lies in one piece: of a single sequence, and not around the end. Null: it does not.
static Value writtenInPlace(Builder &b, Value cache, Value block, Value starts, int64_t axis, bool isCircular) {
  SymbolicInt extent = shapeOf(cache)[axis], count = shapeOf(block)[axis];
  if (shapeOf(cache)[0] != SymbolicInt(1) || (isCircular && count != SymbolicInt(1)))
    return {};
  SymbolicInt position(0);
  if (starts) {
    position = b.measure(b.cast(b.reshape(starts, {}), b.i64()), "position");
    if (position.isPoison())
      return {};
  }
  if (isCircular)
    position = mod(position, extent);
  else
    b.require(extent - count - position, "tensor scatter: the update does not end inside the cache");
  return graph::update(b, cache, block, position, axis);
}

/// in: cache, update, first positions [batch] (0 without); mode linear, or circular: positions wrap around.
/// result[n.., i, ..] = update[n.., i - position[n], ..] where the update reaches, else the cache's element.
/// Source: ONNX TensorScatter-24.
Results tensor_scatter(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), update = shapeOf(in[1]);
  int64_t axis = normalAxis(b, a.getInt("axis", -2), shape.size());
  bool isCircular = a.getString("mode", "linear") == "circular";
  if (axis < 0)
    return {};
  if (update.size() != shape.size() || (axis == 0 && optionalInput(in, 2)))
    return {b.contradict("tensor scatter: an update of shape " + toString(update) + " does not fit a cache of shape " +
                         toString(shape) + " at axis " + Twine(axis))};
  if (update[axis] == SymbolicInt(0))
    return {in[0]};
  Shape read = shape;
  read[axis] = update[axis];
  requireExtents(b, update, read, "tensor scatter: the update");
  if (Value starts = optionalInput(in, 2))
    requireExtents(b, shapeOf(starts), shape[0], "tensor scatter: the positions");
  if (Value written = writtenInPlace(b, in[0], in[1], optionalInput(in, 2), axis, isCircular))
    return {written};
  return {b.generate(
      in, shape, elementTypeOf(in[0]), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        Scalar offset(builder, loc, index[axis]);
        if (tensors.size() > 2)
          offset = offset - Scalar(builder, loc, load(builder, loc, tensors[2], index[0])).to(builder.getIndexType());
        if (isCircular)
          offset = floorMod(offset, Scalar(builder, loc, extent(builder, loc, shape[axis])));
        Scalar count(builder, loc, extent(builder, loc, update[axis]));
        Scalar isInside = (offset >= 0) & (offset < count);
        SmallVector<Value> source(index);
        source[axis] = max(min(offset, count - 1), 0).value;
        Scalar written(builder, loc, load(builder, loc, tensors[1], source));
        return select(isInside, written, written.with(load(builder, loc, tensors[0], index))).value;
      })};
}
} // namespace composites
} // namespace perpend::graph
