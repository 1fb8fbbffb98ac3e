//===- OperatorsMicrosoftQuantised.cpp - ONNX Runtime's quantised operators ==//
//
// Quantised operators of the domain com.microsoft. Where the definition is
// "dequantise, compute, quantise", that is what they become.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// in: a, packed weights, scales, zero points, order of the groups, bias.
Results importMatMulNBits(Node &node) {
  if (!node.hasInputs(3))
    return {};
  if (node.input(4))
    return node.fail("the input g_idx is not supported\nhint: export the weights without reordered groups");
  if (node.attributes.getInt("weight_prepacked"))
    return node.fail("weights that are packed for one machine are not supported");
  Value weights = node.composite("dequantize_packed", {node.input(1), node.input(2), node.input(3)})[0];
  return node.composite("linear", {node.input(0), weights, node.input(5)});
}

/// in: a, b, a scale, b scale, a zero point, b zero point, bias.
Results importMatMulIntegerToFloat(Node &node) { return node.composite("scaled_matmul_integer", node.inputs); }

/// in: a, b, b scale, b zero point, bias; a is quantised by its range.
Results importDynamicQuantizeMatMul(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Results a = applyComposite(node.builder, "dynamic_quantize", node.input(0));
  if (a.size() < 3 || !a[0])
    return {};
  return node.composite("scaled_matmul_integer",
                        {a[0], node.input(1), a[1], node.input(2), a[2], node.input(3), node.input(4)});
}

static Value quantised(Node &node, Value x, Value scale, Value zero, Type type) {
  if (!x || !scale)
    return {};
  return applyComposite(node.builder, "quantize", {x, scale, zero},
                        Attributes(node.builder.context(), node.attribute("to", TypeAttr::get(type))))[0];
}

/// in: a, a scale, a zero, b, b scale, b zero, c (i32), y scale, y zero. Without a scale of y the result is of floats.
Results importQGemm(Node &node) {
  if (!node.hasInputs(6) || rankOf(node.input(0)) != 2 || rankOf(node.input(3)) != 2)
    return node.fail("expected two matrices with scales and zero points");
  Builder &b = node.builder;
  auto operand = [&](size_t index, StringRef name) {
    return node.attributes.getInt(name) ? b.transpose(node.input(index), {1, 0}) : node.input(index);
  };
  Value sum = applyComposite(b, "matmul_integer",
                             {operand(0, "transA"), operand(3, "transB"), node.input(2), node.input(5)})[0];
  if (sum && node.input(6))
    sum = graph::add(b, sum, node.input(6));
  if (!sum)
    return {};
  Value scale = graph::mul(b, node.input(1), node.input(4));
  Value real = graph::mul(b, b.cast(sum, b.f32()), scale);
  double alpha = node.attributes.getFloat("alpha", 1);
  real = real && alpha != 1 ? graph::mul(b, real, b.scalar(alpha, b.f32())) : real;
  return {node.input(7) ? quantised(node, real, node.input(7), node.input(8), graph::elementTypeOf(node.input(0)))
                        : real};
}

//===----------------------------------------------------------------------===//
// Dequantise, compute, quantise
//===----------------------------------------------------------------------===//

/// The real numbers of inputs `first` (numbers), first + 1 (scale), first + 2 (zero point).
static Value dequantised(Node &node, size_t first) {
  if (!node.input(first) || !node.input(first + 1))
    return {};
  return applyComposite(node.builder, "dequantize",
                        {node.input(first), node.input(first + 1), node.input(first + 2)})[0];
}

/// `real` quantised by inputs `scale` and scale + 1 (zero point), in the element type of input `like`.
static Results quantisedAs(Node &node, Value real, size_t scale, size_t like) {
  return {real ? quantised(node, real, node.input(scale), node.input(scale + 1), graph::elementTypeOf(node.input(like)))
               : Value()};
}

Results importQLinearAdd(Node &node) {
  return quantisedAs(node, graph::add(node.builder, dequantised(node, 0), dequantised(node, 3)), 6, 0);
}
Results importQLinearMul(Node &node) {
  return quantisedAs(node, graph::mul(node.builder, dequantised(node, 0), dequantised(node, 3)), 6, 0);
}

/// A composite of the first input, with this node's attributes.
static Results quantisedUnary(Node &node, StringRef composite, ArrayRef<NamedAttribute> changes = {}) {
  Value x = dequantised(node, 0);
  return x ? quantisedAs(node, node.composite(composite, x, changes)[0], 3, 0) : Results();
}
Results importQLinearSigmoid(Node &node) { return quantisedUnary(node, "sigmoid"); }
Results importQLinearLeakyRelu(Node &node) { return quantisedUnary(node, "leaky_relu"); }
Results importQLinearReduceMean(Node &node) { return quantisedUnary(node, "reduce_mean"); }

/// Before operator set 13, over all dimensions from `axis` on.
Results importQLinearSoftmax(Node &node) {
  Value x = dequantised(node, 0);
  if (!x)
    return {};
  int64_t rank = rankOf(x), axis = normalAxis(node.builder, node.attributes.getInt("axis", -1), rank);
  if (axis < 0)
    return {};
  Shape shape = shapeOf(x), flat(shape.begin(), shape.begin() + axis);
  bool isFlat = node.attributes.getInt("opset", 13) < 13;
  flat.push_back(elementCount(ArrayRef(shape).drop_front(axis)));
  Value result = graph::softmax(node.builder, isFlat ? node.builder.reshape(x, flat) : x, axis, false);
  return quantisedAs(node, isFlat ? node.builder.reshape(result, shape) : result, 3, 0);
}

/// A pool of a tensor whose channels may be last.
static Results quantisedPool(Node &node, StringRef composite) {
  Value x = dequantised(node, 0);
  if (!x || rankOf(x) < 3)
    return {};
  if (!node.attributes.getInt("channels_last"))
    return quantisedAs(node, node.composite(composite, x)[0], 3, 0);
  int64_t last = rankOf(x) - 1;
  Value result = node.composite(composite, moveAxis(node.builder, x, last, 1))[0];
  return quantisedAs(node, moveAxis(node.builder, result, 1, last), 3, 0);
}
Results importQLinearAveragePool(Node &node) { return quantisedPool(node, "average_pool"); }
Results importQLinearGlobalAveragePool(Node &node) { return quantisedPool(node, "global_average_pool"); }

/// in: y scale, y zero point, then a tensor, its scale and its zero point, each.
Results importQLinearConcat(Node &node) {
  if (!node.hasInputs(5) || node.inputs.size() % 3 != 2)
    return node.fail("expected a scale and a zero point, then three inputs per tensor");
  SmallVector<Value> parts;
  for (size_t first = 2; first < node.inputs.size(); first += 3)
    parts.push_back(dequantised(node, first));
  if (llvm::is_contained(parts, Value()))
    return {};
  return quantisedAs(node, node.composite("concat", parts)[0], 0, 2);
}

/// in: condition, then x, y, each with scale and zero point, then the result's.
Results importQLinearWhere(Node &node) {
  if (!node.input(0))
    return {};
  return quantisedAs(node, graph::where(node.builder, node.input(0), dequantised(node, 1), dequantised(node, 4)), 7, 1);
}
} // namespace perpend::onnx
