//===- Fused.cpp - small fused operators ----------------------------------===//
//
// Operators of the domain com.microsoft that combine a few elementwise ones, or
// a reduction or lookup with its surroundings.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Attention.h"
#include "graph/composites/Words.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// Computed in f32 if the tensor has 16 bits.

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Softmax of x + bias over all dimensions from `axis` on together.
Results importBiasSoftmax(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  Value x = graph::add(b, node.input(0), node.input(1));
  int64_t axis = x ? normalAxis(b, node.attributes.getInt("axis", 1), rankOf(x)) : -1;
  if (axis < 0)
    return {};
  Shape shape = shapeOf(x), flat(shape.begin(), shape.begin() + axis);
  flat.push_back(elementCount(ArrayRef(shape).drop_front(axis)));
  return {b.reshape(graph::softmax(b, b.reshape(x, flat), axis, false), shape)};
}

/// in: x, bias, residual, ratio, training mode. Dropout of x + bias, plus the residual; and the mask.
Results importBiasDropout(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Value sum = graph::add(node.builder, node.input(0), node.input(1));
  Results results = sum ? node.composite("dropout", {sum, node.input(3), node.input(4)}) : Results();
  if (!results.empty() && node.input(2))
    results[0] = graph::add(node.builder, results[0], node.input(2));
  return results;
}

/// Packs booleans into words of 32 bits, lowest bit first.
static Value packedBits(Builder &b, Value mask) {
  if (!mask)
    return {};
  SymbolicInt count = elementCount(shapeOf(mask)), words = ceilDiv(count, SymbolicInt(32));
  Type word = b.operations.getIntegerType(32, /*isSigned=*/false);
  Value bits = padLast(b, b.cast(b.reshape(mask, count), b.i64()), words * 32, 0);
  Value weights = call(b, "shift_left", {b.scalar(1, b.i64()), iota(b, SymbolicInt(32), b.i64())});
  if (!bits || !weights)
    return {};
  return b.cast(graph::sum(b, graph::mul(b, b.reshape(bits, {words, SymbolicInt(32)}), weights), {1}, false), word);
}

static Results withPackedMask(Builder &b, Results results) {
  if (results.size() > 1)
    results[1] = packedBits(b, results[1]);
  return results;
}
Results importBitmaskDropout(Node &node) {
  return withPackedMask(node.builder, node.composite("dropout", node.inputs));
}
Results importBitmaskBiasDropout(Node &node) { return withPackedMask(node.builder, importBiasDropout(node)); }

/// x + y gate, with the product rounded to the tensors' type.
Results importGatedAdd(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Builder &b = node.builder;
  Value product = graph::mul(b, toCompute(b, node.input(1)), toCompute(b, node.input(2)));
  return {castLike(b, graph::add(b, toCompute(b, node.input(0)), toCompute(b, castLike(b, product, node.input(1)))),
                   node.input(0))};
}

/// z sigmoid(z) of z = scale x, each rounded to the tensor's type.
Results importScaledSiLU(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), given = node.input(1);
  Type type = computeType(graph::elementTypeOf(x));
  Value scale = given ? b.cast(b.reshape(given, {}), type) : b.scalar(node.attributes.getFloat("alpha", 1), type);
  auto rounded = [&](Value value) { return toCompute(b, castLike(b, value, x)); };
  Value scaled = rounded(graph::mul(b, toCompute(b, x), scale));
  return {castLike(b, graph::mul(b, scaled, rounded(call(b, "sigmoid", scaled))), x)};
}

/// in: a [.., heads], bias and scale [heads], b. scale softplus(a + bias), and sigmoid(b).
Results importLinearAttentionGate(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Builder &b = node.builder;
  Value sum = graph::add(b, b.cast(node.input(0), b.f32()), b.cast(node.input(1), b.f32()));
  Value decay = graph::mul(b, call(b, "softplus", sum), b.cast(node.input(2), b.f32()));
  Value rate = node.input(3) ? call(b, "sigmoid", toCompute(b, node.input(3))) : Value();
  return {castLike(b, decay, node.input(0)), rate ? castLike(b, rate, node.input(3)) : rate};
}

/// A boolean: whether no element of any input is NaN or infinite (or, with an attribute, only one of these).
Results importIsAllFinite(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  bool onlyNaN = node.attributes.getInt("isnan_only"), onlyInfinities = node.attributes.getInt("isinf_only");
  Value isBad;
  auto include = [&](Value mask) {
    if (!mask || rankOf(mask) > 0)
      mask =
          mask ? b.reduce(ReductionKind::Max, mask, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(mask))), false) : mask;
    isBad = isBad ? call(b, "logical_or", {isBad, mask}) : mask;
  };
  for (Value x : node.inputs) {
    if (!onlyInfinities)
      include(call(b, "isnan", x));
    if (!onlyNaN)
      include(call(b, "isinf", x));
  }
  return {call(b, "logical_not", isBad)};
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static Value centred32(Builder &b, Value x, Value zero) {
  Type type = b.operations.getI32Type();
  if (!x)
    return {};
  x = b.cast(x, type);
  return zero ? graph::sub(b, x, b.cast(b.reshape(zero, {}), type)) : x;
}

/// in: a, its zero point, b, its zero point.
Results importMulInteger(Node &node) {
  if (!node.input(0) || !node.input(2))
    return node.fail("expected two operands, each with its zero point behind it");
  Builder &b = node.builder;
  return {graph::mul(b, centred32(b, node.input(0), node.input(1)), centred32(b, node.input(2), node.input(3)))};
}

Results importReduceSumInteger(Node &node) {
  if (!node.hasInputs(1))
    return {};
  return node.composite("reduce_sum", centred32(node.builder, node.input(0), {}));
}

Results importMatMulInteger16(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  bool isUnsigned = graph::elementTypeOf(node.input(0)).isUnsignedInteger() &&
                    graph::elementTypeOf(node.input(1)).isUnsignedInteger();
  Type type = isUnsigned ? IntegerType::get(b.context(), 32, IntegerType::Unsigned) : b.operations.getI32Type();
  return {b.matmul(b.cast(node.input(0), type), b.cast(node.input(1), type))};
}

/// Like ONNX's QLinearConv, for a tensor that may be channels-last.
Results importMicrosoftQLinearConv(Node &node) {
  if (!node.hasInputs(8) || !node.attributes.getInt("channels_last") || rankOf(node.input(0)) < 3)
    return node.composite("qlinear_conv", node.inputs);
  int64_t last = rankOf(node.input(0)) - 1;
  SmallVector<Value> inputs = node.inputs;
  inputs[0] = moveAxis(node.builder, inputs[0], last, 1);
  return {moveAxis(node.builder, node.composite("qlinear_conv", inputs)[0], 1, last)};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// x / sqrt(mean x^2 + epsilon) over the last dimension, in f32.
static Value rootNorm(Node &node, Value x) {
  Builder &b = node.builder;
  auto epsilon = b.operations.getF64FloatAttr(node.attributes.getFloat("epsilon", 1e-5));
  return call(b, "rms_norm", b.cast(x, b.f32()), Attributes(b.context(), node.attribute("epsilon", epsilon)));
}

/// Splits the last dimension into groups of `size`.
static Value inGroups(Node &node, Value x, const SymbolicInt &size) {
  Shape shape = shapeOf(x);
  std::optional<SymbolicInt> count = shape.empty() ? std::nullopt : exactDiv(shape.back(), size);
  if (!count)
    return node.builder.fail("the last dimension of a tensor " + toString(shape) + " does not divide by " + size.str());
  shape.back() = *count;
  shape.push_back(size);
  return node.builder.reshape(x, shape);
}

/// in: x [.., heads size], scale [size], gate. The norm of each head times the scale and the activated gate.
Results importGatedRMSNorm(Node &node) {
  StringRef activation = node.attributes.getString("activation", "silu");
  if (!node.hasInputs(3))
    return {};
  if (rankOf(node.input(1)) != 1)
    return node.fail("expected a scale of rank 1, got shape " + toString(shapeOf(node.input(1))));
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    return node.fail("expected the activation silu, swish or sigmoid, got '" + activation + "'");
  Builder &b = node.builder;
  Value x = node.input(0), grouped = inGroups(node, x, shapeOf(node.input(1))[0]);
  Value normal = grouped ? graph::mul(b, rootNorm(node, grouped), b.cast(node.input(1), b.f32())) : grouped;
  Value gate = call(b, activation == "sigmoid" ? "sigmoid" : "silu", b.cast(node.input(2), b.f32()));
  return {normal ? castLike(b, graph::mul(b, b.reshape(normal, shapeOf(x)), gate), x) : normal};
}

//===----------------------------------------------------------------------===//
// Streams: several hidden states side by side
//===----------------------------------------------------------------------===//

/// Converts streams [.., streams, size], or [.., streams * size] with num_branches streams, to the former shape in the
/// compute type. Null after an error.
static Value groupedStreams(Node &node, Value x) {
  Shape shape = shapeOf(x);
  int64_t count = node.attributes.getInt("num_branches");
  if (count < 0 || shape.size() < (count == 0 ? 2 : 1))
    return node.builder.fail("expected streams [.., streams, size], or num_branches and [.., num_branches * size], got "
                             "shape " +
                             toString(shape) + " and " + Twine(count) + " branches");
  if (count == 0)
    return toCompute(node.builder, x);
  std::optional<SymbolicInt> size = exactDiv(shape.back(), SymbolicInt(count));
  return toCompute(node.builder, inGroups(node, x, size.value_or(SymbolicInt(count))));
}

/// in: streams; scale of streams and size, or of size. The norm of each stream, times the scale.
Results importBranchwiseRMSNorm(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), scale = node.input(1), grouped = groupedStreams(node, x);
  if (!grouped)
    return {};
  Shape shape = shapeOf(grouped);
  Value normal = rootNorm(node, grouped);
  if (scale) {
    bool isWhole = rankOf(scale) == 1 && shapeOf(scale)[0] == shape.back() * shape[shape.size() - 2];
    scale = isWhole ? b.reshape(scale, {shape[shape.size() - 2], shape.back()}) : scale;
    normal = graph::mul(b, normal, b.cast(scale, b.f32()));
  }
  return {castLike(b, b.reshape(normal, shapeOf(x)), x)};
}

/// Gates of streams of this shape: [.., streams], [.., streams, 1], [.., streams, size] or that flat.
static Value gatesOf(Builder &b, Value gates, ArrayRef<SymbolicInt> streams) {
  if (!gates || rankOf(gates) != static_cast<int64_t>(streams.size()) - 1)
    return toCompute(b, gates);
  Shape flat(streams.begin(), streams.end() - 1);
  flat.back() = streams.back() * flat.back();
  bool isFlat = shapeOf(gates).back() == flat.back();
  return toCompute(b, isFlat ? b.reshape(gates, streams) : b.unsqueeze(gates, {rankOf(gates)}));
}

/// scale sum_c x[.., c, :] gate[.., c, :].
Results importHyperConnectionPreMix(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  Value x = groupedStreams(node, node.input(0));
  if (!x)
    return {};
  Value product = graph::mul(b, x, gatesOf(b, node.input(1), shapeOf(x)));
  Value mixed = product ? graph::sum(b, product, {rankOf(x) - 2}, false) : product;
  double scale = node.attributes.getFloat("reduction_scale", 1);
  if (mixed && scale != 1)
    mixed = graph::mul(b, mixed, b.scalar(scale, graph::elementTypeOf(mixed)));
  return {b.cast(mixed, graph::elementTypeOf(node.input(0)))};
}

/// in: streams, the result of a block [.., size], its gates, a matrix [.., streams, streams]. The matrix's transpose
/// times the streams, plus the gated result.
Results importHyperConnectionPostMix(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Builder &b = node.builder;
  Value x = groupedStreams(node, node.input(0)), mixed = x, matrix = toCompute(b, node.input(3));
  if (!x || rankOf(node.input(1)) != rankOf(x) - 1)
    return x ? node.fail("expected a block_output with a dimension less than the streams") : Results();
  if (matrix && rankOf(matrix) < 2)
    return node.fail("expected a stream_mix [.., streams, streams], got shape " + toString(shapeOf(matrix)));
  if (matrix)
    mixed = b.matmul(moveAxis(b, matrix, rankOf(matrix) - 1, rankOf(matrix) - 2), x);
  Value block = b.unsqueeze(toCompute(b, node.input(1)), {rankOf(x) - 2});
  Value sum = graph::add(b, mixed, graph::mul(b, gatesOf(b, node.input(2), shapeOf(x)), block));
  return {b.reshape(b.cast(sum, graph::elementTypeOf(node.input(0))), shapeOf(node.input(0)))};
}

static Value scaledNorm(Node &node, Value x, Value scale) {
  return x ? graph::mul(node.builder, rootNorm(node, x), node.builder.cast(scale, node.builder.f32())) : x;
}

/// in: key and query [batch, length, streams, size], value [batch, length, size], scales of the norms of key, query and
/// result. The value times a gate that measures the similarity of key and query: sigmoid(sign(d) sqrt(max(|d|, 1e-6)))
/// with d = norm(key) norm(query) / sqrt(size). Results: that, and its norm.
Results importEngramGate(Node &node) {
  if (!node.hasInputs(5) || !hasRanks(node, {{0, 4}, {1, 4}, {2, 3}}))
    return {};
  Builder &b = node.builder;
  Value key = scaledNorm(node, node.input(0), node.input(3));
  Value query = scaledNorm(node, node.input(1), node.input(4));
  Value product = graph::mul(b, key, query), dots = product ? graph::sum(b, product, {3}, true) : product;
  Value size = number(b, shapeOf(node.input(0))[3], b.f32());
  Value gate = !dots ? dots : pointwise(b, {dots, size}, [](ArrayRef<Scalar> v) {
    Scalar dot = v[0] / sqrt(v[1]), root = sqrt(max(abs(dot), 1e-6));
    Scalar signedRoot = select(dot < 0, -root, select(dot > 0, root, dot));
    return 1.0 / (exp(-signedRoot) + 1.0);
  });
  Value result = graph::mul(b, gate, b.unsqueeze(toCompute(b, node.input(2)), {2}));
  Type type = graph::elementTypeOf(node.input(0));
  Value norm = node.input(5) && result ? b.cast(scaledNorm(node, result, node.input(5)), type) : Value();
  return {b.cast(result, type), norm};
}
//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

Results importTorchEmbedding(Node &node) {
  if (!node.hasInputs(2))
    return {};
  if (rankOf(node.input(0)) != 2)
    return node.fail("expected a table [rows, size], got shape " + toString(shapeOf(node.input(0))));
  Value rows = normalIndices(node.builder, node.input(1), shapeOf(node.input(0))[0]);
  return {node.builder.gather(node.input(0), rows, 0)};
}

/// in: angles [batch, length, size], query, the query's rotated half, key, the key's.
Results importGemmaRotaryEmbedding(Node &node) {
  if (!node.hasInputs(5))
    return {};
  if (rankOf(node.input(0)) != 3)
    return node.fail("expected angles of rank 3, got shape " + toString(shapeOf(node.input(0))));
  Builder &b = node.builder;
  auto table = [&](StringRef function) {
    return castLike(b, b.unsqueeze(call(b, function, node.input(0)), 1), node.input(1));
  };
  Value sine = table("sin"), cosine = table("cos");
  auto rotated = [&](size_t index) {
    return graph::add(b, graph::mul(b, node.input(index), cosine), graph::mul(b, node.input(index + 1), sine));
  };
  return {rotated(1), rotated(3)};
}

/// Sets to -inf the scores of tokens that would complete a group of `ngram_size` tokens which the row of ids contains.
Results importNGramRepeatBlock(Node &node) {
  int64_t size = node.attributes.getInt("ngram_size");
  if (!node.hasInputs(2))
    return {};
  for (size_t index : {0, 1})
    if (rankOf(node.input(index)) != 2)
      return node.fail("expected ids and scores of rank 2, got shape " + toString(shapeOf(node.input(index))));
  if (size < 1)
    return node.fail("expected a positive ngram_size, got " + Twine(size));
  if (!isa<FloatType>(graph::elementTypeOf(node.input(1))))
    return node.fail("expected floating-point scores, got elements of type " +
                     graph::nameOf(graph::elementTypeOf(node.input(1))) + "\nhint: put a Cast before it");
  return {withoutRepeats(node.builder, node.input(1), node.input(0), size)};
}
} // namespace perpend::onnx
