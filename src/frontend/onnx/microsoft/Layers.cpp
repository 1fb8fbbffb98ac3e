//===- Layers.cpp - fused layers of ONNX Runtime --------------------------===//
//
// Operators of the domain com.microsoft with which ONNX Runtime's optimisers
// replace several ONNX operators: activations, normalisations, products, and
// operators on shapes.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "frontend/onnx/Ranks.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Attributes floatAttribute(Builder &b, StringRef name, double value) {
  return Attributes(b.context(), b.operations.getNamedAttr(name, b.operations.getF64FloatAttr(value)));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Results importMicrosoftGelu(Node &node) { return node.composite("gelu", node.inputs); }

Results importQuickGelu(Node &node) {
  auto alpha = node.builder.operations.getF64FloatAttr(node.attributes.getFloat("alpha", 1.702));
  return node.composite("silu", node.inputs, node.attribute("alpha", alpha));
}

/// gelu(x + bias), if there is a bias.
static Results biasedGelu(Node &node, StringRef approximate) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(1) ? graph::add(b, node.input(0), node.input(1)) : node.input(0);
  return node.composite("gelu", x, node.attribute("approximate", b.operations.getStringAttr(approximate)));
}
Results importBiasGelu(Node &node) { return biasedGelu(node, "none"); }
Results importFastGelu(Node &node) { return biasedGelu(node, "tanh"); }

/// The first half of x + bias times gelu of the second.
Results importBiasSplitGelu(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  Value x = graph::add(b, node.input(0), node.input(1));
  if (!x)
    return {};
  if (rankOf(x) < 1)
    return node.fail("expected a tensor of rank 1 or more, got a scalar");
  int64_t last = rankOf(x) - 1;
  std::optional<SymbolicInt> half = exactDiv(shapeOf(x).back(), SymbolicInt(2));
  if (!half)
    return node.fail("expected an even last dimension, got " + shapeOf(x).back().str());
  Value gate = call(b, "gelu", sliceAxis(b, x, last, *half, *half));
  return {graph::mul(b, sliceAxis(b, x, last, SymbolicInt(0), *half), gate)};
}

Results importBiasAdd(Node &node) {
  if (!node.hasInputs(3))
    return {};
  return {graph::add(node.builder, graph::add(node.builder, node.input(0), node.input(1)), node.input(2))};
}

/// The activation named by the attribute `activation`, with its parameters.
static Value activated(Node &node, Value x, ArrayRef<double> parameters) {
  Builder &b = node.builder;
  StringRef name = node.attributes.getString("activation");
  auto parameter = [&](size_t index, double otherwise) {
    return index < parameters.size() ? parameters[index] : otherwise;
  };
  if (name.empty() || !x)
    return x;
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh")
    return call(b, name.lower(), x);
  if (name == "LeakyRelu")
    return call(b, "leaky_relu", x, floatAttribute(b, "alpha", parameter(0, 0.01)));
  if (name == "Clip")
    return call(b, "clip",
                {x, b.scalar(parameter(0, -std::numeric_limits<double>::infinity()), graph::elementTypeOf(x)),
                 b.scalar(parameter(1, std::numeric_limits<double>::infinity()), graph::elementTypeOf(x))});
  if (name != "HardSigmoid")
    return b.fail("the activation '" + name + "' is not supported");
  NamedAttribute both[] = {node.attribute("alpha", b.operations.getF64FloatAttr(parameter(0, 0.2))),
                           node.attribute("beta", b.operations.getF64FloatAttr(parameter(1, 0.5)))};
  return call(b, "hard_sigmoid", x, Attributes(b.context(), both));
}

static Results fusedConv(Node &node, Value x, Value added) {
  Value result = node.composite("conv", {x, node.input(1), node.input(2)})[0];
  if (added)
    result = graph::add(node.builder, result, added);
  return {activated(node, result, node.attributes.getFloats("activation_params"))};
}

/// A convolution, plus a tensor of its result's shape, then an activation.
Results importFusedConv(Node &node) {
  if (!node.hasInputs(2))
    return {};
  return fusedConv(node, node.input(0), node.input(3));
}
/// Like FusedConv, channels-last.
Results importNhwcFusedConv(Node &node) {
  if (!node.hasInputs(2))
    return {};
  if (rankOf(node.input(0)) < 3)
    return node.fail("expected a tensor [batch, .., channels] of rank 3 or more, got shape " +
                     toString(shapeOf(node.input(0))));
  int64_t last = rankOf(node.input(0)) - 1;
  if (!hasRanks(node, {{3, last + 1}}))
    return {};
  Builder &b = node.builder;
  Value added = node.input(3) ? moveAxis(b, node.input(3), last, 1) : Value();
  Results results = fusedConv(node, moveAxis(b, node.input(0), last, 1), added);
  return {results.empty() || !results[0] ? Value() : moveAxis(b, results[0], 1, last)};
}

static Results activatedProduct(Node &node, Value product) {
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (node.attributes.has(name))
      parameters.push_back(node.attributes.getFloat(name));
  return {activated(node, product, parameters)};
}

Results importFusedGemm(Node &node) {
  return node.hasInputs(2) ? activatedProduct(node, node.composite("gemm", node.inputs)[0]) : Results();
}

/// in: x, filter, pads, bias.
Results importConvTransposeWithDynamicPads(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Value operands[] = {node.input(0), node.input(1), node.input(3)};
  if (!node.input(2))
    return node.composite("conv_transpose", operands);
  std::optional<SmallVector<int64_t>> pads = node.knownNumbers(2, "pads");
  return pads ? node.composite("conv_transpose", operands, node.attribute("pads", ArrayRef<int64_t>(*pads)))
              : Results();
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

static NamedAttribute epsilonOf(Node &node, float otherwise) {
  auto value = node.builder.operations.getF64FloatAttr(node.attributes.getFloat("epsilon", otherwise));
  return node.attribute("epsilon", value);
}

Results importSimplifiedLayerNormalization(Node &node) {
  return node.composite("rms_norm", node.inputs, epsilonOf(node, 1e-5F));
}

/// Results: the norm of x + skip + bias, its mean and inverse deviation, and this sum.
static Results skipNorm(Node &node, StringRef norm, Value shift, Value bias) {
  if (!node.hasInputs(3))
    return {};
  Value sum = graph::add(node.builder, node.input(0), node.input(1));
  if (bias)
    sum = graph::add(node.builder, sum, bias);
  if (!sum)
    return {};
  SmallVector<Value> inputs{sum, node.input(2)};
  if (shift)
    inputs.push_back(shift);
  Results results = node.composite(norm, inputs, epsilonOf(node, 1e-12F));
  results.resize(3);
  results.push_back(sum);
  return results;
}
Results importSkipLayerNormalization(Node &node) { return skipNorm(node, "layer_norm", node.input(3), node.input(4)); }
Results importSkipSimplifiedLayerNormalization(Node &node) { return skipNorm(node, "rms_norm", {}, node.input(3)); }

/// x is [n, .., channels], or [n, channels, ..] if channels_last is 0.
static Value normalisedGroups(Node &node, Value x) {
  Builder &b = node.builder;
  bool isLast = node.attributes.getInt("channels_last", 1);
  int64_t rank = x ? rankOf(x) : 0;
  auto groups = b.operations.getI64IntegerAttr(node.attributes.getInt("groups"));
  Value result =
      node.composite("group_norm", {isLast && x ? moveAxis(b, x, rank - 1, 1) : x, node.input(1), node.input(2)},
                     {node.attribute("num_groups", groups), epsilonOf(node, 1e-5F)})[0];
  if (isLast && result)
    result = moveAxis(b, result, 1, rank - 1);
  return node.attributes.getInt("activation") ? call(b, "silu", result) : result;
}

/// Whether input 0 has dimensions for batch and channels; otherwise emits an error.
static bool hasChannels(Node &node) {
  bool has = rankOf(node.input(0)) >= 2;
  if (!has)
    node.fail("expected a tensor of rank 2 or more, with a batch and channels, got shape " +
              toString(shapeOf(node.input(0))));
  return has;
}

Results importMicrosoftGroupNorm(Node &node) {
  if (!node.hasInputs(3) || !hasChannels(node))
    return {};
  return {normalisedGroups(node, node.input(0))};
}

/// in: x, scale, shift, a tensor to add to x (if [n, channels], to each position), bias. Results: the normalised sum,
/// the sum.
Results importSkipGroupNorm(Node &node) {
  if (!node.hasInputs(4) || !hasChannels(node))
    return {};
  Builder &b = node.builder;
  int64_t rank = rankOf(node.input(0)), between = rank - 2;
  bool isLast = node.attributes.getInt("channels_last", 1);
  auto behind = llvm::to_vector(llvm::seq<int64_t>(2, rank)), before = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
  Value skip = node.input(3), bias = node.input(4);
  if (rankOf(skip) == 2 && between > 0)
    skip = b.unsqueeze(skip, isLast ? before : behind);
  Value sum = graph::add(b, node.input(0), skip);
  if (bias && sum)
    sum = graph::add(b, sum, isLast ? bias : alongAxis(b, bias, 1, shapeOf(sum)));
  return {normalisedGroups(node, sum), sum};
}

/// Results: distinct elements in the order of their first occurrence, the place of each element there, counts.
Results importMicrosoftUnique(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Results all =
      node.composite("unique", node.input(0), node.attribute("sorted", node.builder.operations.getI64IntegerAttr(0)));
  return all.size() == 4 ? Results{all[0], all[2], all[3]} : Results();
}

Results importNhwcMaxPool(Node &node) {
  if (!node.hasInputs(1))
    return {};
  if (rankOf(node.input(0)) < 3)
    return node.fail("expected a tensor [batch, .., channels] of rank 3 or more, got shape " +
                     toString(shapeOf(node.input(0))));
  int64_t last = rankOf(node.input(0)) - 1;
  return {
      moveAxis(node.builder, node.composite("max_pool", moveAxis(node.builder, node.input(0), last, 1))[0], 1, last)};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The operand [.., rows, columns] of a product; `transposesBatch`: it is stored as [rows, .., columns].
static Value matrixOperand(Builder &b, Value x, bool transposes, bool transposesBatch) {
  int64_t rank = rankOf(x);
  if (rank < 2)
    return x;
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (transposesBatch)
    std::rotate(permutation.begin(), permutation.begin() + 1, permutation.end() - 1);
  if (transposes)
    std::swap(permutation[rank - 2], permutation[rank - 1]);
  return b.transpose(x, permutation);
}

Results importFusedMatMul(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  const Attributes &a = node.attributes;
  Value lhs = matrixOperand(b, node.input(0), a.getInt("transA"), a.getInt("transBatchA"));
  Value rhs = matrixOperand(b, node.input(1), a.getInt("transB"), a.getInt("transBatchB"));
  Value product = matmulOf(b, lhs, rhs);
  double alpha = a.getFloat("alpha", 1);
  return {alpha == 1 || !product ? product : graph::mul(b, product, b.scalar(alpha, graph::elementTypeOf(product)))};
}

Results importFusedMatMulActivation(Node &node) {
  Results product = importFusedMatMul(node);
  return product.empty() || !product[0] ? Results() : activatedProduct(node, product[0]);
}

/// gelu(x w + bias).
Results importGemmFastGelu(Node &node) {
  if (!node.hasInputs(2))
    return {};
  node.inputs = {matmulOf(node.builder, node.input(0), node.input(1)), node.input(2)};
  return importFastGelu(node);
}

/// Distances between the rows of two matrices.
Results importCDist(Node &node) {
  StringRef metric = node.attributes.getString("metric", "sqeuclidean");
  if (!node.hasInputs(2) || rankOf(node.input(0)) != 2 || rankOf(node.input(1)) != 2)
    return node.fail("expected two matrices");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return node.fail("the metric '" + metric + "' is not supported\nhint: use 'euclidean' or 'sqeuclidean'");
  Builder &b = node.builder;
  Value difference = graph::sub(b, b.unsqueeze(node.input(0), {1}), b.unsqueeze(node.input(1), {0}));
  Value squares = graph::sum(b, graph::mul(b, difference, difference), {2}, false);
  return {metric == "euclidean" ? call(b, "sqrt", squares) : squares};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Results importExpandDims(Node &node) {
  std::optional<SmallVector<int64_t>> axis = node.knownNumbers(1, "axis");
  return axis ? node.composite("unsqueeze", node.input(0), node.attribute("axes", ArrayRef<int64_t>(*axis)))
              : Results();
}

/// The step is 1 if absent; all three may be vectors of one element.
Results importMicrosoftRange(Node &node) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  Value step = node.input(2) ? node.input(2) : number(b, SymbolicInt(1), graph::elementTypeOf(node.input(0)));
  return node.composite("arange", {node.input(0), node.input(1), step});
}
//===----------------------------------------------------------------------===//
// EmbedLayerNormalization
//===----------------------------------------------------------------------===//

static constexpr InputRank embeddingRanks[] = {{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 1}, {6, 1}, {7, 2}};

namespace {
/// Words [batch, length] and the embeddings of words, positions and segments; null if absent.
struct Embeddings {
  Value words, mask, ofWords, ofPositions, ofSegments, scale, shift;
};
} // namespace

static Value embedded(Builder &b, Value table, Value ids) {
  return table && ids ? b.gather(table, normalIndices(b, ids, shapeOf(table)[0]), 0) : Value();
}

/// Results: the normalised sum of the embeddings, the number of words per batch, the sum.
static Results normaliseEmbeddings(Node &node, const Embeddings &given) {
  Builder &b = node.builder;
  Value sum = graph::add(b, given.ofWords, given.ofPositions);
  if (given.ofSegments)
    sum = graph::add(b, sum, given.ofSegments);
  auto epsilon = b.operations.getF64FloatAttr(node.attributes.getFloat("epsilon", 1e-12));
  Value normal =
      sum ? node.composite("layer_norm", {sum, given.scale, given.shift}, node.attribute("epsilon", epsilon))[0] : sum;
  Type counts = b.operations.getI32Type();
  Value isWord = given.mask ? call(b, "equal", {given.mask, b.scalar(1, graph::elementTypeOf(given.mask))}) : Value();
  Value words32 =
      isWord ? graph::sum(b, b.cast(isWord, counts), {1}, false) : b.splat({shapeOf(given.words)[0]}, 0, counts);
  return {normal, words32, sum};
}

/// in: word ids, segment ids, the tables of words, positions and segments, scale, shift, mask, position ids.
Results importEmbedLayerNormalization(Node &node) {
  Value words = node.input(0), positions = node.input(8);
  if (!words || rankOf(words) != 2 || !node.input(2) || !node.input(3) || !node.input(5))
    return node.fail("expected word ids of rank 2, tables of words and positions, and a scale");
  if (!hasRanks(node, embeddingRanks) || !hasRanks(node, {{8, 2}}))
    return {};
  Builder &b = node.builder;
  Value ofPositions = positions ? embedded(b, node.input(3), positions)
                                : sliceAxis(b, node.input(3), 0, SymbolicInt(0), shapeOf(words)[1]);
  return normaliseEmbeddings(node, {words, node.input(7), embedded(b, node.input(2), words), ofPositions,
                                    embedded(b, node.input(4), node.input(1)), node.input(5), node.input(6)});
}

/// in: word ids, segment ids, then quantised: the tables of words, positions and segments, scale, shift; mask; the
/// scales of these five, their zero points.
Results importQEmbedLayerNormalization(Node &node) {
  Value words = node.input(0);
  for (size_t index : {2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17})
    if (!words || rankOf(words) != 2 || !node.input(index))
      return node.fail("expected word ids of rank 2, and quantised tables with scales and zero points");
  if (!hasRanks(node, embeddingRanks))
    return {};
  Builder &b = node.builder;
  /// What is left of quantised input 2 + `index`, as numbers.
  auto numbers = [&](size_t index, Value rows) {
    return rows ? applyComposite(b, "dequantize", {rows, node.input(8 + index), node.input(13 + index)})[0] : rows;
  };
  Value positions = sliceAxis(b, node.input(3), 0, SymbolicInt(0), shapeOf(words)[1]);
  return normaliseEmbeddings(node, {words, node.input(7), numbers(0, embedded(b, node.input(2), words)),
                                    numbers(1, positions), numbers(2, embedded(b, node.input(4), node.input(1))),
                                    numbers(3, node.input(5)), numbers(4, node.input(6))});
}
} // namespace perpend::onnx
