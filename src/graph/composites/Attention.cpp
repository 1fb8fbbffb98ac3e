//===- Attention.cpp - scaled dot product attention in all its forms ------===//
//
// Heads that share a key become one dimension of the contractions, so that keys
// and values are never repeated. Positional masks are computed from indices.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Attention.h"
#include "graph/composites/Division.h"
#include "graph/composites/Softmax.h"

using namespace mlir;

namespace perpend::graph {

static constexpr double negativeInfinity = -std::numeric_limits<double>::infinity();

Value splitHeads(Builder &b, Value packed, const SymbolicInt &heads) {
  if (!packed)
    return {};
  Shape shape = shapeOf(packed);
  std::optional<SymbolicInt> size;
  if (shape.size() == 3 && heads.knownPositive())
    size = divideEvenly(shape[2], heads);
  if (!size)
    return b.contradict("expected a tensor [batch, length, heads * size], got shape " + toString(shape) + " for " +
                        heads.str() + " heads");
  return b.transpose(b.reshape(packed, {shape[0], shape[1], heads, *size}), {0, 2, 1, 3});
}

Value joinHeads(Builder &b, Value split) {
  if (!split)
    return {};
  Shape shape = shapeOf(split);
  return b.reshape(b.transpose(split, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Value padLast(Builder &b, Value x, const SymbolicInt &extent, double value) {
  if (!x || rankOf(x) == 0 || shapeOf(x).back() == extent)
    return x;
  SmallVector<SymbolicInt> low(rankOf(x), SymbolicInt(0)), high = low;
  high.back() = extent - shapeOf(x).back();
  return padTensor(b, x, low, high, "constant", value);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The last two dimensions exchanged.
static Value transposed(Builder &b, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  std::swap(permutation[rankOf(x) - 1], permutation[rankOf(x) - 2]);
  return b.transpose(x, permutation);
}

/// lhs [batch, heads, ..] times rhs [batch, fewer heads, ..], contracted over the last dimension of lhs and `rhsDim`.
static Value headProduct(Builder &b, Value lhs, Value rhs, bool rhsTransposed, StringRef rhsName) {
  if (!lhs || !rhs)
    return {};
  Shape left = shapeOf(lhs), right = shapeOf(rhs);
  if (left.size() != 4 || right.size() != 4 || left[1] == right[1])
    return b.matmul(lhs, rhsTransposed ? transposed(b, rhs) : rhs);
  std::optional<SymbolicInt> group = divideEvenly(left[1], right[1]);
  if (!group)
    return b.fail("attention: " + left[1].str() + " query heads are no multiple of " + right[1].str() + " " + rhsName +
                  " heads");
  Value grouped = b.reshape(lhs, {left[0], right[1], *group, left[2], left[3]});
  Value product = b.contract(grouped, rhs, {0, 1}, {0, 1}, {4}, {rhsTransposed ? 3 : 2});
  if (!product)
    return {};
  return b.reshape(product, {left[0], left[1], left[2], shapeOf(product).back()});
}

Value divideByRoot(Builder &b, Value x, const SymbolicInt &size) {
  if (std::optional<int64_t> number = size.constant())
    return mul(b, x, b.scalar(1 / std::sqrt(static_cast<double>(*number)), elementTypeOf(x)));
  return div(b, x, applyComposite(b, "sqrt", b.cast(b.dims(size, /*isScalar=*/true), elementTypeOf(x)))[0]);
}

static Value scaledScores(Builder &b, Value query, Value key, Value furtherQuery, Value furtherKey,
                          const std::optional<double> &scale) {
  Value scores = headProduct(b, query, key, /*rhsTransposed=*/true, "key");
  if (furtherQuery)
    scores = add(b, scores, headProduct(b, furtherQuery, furtherKey, /*rhsTransposed=*/true, "key"));
  if (!scores)
    return {};
  if (scale)
    return *scale == 1 ? scores : mul(b, scores, b.scalar(*scale, elementTypeOf(scores)));
  return divideByRoot(b, scores, shapeOf(query).back());
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// An element of a vector of integers as an index.
static Scalar indexOf(OpBuilder &builder, Location loc, Value vector, Value at) {
  return Scalar(builder, loc, load(builder, loc, vector, at)).to(builder.getIndexType());
}

/// The keys that positions and lengths leave visible: [queries, keys], or [batch, 1, queries, keys]; null for all.
static Value visibleKeys(Builder &b, const AttentionForm &form, const SymbolicInt &queries, const SymbolicInt &keys) {
  if (!form.left && !form.right && !form.keyLengths)
    return {};
  Shape shape{queries, keys};
  SmallVector<Value, 2> inputs;
  for (Value perBatch : {form.keyLengths, form.starts})
    if (perBatch)
      inputs.push_back(perBatch);
  if (!inputs.empty())
    shape.insert(shape.begin(), {shapeOf(inputs[0])[0], SymbolicInt(1)});
  return b.generate(inputs, shape, b.operations.getI1Type(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar row(builder, loc, index[index.size() - 2]), key(builder, loc, index.back());
                      Scalar start = form.starts ? indexOf(builder, loc, tensors.back(), index[0])
                                                 : row.with(extent(builder, loc, form.past));
                      Scalar position = row + start, visible = equal(key, key);
                      if (form.keyLengths)
                        visible = key < indexOf(builder, loc, tensors.front(), index[0]);
                      if (form.right)
                        visible = visible & (key <= position + static_cast<double>(*form.right));
                      if (form.left)
                        visible = visible & (key >= position - static_cast<double>(*form.left));
                      return visible.value;
                    });
}

/// Where the mask is -infinity, the score becomes -infinity too, whatever it was.
static Value addMask(Builder &b, Value scores, Value mask) {
  return pointwise(b, {scores, b.cast(mask, elementTypeOf(scores))},
                   [](ArrayRef<Scalar> v) { return select(equal(v[1], negativeInfinity), v[1], v[0] + v[1]); });
}

static Value maskedScores(Builder &b, Value scores, Value visible, Value mask) {
  if (!scores)
    return {};
  Value lowest = b.scalar(negativeInfinity, elementTypeOf(scores));
  bool isBoolean = mask && elementTypeOf(mask).isInteger(1);
  if (mask && !isBoolean)
    scores = addMask(b, scores, mask);
  if (isBoolean && visible)
    visible = applyComposite(b, "logical_and", {visible, mask})[0];
  else if (isBoolean)
    visible = mask;
  return visible ? where(b, visible, scores, lowest) : scores;
}

/// Softmax over the keys; 0 in rows that see no key. Sinks [.., heads, 1 or queries, 1] are scores of a further key.
static Value probabilitiesOf(Builder &b, Value scores, Value sinks, bool canBeEmpty) {
  if (!scores)
    return {};
  Value probabilities = softmaxWith(b, scores, -1, /*isLogarithmic=*/false, sinks);
  if (sinks || !canBeEmpty)
    return probabilities;
  Value highest = b.reduce(ReductionKind::Max, scores, {-1}, /*keepDims=*/true);
  return pointwise(b, {probabilities, highest},
                   [](ArrayRef<Scalar> v) { return select(equal(v[1], negativeInfinity), v[0].constant(0), v[0]); });
}

static Value changed(Value x, llvm::function_ref<Value(Value)> change) { return x && change ? change(x) : x; }

//===----------------------------------------------------------------------===//
// Heads that share a key
//===----------------------------------------------------------------------===//

namespace {
/// The queries of heads that share a key become rows of one head, so that their scores are rows of one product.
struct SharedKeys {
  SymbolicInt heads, group, queries;

  /// nullopt if each head has its own key, or if something else is given per head.
  static std::optional<SharedKeys> of(Value query, Value key, const AttentionForm &form) {
    Shape left = shapeOf(query), right = shapeOf(key);
    if (left.size() != 4 || right.size() != 4 || left[1] == right[1] || form.changeLogits || form.changeProbabilities)
      return std::nullopt;
    std::optional<SymbolicInt> group = divideEvenly(left[1], right[1]);
    Shape mask = form.mask ? shapeOf(form.mask) : Shape();
    bool isKnown = mask.size() < 4 || mask[mask.size() - 3] == SymbolicInt(1) || mask[mask.size() - 3] == left[1];
    return group && isKnown && mask.size() <= 4 ? std::optional(SharedKeys{right[1], *group, left[2]}) : std::nullopt;
  }

  /// [batch, heads * group, queries, ..], where some extents may be 1, to [batch, heads, group * queries, ..].
  Value join(Builder &b, Value x) const {
    if (!x)
      return {};
    Shape shape = shapeOf(x);
    shape.insert(shape.begin(), 4 - shape.size(), SymbolicInt(1));
    bool isForAll = shape[1] == SymbolicInt(1);
    if (isForAll && shape[2] == SymbolicInt(1))
      return x;
    Shape parts{shape[0], isForAll ? SymbolicInt(1) : heads, isForAll ? SymbolicInt(1) : group, shape[2], shape[3]};
    Shape whole{parts[0], parts[1], group, queries, parts[4]};
    Value repeated = b.broadcast(b.reshape(x, parts), {0, 1, 2, 3, 4}, whole);
    return b.reshape(repeated, {parts[0], parts[1], group * queries, parts[4]});
  }

  Value part(Builder &b, Value x) const {
    return x ? b.reshape(x, {shapeOf(x)[0], heads * group, queries, shapeOf(x)[3]}) : Value();
  }
};
} // namespace

AttentionResult attend(Builder &b, Value query, Value key, Value value, const AttentionForm &form) {
  if (!query || !key || !value)
    return {};
  if (llvm::any_of(ArrayRef({query, key, value}), [](Value x) { return rankOf(x) < 2; })) {
    b.contradict("attention: expected query, key and value of rank 2 or more");
    return {};
  }
  Value q = toCompute(b, query), v = castLike(b, value, q), furtherQuery = castLike(b, form.furtherQuery, q);
  Value visible = visibleKeys(b, form, shapeOf(query)[rankOf(query) - 2], shapeOf(key)[rankOf(key) - 2]);
  Value mask = form.mask, sinks = form.sinks ? b.unsqueeze(form.sinks, {1, 2}) : Value();
  std::optional<SharedKeys> shared = SharedKeys::of(query, key, form);
  if (shared) {
    q = shared->join(b, q);
    furtherQuery = shared->join(b, furtherQuery);
    visible = shared->join(b, visible);
    mask = shared->join(b, mask);
    sinks = shared->join(b, sinks);
  }
  AttentionResult result;
  result.scores = result.capped =
      scaledScores(b, q, castLike(b, key, q), furtherQuery, castLike(b, form.furtherKey, q), form.scale);
  if (!result.scores)
    return {};
  double cap = form.softcap;
  if (cap > 0)
    result.capped = pointwise(b, result.scores, [cap](ArrayRef<Scalar> x) { return cap * tanh(x[0] / cap); });
  result.masked = maskedScores(b, result.capped, visible, mask);
  if (!result.masked)
    return {};
  bool canBeEmpty = form.mask || form.keyLengths || form.starts || form.left;
  Value logits = form.softmaxType ? b.cast(result.masked, form.softmaxType) : result.masked;
  Value probabilities = probabilitiesOf(b, changed(logits, form.changeLogits), sinks, canBeEmpty);
  result.probabilities = castLike(b, changed(probabilities, form.changeProbabilities), q);
  result.result = castLike(b, headProduct(b, result.probabilities, v, /*rhsTransposed=*/false, "value"), query);
  if (shared)
    for (Value *x : {&result.result, &result.scores, &result.capped, &result.masked, &result.probabilities})
      *x = shared->part(b, *x);
  return result;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static std::optional<int64_t> windowBound(const Attributes &a, StringRef name) {
  int64_t bound = a.getInt(name, -1);
  return bound < 0 ? std::nullopt : std::optional(bound);
}

static AttentionForm formOf(const Attributes &a) {
  AttentionForm form;
  form.left = windowBound(a, "left_window_size");
  form.right = a.getInt("is_causal") ? 0 : windowBound(a, "right_window_size");
  if (a.has("scale"))
    form.scale = a.getFloat("scale");
  form.softcap = a.getFloat("softcap");
  form.softmaxType = a.getType("softmax_type");
  return form;
}

/// `past` in front of `present` along the length, where there is one.
static Value afterPast(Builder &b, Value past, Value present) {
  return past && present ? b.concat({past, present}, 2) : present;
}

namespace composites {
/// in: query, key, value [.., length, size], mask (optional: boolean keeps, float is added).
Results scaled_dot_product_attention(Builder &b, Values in, const Attributes &a) {
  AttentionForm form = formOf(a);
  form.mask = optionalInput(in, 3);
  return {attend(b, in[0], in[1], in[2], form).result};
}

/// in: query, key, value, mask, past key, past value, lengths of the keys. Tensors of rank 3 are split into
/// q_num_heads and kv_num_heads. Results: as the query, key and value with their past, the scores at the point that
/// qk_matmul_output_mode says (0 scaled product, 1 capped, 2 masked, 3 probabilities).
Results attention(Builder &b, Values in, const Attributes &a) {
  bool isPacked = rankOf(in[0]) == 3;
  if (llvm::any_of(in.take_front(3), [&](Value x) { return rankOf(x) != (isPacked ? 3 : 4); }))
    return {b.contradict("attention: expected query, key and value all of rank 3 or all of rank 4")};
  SymbolicInt queryHeads(a.getInt("q_num_heads")), keyHeads(a.getInt("kv_num_heads"));
  Value query = isPacked ? splitHeads(b, in[0], queryHeads) : in[0];
  Value key = isPacked ? splitHeads(b, in[1], keyHeads) : in[1],
        value = isPacked ? splitHeads(b, in[2], keyHeads) : in[2];
  Value pastKey = optionalInput(in, 4), pastValue = optionalInput(in, 5);
  if (!pastKey != !pastValue || (pastKey && (rankOf(pastKey) != 4 || rankOf(pastValue) != 4)))
    return {b.contradict("attention: expected both or none of past key and past value, of rank 4")};
  if (Value lengths = optionalInput(in, 6); lengths && rankOf(lengths) != 1)
    return {b.contradict("attention: expected the lengths of the keys as a vector, got shape " +
                         toString(shapeOf(lengths)))};
  key = afterPast(b, pastKey, key);
  value = afterPast(b, pastValue, value);
  if (!query || !key || !value)
    return {};
  AttentionForm form = formOf(a);
  form.past = pastKey ? shapeOf(pastKey)[2] : SymbolicInt(0);
  if ((form.keyLengths = optionalInput(in, 6)))
    form.starts = sub(b, form.keyLengths, number(b, shapeOf(query)[2], elementTypeOf(form.keyLengths)));
  if (Value mask = optionalInput(in, 3))
    form.mask = padLast(b, mask, shapeOf(key)[2], elementTypeOf(mask).isInteger(1) ? 0 : negativeInfinity);
  AttentionResult result = attend(b, query, key, value, form);
  int64_t mode = std::clamp<int64_t>(a.getInt("qk_matmul_output_mode"), 0, 3);
  Value inner = ArrayRef({result.scores, result.capped, result.masked, result.probabilities})[mode];
  return {isPacked ? joinHeads(b, result.result) : result.result, key, value, castLike(b, inner, query)};
}
} // namespace composites
} // namespace perpend::graph
