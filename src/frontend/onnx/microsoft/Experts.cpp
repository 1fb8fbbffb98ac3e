//===- Experts.cpp - mixtures of experts ----------------------------------===//
//
// MoE and QMoE of the domain com.microsoft.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Experts.h"
#include "frontend/onnx/Ranks.h"
#include "frontend/onnx/microsoft/PackedNumbers.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
namespace {
/// The weights [experts, to, from] and the bias [experts, to] of one layer of all experts. With scales (per row, or per
/// block of a row), weights are numbers of `bits` bits packed in bytes; zero points are packed likewise, or the middle
/// of the range.
struct Layer {
  Value weights, bias, scales, zeros;
  int64_t bits = 0, blockSize = 0;
};

struct Experts {
  Layer first, second, third;
};
} // namespace

/// Half of the rows of the first layer, which includes a gate. Errors: nullopt.
static std::optional<SymbolicInt> halfOf(Node &node, const SymbolicInt &rows) {
  std::optional<SymbolicInt> half = exactDiv(rows, SymbolicInt(2));
  if (!half)
    node.fail("expected an even number of rows in the weights of the first layer, got " + rows.str());
  return half;
}

//===----------------------------------------------------------------------===//
// One expert
//===----------------------------------------------------------------------===//

/// [to, from] in the type `type`.
static Value weightsOf(Node &node, const Layer &layer, const SymbolicInt &expert, Type type) {
  Builder &b = node.builder;
  Value weights = ofExpert(b, layer.weights, expert), scales = ofExpert(b, layer.scales, expert);
  if (!scales)
    return weights ? b.cast(weights, type) : weights;
  weights = unpackedNumbers(b, weights, layer.bits);
  Shape shape = shapeOf(scales);
  int64_t axis = static_cast<int64_t>(shape.size()) - 1;
  Value zeros = layer.zeros ? sliceAxis(b, unpackedNumbers(b, ofExpert(b, layer.zeros, expert), layer.bits), axis,
                                        SymbolicInt(0), shape.back())
                            : b.splat(shape, 1 << (layer.bits - 1), graph::elementTypeOf(weights));
  NamedAttribute form[] = {node.attribute("axis", b.operations.getI64IntegerAttr(axis)),
                           node.attribute("block_size", b.operations.getI64IntegerAttr(axis ? layer.blockSize : 0))};
  return call(b, "dequantize", {weights, b.cast(scales, type), zeros}, Attributes(b.context(), form));
}

static Value applied(Node &node, const Layer &layer, Value rows, const SymbolicInt &expert) {
  Builder &b = node.builder;
  Type type = graph::elementTypeOf(rows);
  Value bias = ofExpert(b, layer.bias, expert), weights = weightsOf(node, layer, expert, type);
  return weights ? applyComposite(b, "linear", {rows, weights, bias ? b.cast(bias, type) : bias})[0] : Value();
}

/// Splits [rows, 2 n] into the gate and the rest: interleaved (fusion 1) or halves.
static std::pair<Value, Value> halves(Node &node, Value x) {
  Builder &b = node.builder;
  Shape sizes = shapeOf(x);
  std::optional<SymbolicInt> half = halfOf(node, sizes[1]);
  if (!half)
    return {};
  bool isInterleaved = node.attributes.getInt("swiglu_fusion") == 1;
  sizes[1] = *half;
  auto part = [&](const SymbolicInt &start) {
    return b.slice(x, {SymbolicInt(0), start}, sizes, {1, isInterleaved ? 2 : 1});
  };
  return {part(SymbolicInt(0)), part(isInterleaved ? SymbolicInt(1) : *half)};
}

/// g sigmoid(alpha g) (l + beta), with g and |l| clamped to `limit`.
static Value swigluOf(Node &node, Value gate, Value linear) {
  if (!gate || !linear)
    return {};
  Builder &b = node.builder;
  Type type = graph::elementTypeOf(gate);
  auto number = [&](double value) { return b.scalar(value, type); };
  if (node.attributes.has("swiglu_limit")) {
    double limit = node.attributes.getFloat("swiglu_limit");
    gate = call(b, "min", {gate, number(limit)});
    linear = call(b, "clip", {linear, number(-limit), number(limit)});
  }
  auto alpha = b.operations.getF64FloatAttr(node.attributes.getFloat("activation_alpha", 1));
  Value activated = call(b, "silu", gate, Attributes(b.context(), node.attribute("alpha", alpha)));
  return graph::mul(b, activated, graph::add(b, linear, number(node.attributes.getFloat("activation_beta"))));
}

static Value activated(Node &node, Value x) {
  Builder &b = node.builder;
  StringRef name = node.attributes.getString("activation_type", "relu");
  if (name == "identity" || !x)
    return x;
  if (name == "relu" || name == "silu")
    return call(b, name, x);
  if (name != "gelu")
    return b.fail("the activation '" + name + "' is not supported\nhint: relu, gelu, silu, swiglu and identity are");
  return call(b, "gelu", x, Attributes(b.context(), node.attribute("approximate", b.operations.getStringAttr("tanh"))));
}

/// Applies an expert to rows [n, from].
static Value expertOf(Node &node, const Experts &all, Value rows, const SymbolicInt &expert) {
  Value hidden = applied(node, all.first, rows, expert);
  Value other = all.third.weights ? applied(node, all.third, rows, expert) : Value();
  if (!hidden)
    return {};
  if (node.attributes.getString("activation_type") == "swiglu") {
    auto [gate, linear] = other ? std::pair(hidden, other) : halves(node, hidden);
    hidden = swigluOf(node, gate, linear);
  } else {
    hidden = activated(node, hidden);
    hidden = other ? graph::mul(node.builder, hidden, other) : hidden;
  }
  return hidden ? applied(node, all.second, hidden, expert) : hidden;
}

//===----------------------------------------------------------------------===//
// Checks of the inputs
//===----------------------------------------------------------------------===//

static SymbolicInt ceilDiv(const SymbolicInt &x, int64_t divisor) {
  return floorDiv(x + SymbolicInt(divisor - 1), SymbolicInt(divisor));
}

/// Requires a layer from rows [.., from] to [.., to].
static void requireLayer(Builder &b, const Layer &layer, StringRef name, const SymbolicInt &experts,
                         const SymbolicInt &to, const SymbolicInt &from) {
  auto inBytes = [&](const SymbolicInt &count) { return layer.scales ? ceilDiv(count * layer.bits, 8) : count; };
  requireShape(b, layer.weights, name + " layer, weights", {experts, to, inBytes(from)});
  requireShape(b, layer.bias, name + " layer, bias", {experts, to});
  Shape scales{experts, to}, zeros{experts, inBytes(to)};
  if (layer.scales && rankOf(layer.scales) == 3) {
    scales.push_back(ceilDiv(from, layer.blockSize));
    zeros = {experts, to, inBytes(scales.back())};
  }
  requireShape(b, layer.scales, name + " layer, scales", scales);
  requireShape(b, layer.zeros, name + " layer, zero points", zeros);
}

/// Checks that the inputs fit together; what is known only at run time is checked then.
static bool requireExperts(Node &node, const Experts &all, Value routerWeights) {
  Builder &b = node.builder;
  Shape tokens = shapeOf(node.input(0)), first = shapeOf(all.first.weights);
  SymbolicInt inner = first[1], width = tokens.back(), k(node.attributes.getInt("k", 1));
  Shape routes{elementCount(ArrayRef(tokens).drop_back()), first[0]};
  std::string message = "expected k from 1 to the number of experts, " + first[0].str() + ", got " + k.str();
  b.require(first[0] - k, message);
  b.require(k - SymbolicInt(1), message);
  requireShape(b, node.input(1), "router_probs", routes);
  requireShape(b, routerWeights, "router_weights", routes);
  requireLayer(b, all.first, "first", first[0], inner, width);
  if (all.third.weights)
    requireLayer(b, all.third, "third", first[0], inner, width);
  if (!all.third.weights && node.attributes.getString("activation_type") == "swiglu") {
    std::optional<SymbolicInt> half = halfOf(node, inner);
    if (!half)
      return false;
    inner = *half;
  }
  requireLayer(b, all.second, "second", first[0], width, inner);
  return !b.hasFailed();
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

static Results mixExperts(Node &node, const Experts &all, Value routerWeights, bool normalises) {
  if (!requireExperts(node, all, routerWeights))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0);
  Shape shape = shapeOf(x);
  Type type = computeType(graph::elementTypeOf(x));
  SymbolicInt count = shapeOf(all.first.weights)[0];
  Value tokens = b.reshape(b.cast(x, type), {elementCount(ArrayRef(shape).drop_back()), shape.back()});
  ExpertRoutes routes =
      chooseExperts(b, node.input(1), routerWeights, SymbolicInt(node.attributes.getInt("k", 1)), normalises, type);
  Value mixed = mixExperts(b, tokens, routes, count,
                           [&](Value rows, const SymbolicInt &expert) { return expertOf(node, all, rows, expert); });
  if (!mixed)
    return {};
  return {b.cast(b.reshape(mixed, shape), graph::elementTypeOf(x))};
}

static bool checkInputs(Node &node, std::initializer_list<size_t> weights) {
  if (node.attributes.getInt("use_sparse_mixer"))
    return node.fail("the attribute use_sparse_mixer is not supported"), false;
  Value x = node.input(0), router = node.input(1);
  bool fits = x && (rankOf(x) == 2 || rankOf(x) == 3) && router && rankOf(router) == 2;
  for (size_t index : weights)
    fits = fits && node.input(index) && rankOf(node.input(index)) == 3;
  if (!fits)
    node.fail("expected tokens of rank 2 or 3, router_probs of rank 2 and weights of rank 3");
  return fits;
}

/// in: tokens [.., width], scores [tokens, experts], then the weights and the bias of three layers (the third is
/// optional). Source: MoE of ONNX Runtime.
Results importMoE(Node &node) {
  if (!checkInputs(node, {2, 4}))
    return {};
  auto layer = [&](size_t index) { return Layer{node.input(index), node.input(index + 1), {}, {}}; };
  return mixExperts(node, {layer(2), layer(4), layer(6)}, {}, node.attributes.getInt("normalize_routing_weights"));
}

/// in: tokens, scores, then weights, scales and bias of three layers, three zero points, shares [tokens, experts].
/// Source: QMoE of ONNX Runtime, with integers.
Results importQMoE(Node &node) {
  const Attributes &a = node.attributes;
  if (!checkInputs(node, {2, 5}))
    return {};
  if (a.getString("quant_type", "int") != "int" || !node.input(3) || !node.input(6) ||
      (node.input(8) && !node.input(9)) || a.getInt("weights_prepacked", -1) > 0)
    return node.fail("expected integer weights that are not packed for one machine, with their scales");
  int64_t bits = a.getInt("expert_weight_bits", 4), block = a.getInt("block_size");
  auto layer = [&](size_t index, size_t zeros, StringRef own) {
    return Layer{node.input(index), node.input(index + 2), node.input(index + 1),
                 node.input(zeros), a.getInt(own, bits),   block};
  };
  Experts all{layer(2, 11, "fc1_expert_weight_bits"), layer(5, 12, "fc2_expert_weight_bits"),
              layer(8, 13, "fc3_expert_weight_bits")};
  for (const Layer &one : {all.first, all.second, all.third})
    if (one.weights &&
        (!llvm::is_contained({2, 4, 8}, one.bits) || !graph::elementTypeOf(one.weights).isUnsignedInteger(8) ||
         rankOf(one.scales) < 2 || rankOf(one.scales) > 3 || (rankOf(one.scales) == 3 && block < 16)))
      return node.fail("expected weights of 2, 4 or 8 bits in bytes, and scales per row or per block of at least 16");
  // Without separate shares, ONNX Runtime uses the softmax of the k best scores, whatever the attribute says.
  return mixExperts(node, all, node.input(14), !node.input(14) || a.getInt("normalize_routing_weights"));
}
} // namespace perpend::onnx
