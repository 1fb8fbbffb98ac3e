//===- Decoder.cpp - the graph of a decoder -------------------------------===//
//
//   x = E[tokens];  per layer: x += attention(norm x), x += feedForward(norm x);  logits = H norm(x)
//
// Everything is computed in f32, whatever type the weights have.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Decoder.h"
#include "graph/BatchInvariance.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::checkpoint {
using namespace perpend::graph;

void Decoder::begin(const Role &role) {
  std::string name = role.layer < 0 ? role.role.str() : weights.nameOf({role.role, role.layer, ""});
  Location location = NameLoc::get(StringAttr::get(builder.context(), name));
  builder.beginOperator(location, "'" + name + "': ");
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value Decoder::norm(Value x, const Role &role, int64_t size, double epsilon) {
  begin(role);
  Value weight = weights.getF32(role, size);
  if (weight && form.normOffset != 0)
    weight = add(builder, weight, builder.scalar(form.normOffset, builder.f32()));
  Attributes attributes(builder.context(),
                        builder.operations.getNamedAttr("epsilon", builder.operations.getF64FloatAttr(epsilon)));
  if (form.norm == Form::Norm::RootMeanSquare)
    return call(builder, "rms_norm", {x, weight}, attributes);
  return call(builder, "layer_norm", {x, weight, weights.getF32({role.role, role.layer, "bias"}, size)}, attributes);
}

Value Decoder::linear(Value x, const Role &role, int64_t from, int64_t to, bool hasBias) {
  begin(role);
  llvm::SmallVector<int64_t, 2> shape{to, from};
  bool isTransposed = form.transposesMatrices && role.layer >= 0;
  if (isTransposed)
    std::swap(shape[0], shape[1]);
  Value weight = weights.get(role, shape);
  if (weight && isTransposed)
    weight = builder.transpose(weight, {1, 0});
  Value bias = hasBias ? weights.getF32({role.role, role.layer, "bias"}, to) : Value();
  if (!x || !weight || (hasBias && !bias))
    return {};
  return applyComposite(builder, "linear", {x, weight, bias})[0];
}

Value Decoder::embedding(Value tokens) {
  begin({"token_embd"});
  Value isKnown = pointwise(
      builder, {tokens}, [&](ArrayRef<Scalar> v) { return v[0] >= 0 & v[0] < static_cast<double>(*form.vocabulary); },
      builder.operations.getI1Type());
  requireAll(builder, isKnown, "expected tokens from 0 to " + std::to_string(*form.vocabulary - 1));
  Value x = weights.rows({"token_embd"}, {*form.vocabulary, form.width}, tokens);
  if (form.embeddingScale != 1)
    x = mul(builder, x, builder.scalar(form.embeddingScale, builder.f32()));
  if (!form.positions)
    return x;
  begin({"position_embd"});
  Value learned = weights.getF32({"position_embd"}, {*form.positions, form.width});
  for (const SymbolicInt &extent : extents)
    builder.require(SymbolicInt(*form.positions) - extent,
                    "expected at most " + std::to_string(*form.positions) + " tokens");
  return learned ? add(builder, x, builder.gather(learned, positions, 0)) : learned;
}

Value Decoder::activation(Value x) {
  auto tanh = builder.operations.getNamedAttr("approximate", builder.operations.getStringAttr("tanh"));
  switch (form.activation) {
  case Form::Activation::Silu:
    return call(builder, "silu", x);
  case Form::Activation::GeluTanh:
    return call(builder, "gelu", x, Attributes(builder.context(), tanh));
  case Form::Activation::Gelu:
    return call(builder, "gelu", x);
  case Form::Activation::Relu:
    return call(builder, "relu", x);
  }
  return {};
}

Value Decoder::head(Value x) {
  x = norm(x, {"output_norm"}, form.width);
  x = linear(x, {form.isTied ? "token_embd" : "output"}, form.width, *form.vocabulary, /*hasBias=*/false);
  double cap = form.finalCap;
  if (x && cap > 0)
    x = pointwise(builder, {x}, [cap](ArrayRef<Scalar> v) { return cap * tanh(v[0] / cap); });
  return x;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

RotaryTables &Decoder::rotaryOf(int64_t number) {
  rotaries.resize(form.rotaries.size());
  size_t index = *form.layers[number].rotary;
  RotaryTables &tables = rotaries[index];
  if (!tables.cosines) {
    begin({"rotary"});
    tables = rotaryTables(builder, form.rotaries[index], positions, rotaryExtent);
  }
  return tables;
}

Value Decoder::rotated(Value x, int64_t number) {
  RotaryTables &tables = rotaryOf(number);
  begin({"blk.%.attn_rot", number});
  int64_t size = form.rotaries[*form.layers[number].rotary].size;
  return rotate(builder, x, tables.cosines, tables.sines, {{}, form.interleavesPairs, SymbolicInt(size)});
}

/// Heads [batch, heads, length, size], of which those of query and key are normalised and turned.
Decoder::Projections Decoder::projections(Value x, int64_t number) {
  int64_t sizes[] = {form.heads * form.headSize, form.keyHeads * form.headSize, form.keyHeads * form.valueSize};
  Value parts[3];
  if (form.fusesProjections) {
    Value all =
        linear(x, {"blk.%.attn_qkv", number}, form.width, sizes[0] + sizes[1] + sizes[2], form.hasProjectionBias);
    int64_t start = 0;
    for (int i = 0; i < 3; start += sizes[i++])
      parts[i] = all ? sliceAxis(builder, all, 2, SymbolicInt(start), SymbolicInt(sizes[i])) : all;
  } else {
    StringRef roles[] = {"blk.%.attn_q", "blk.%.attn_k", "blk.%.attn_v"};
    for (int i = 0; i < 3; ++i)
      parts[i] = linear(x, {roles[i], number}, form.width, sizes[i], form.hasProjectionBias);
  }
  for (int i = 0; i < 3; ++i)
    parts[i] = splitHeads(builder, parts[i], SymbolicInt(i == 0 ? form.heads : form.keyHeads));
  if (form.normalisesHeads) {
    parts[0] = norm(parts[0], {"blk.%.attn_q_norm", number}, form.headSize);
    parts[1] = norm(parts[1], {"blk.%.attn_k_norm", number}, form.headSize);
  }
  for (int i = 0; i < 2 && form.layers[number].rotary; ++i)
    parts[i] = rotated(parts[i], number);
  return {parts[0], parts[1], parts[2]};
}

/// Where a window starts; all rows of a cache are not copied for it.
static Value rowsFrom(Builder &builder, Value rows, const SymbolicInt &first) {
  return first == SymbolicInt(0) || !rows ? rows : sliceAxis(builder, rows, 0, first, shapeOf(rows)[0] - first);
}

/// The largest magnitude of a token and head is 127; one without an element above 2^-120 counts as 0.
Value Decoder::quantised(CachedRows &cache, Value rows, const SymbolicInt &first) {
  constexpr double largest = 127;
  Type type = elementTypeOf(cache.rows);
  Value magnitude = pointwise(builder, {rows}, [](ArrayRef<Scalar> v) { return graph::abs(v[0]); });
  Value most = builder.reduce(ReductionKind::Max, magnitude, {2}, /*keepDims=*/true);
  Value numbers = builder.mapBroadcast({rows, most}, type, [&](OpBuilder &b, Location loc, ValueRange v) {
    Scalar number(b, loc, v[0]), whole(b, loc, v[1]);
    Scalar inverse = graph::select(whole > std::ldexp(1.0, -120), largest / whole, whole.constant(0));
    Scalar inRange = graph::min(graph::max(graph::roundEven(number * inverse), -largest), largest);
    return inRange.to(b.getI32Type()).to(type).value;
  });
  Value scales = pointwise(builder, {most}, [](ArrayRef<Scalar> v) { return v[0] * (1 / largest); });
  Shape shape = shapeOf(rows);
  cache.rows = builder.concat({cache.rows, numbers}, 0);
  cache.scales = builder.concat({cache.scales, builder.reshape(scales, {shape[0], shape[1]})}, 0);
  if (!cache.rows || !cache.scales)
    return {};
  Value read = builder.cast(rowsFrom(builder, cache.rows, first), builder.f32());
  return mul(builder, read, builder.unsqueeze(rowsFrom(builder, cache.scales, first), {2}));
}

Value Decoder::cached(CachedRows &cache, Value heads, const SymbolicInt &first) {
  if (!heads)
    return {};
  Shape shape = shapeOf(heads);
  Value rows = builder.reshape(builder.transpose(heads, {0, 2, 1, 3}), {shape[2], shape[1], shape[3]});
  if (cache.scales)
    rows = quantised(cache, rows, first);
  else
    rows = rowsFrom(builder,
                    cache.rows = builder.concat({cache.rows, builder.cast(rows, elementTypeOf(cache.rows))}, 0), first);
  return rows ? builder.unsqueeze(builder.transpose(rows, {1, 0, 2}), {0}) : rows;
}

/// The one place that knows which keys and values there are: those of the tokens themselves, or of all in a cache.
Value Decoder::attend(const Projections &heads, int64_t number) {
  const LayerForm &layer = form.layers[number];
  AttentionForm attention;
  attention.right = 0;
  if (layer.window)
    attention.left = *layer.window - 1;
  attention.scale = layer.attentionScale;
  attention.softcap = form.attentionCap;
  if (!texts.empty())
    return attendWithCaches(heads, number, attention);
  begin({"blk.%.attn", number});
  return attendTo(heads, attention);
}

Value Decoder::attendTo(const Projections &heads, AttentionForm attention) {
  if (!form.latent)
    return graph::attend(builder, heads.query, heads.key, heads.value, attention).result;
  attention.furtherQuery = heads.rotatedQuery;
  attention.furtherKey = heads.key;
  return graph::attend(builder, heads.query, heads.value, heads.value, attention).result;
}

/// Each text attends to its own cache. Of a layer with a window only the rows that some token sees are read, and up to
/// `orderedLanes - 1` before them, so that sums over keys keep the order that they have over all rows.
Value Decoder::attendWithCaches(const Projections &heads, int64_t number, AttentionForm attention) {
  constexpr int64_t rowDim = 2; // of [1, heads, rows, size]
  SmallVector<Value> results;
  for (auto [text, own] : llvm::zip(texts, rows)) {
    auto ofText = [&](Value all) {
      return texts.size() == 1 || !all ? all : sliceAxis(builder, all, rowDim, own.start, own.count);
    };
    begin({"blk.%.attn_cache", number}); // one of its own, so that attention reads rounded numbers
    SymbolicInt first(0);
    if (attention.left)
      first = floorDiv(max(first, text.past - SymbolicInt(*attention.left)), SymbolicInt(orderedLanes)) *
              SymbolicInt(orderedLanes);
    Value keys = cached(text.caches[number].keys, ofText(heads.key), first);
    Value values = cached(text.caches[number].values, ofText(heads.value), first);
    begin({"blk.%.attn", number});
    attention.past = text.past - first;
    results.push_back(attendTo({ofText(heads.query), keys, values, ofText(heads.rotatedQuery)}, attention));
  }
  bool hasFailed = llvm::is_contained(results, Value());
  return hasFailed || results.size() == 1 ? results.front() : builder.concat(results, rowDim);
}

Value Decoder::attention(Value x, int64_t number) {
  Value mixed = attend(form.latent ? latentProjections(x, number) : projections(x, number), number);
  if (form.latent)
    mixed = latentValues(mixed, number);
  return linear(joinHeads(builder, mixed), {"blk.%.attn_output", number}, form.heads * form.valueSize, form.width,
                form.hasOutputBias);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

Value Decoder::feedForward(Value x, int64_t number) {
  if (!form.layers[number].hasExperts)
    return dense(x, number, form.innerWidth);
  Value mixed = experts(x, number);
  int64_t shared = form.experts.sharedWidth;
  return shared ? add(builder, mixed, dense(x, number, shared, "_shexp")) : mixed;
}

Value Decoder::dense(Value x, int64_t number, int64_t inner, StringRef suffix) {
  std::string names[] = {("blk.%.ffn_up" + suffix).str(), ("blk.%.ffn_gate" + suffix).str(),
                         ("blk.%.ffn_down" + suffix).str()};
  Value up = linear(x, {names[0], number}, form.width, form.fusesGate ? 2 * inner : inner, form.hasInnerBias);
  Value hidden;
  if (form.fusesGate && up) {
    Value gate = sliceAxis(builder, up, 2, SymbolicInt(0), SymbolicInt(inner));
    hidden = mul(builder, activation(gate), sliceAxis(builder, up, 2, SymbolicInt(inner), SymbolicInt(inner)));
  } else if (form.hasGate) {
    Value gate = linear(x, {names[1], number}, form.width, inner, form.hasInnerBias);
    hidden = mul(builder, activation(gate), up);
  } else {
    hidden = activation(up);
  }
  return linear(hidden, {names[2], number}, inner, form.width, form.hasInnerBias);
}

/// scores [tokens, experts] to the experts of each token, and their shares.
ExpertRoutes Decoder::routes(Value scores, int64_t number) {
  const ExpertsForm &own = form.experts;
  Value shares, choice = scores;
  if (own.gating == ExpertsForm::Gating::Sigmoid)
    choice = shares = call(builder, "sigmoid", scores);
  else if (own.hasChoiceBias || own.groups > 1)
    choice = shares = softmax(builder, scores, 1, /*isLogarithmic=*/false);
  if (own.hasChoiceBias)
    choice = add(builder, choice, weights.getF32({"blk.%.exp_probs_b.bias", number, ""}, own.count));
  if (own.groups > 1)
    choice = limitToGroups(builder, choice, own.groups, own.usedGroups, own.groupBest);
  if (!choice)
    return {};
  // Unlike the shares of a softmax, sigmoids may all be 0, which must not be divided by their sum.
  constexpr double least = 1e-20;
  const bool areSigmoids = own.gating == ExpertsForm::Gating::Sigmoid;
  ExpertRoutes result =
      chooseExperts(builder, choice, shares, SymbolicInt(own.used), own.normalises && !areSigmoids, builder.f32());
  if (own.normalises && areSigmoids && result.shares)
    result.shares =
        div(builder, result.shares,
            add(builder, sum(builder, result.shares, {1}, /*keepDims=*/true), builder.scalar(least, builder.f32())));
  if (own.scale != 1)
    result.shares = mul(builder, result.shares, builder.scalar(own.scale, builder.f32()));
  return result;
}

Value Decoder::experts(Value x, int64_t number) {
  const ExpertsForm &own = form.experts;
  Value scores = linear(x, {"blk.%.ffn_gate_inp", number}, form.width, own.count, /*hasBias=*/false);
  begin({"blk.%.ffn_exps", number});
  Value gates = weights.getExperts({"blk.%.ffn_gate_exps", number}, own.count, {own.width, form.width});
  Value ups = weights.getExperts({"blk.%.ffn_up_exps", number}, own.count, {own.width, form.width});
  Value downs = weights.getExperts({"blk.%.ffn_down_exps", number}, own.count, {form.width, own.width});
  if (!scores || !gates || !ups || !downs)
    return {};
  Shape shape = shapeOf(x);
  SymbolicInt count = shape[0] * shape[1];
  Value rows = builder.reshape(x, {count, shape[2]});
  ExpertRoutes chosen = routes(builder.reshape(scores, {count, SymbolicInt(own.count)}), number);
  auto applied = [&](Value all, Value rows, const SymbolicInt &expert) {
    return call(builder, "linear", {rows, ofExpert(builder, all, expert)});
  };
  Value mixed = mixExperts(builder, rows, chosen, SymbolicInt(own.count), [&](Value rows, const SymbolicInt &expert) {
    Value hidden = mul(builder, activation(applied(gates, rows, expert)), applied(ups, rows, expert));
    return applied(downs, hidden, expert);
  });
  return mixed ? builder.reshape(mixed, shape) : mixed;
}

Value Decoder::layer(Value x, int64_t number) {
  auto added = [&](Value result, StringRef role) {
    if (form.normalisesResults)
      result = norm(result, {role, number}, form.width);
    return add(builder, x, result);
  };
  x = added(attention(norm(x, {"blk.%.attn_norm", number}, form.width), number), "blk.%.post_attention_norm");
  return added(feedForward(norm(x, {"blk.%.ffn_norm", number}, form.width), number), "blk.%.post_ffw_norm");
}

Value Decoder::positionsFrom(const SymbolicInt &first, const SymbolicInt &count) {
  Value result = iota(builder, count, builder.i64());
  return first == SymbolicInt(0) ? result : add(builder, result, number(builder, first, builder.i64()));
}

/// tokens [batch, n] to what the head takes.
Value Decoder::layers(Value tokens) {
  Value x = embedding(tokens);
  for (int64_t number = 0; number < static_cast<int64_t>(form.layers.size()) && !builder.hasFailed(); ++number)
    x = layer(x, number);
  return builder.hasFailed() ? Value() : x;
}

Value Decoder::logits(Value tokens) {
  rotaryExtent = shapeOf(tokens)[1];
  extents = {rotaryExtent};
  begin({"positions"});
  positions = positionsFrom(SymbolicInt(0), rotaryExtent);
  Value x = layers(tokens);
  return x ? head(x) : x;
}

Value Decoder::lastRows(Value x) {
  begin({"last"});
  if (texts.size() == 1)
    return sliceAxis(builder, x, 1, rows[0].count - SymbolicInt(1), SymbolicInt(1));
  SmallVector<Value> indices;
  for (const Rows &own : rows) {
    SymbolicInt last = max(own.start + own.count - SymbolicInt(1), SymbolicInt(0));
    indices.push_back(builder.reshape(number(builder, last, builder.i64()), {SymbolicInt(1)}));
  }
  return builder.gather(x, builder.concat(indices, 0), 1);
}

Value Decoder::furtherLayers(ArrayRef<Continuation> continuations, int64_t capacity) {
  texts = continuations;
  rotaryExtent = SymbolicInt(capacity);
  SymbolicInt total(0);
  SmallVector<Value> tokens, places;
  begin({"positions"});
  for (const Continuation &text : texts) {
    SymbolicInt count = shapeOf(text.tokens)[0];
    rows.push_back({total, count});
    extents.push_back(text.past + count);
    places.push_back(positionsFrom(text.past, count));
    tokens.push_back(text.tokens);
    total = total + count;
  }
  positions = texts.size() == 1 ? places.front() : builder.concat(places, 0);
  begin({"tokens"});
  builder.require(total - SymbolicInt(1), "expected at least 1 token");
  Value all = texts.size() == 1 ? tokens.front() : builder.concat(tokens, 0);
  return layers(builder.reshape(all, {SymbolicInt(1), total}));
}

Value Decoder::continued(ArrayRef<Continuation> continuations, int64_t capacity) {
  Value x = furtherLayers(continuations, capacity);
  Value result = x ? head(lastRows(x)) : x;
  if (!result)
    return {};
  result = builder.reshape(result, {SymbolicInt(static_cast<int64_t>(texts.size())), SymbolicInt(*form.vocabulary)});
  if (texts.size() == 1)
    return result;
  SmallVector<Value> counts;
  for (const Rows &own : rows)
    counts.push_back(builder.reshape(number(builder, own.count, builder.i64()), {SymbolicInt(1), SymbolicInt(1)}));
  begin({"logits"});
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  Value known = builder.cast(builder.concat(counts, 0), builder.f32());
  return pointwise(builder, {result, known},
                   [&](ArrayRef<Scalar> v) { return graph::select(v[1] > 0, v[0], v[0].constant(nothing)); });
}

Value Decoder::continuedRows(const Continuation &continuation, int64_t capacity, Result result) {
  Value x = furtherLayers(continuation, capacity);
  if (x)
    x = result == Result::Hidden ? norm(x, {"output_norm"}, form.width) : head(x);
  return x ? builder.reshape(x, {shapeOf(x)[1], shapeOf(x)[2]}) : x;
}
} // namespace perpend::checkpoint
