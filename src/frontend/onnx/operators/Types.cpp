//===- Types.cpp - ONNX operators that change the element type ------------===//
//
// Casts and quantisation: ONNX's data types become element types.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// Operator sets before 6 write data types as text.
static DataType dataTypeOf(Node &node, StringRef name) {
  StringRef text = node.attributes.getString(name);
  for (int32_t code = 1; !text.empty() && code <= static_cast<int32_t>(DataType::Float6E3M2); ++code)
    if (text.equals_insensitive(onnx::nameOf(static_cast<DataType>(code))))
      return static_cast<DataType>(code);
  return static_cast<DataType>(node.attributes.getInt(name));
}

Type typeAttribute(Node &node, StringRef name, Type otherwise) {
  DataType code = dataTypeOf(node, name);
  if (code == DataType::Undefined && otherwise)
    return otherwise;
  Type type = onnx::elementTypeOf(node.builder.context(), code);
  if (!type)
    node.builder.fail("elements of type " + onnx::nameOf(code) + " are not supported");
  return type;
}

/// Rounds its result, but not its operand: see GraphImporter.cpp.
static Value castOf(Node &node, Type type) {
  Value result = node.builder.cast(node.input(0), type, roundingOf(node.attributes));
  return result && result != node.input(0) ? node.builder.roundingCast(result, type) : result;
}

Results importCast(Node &node) {
  Type type = typeAttribute(node, "to");
  return {type && node.input(0) ? castOf(node, type) : Value()};
}

Results importCastLike(Node &node) {
  if (!node.input(0) || !node.input(1))
    return node.fail("expected 2 inputs");
  return {castOf(node, graph::elementTypeOf(node.input(1)))};
}

Results importBitCast(Node &node) {
  Type type = typeAttribute(node, "to");
  Type from = node.input(0) ? graph::elementTypeOf(node.input(0)) : Type();
  auto isNumber = [](Type type) { return type && !graph::isHandle(type); };
  auto width = [](Type type) { return type.isInteger(1) ? 8 : graph::bitWidth(type); };
  if (isNumber(from) && isNumber(type) && width(from) != width(type))
    return node.fail("expected a type of as many bits as " + graph::nameOf(from) + " has, got " + graph::nameOf(type) +
                     "\nhint: cast the numbers, or choose a type of the same width");
  return type ? node.composite("bit_cast", node.inputs, node.attribute("to", TypeAttr::get(type))) : Results();
}

/// If one of scale and zero point is a number and the other a vector of unknown length, both are numbers.
static void makeNumbers(Node &node) {
  Shape scale = shapeOf(node.input(1)), zero = shapeOf(node.input(2));
  if (scale.size() + zero.size() != 1)
    return;
  unsigned vector = scale.empty() ? 2 : 1;
  SymbolicInt count = (scale.empty() ? zero : scale).front(), one(1);
  if (count.isConstant())
    return;
  Builder &builder = node.builder;
  std::string message = "zero point: expected shape " + toString(scale) + ", got " + toString(zero);
  builder.require(count - one, message);
  builder.require(one - count, message);
  node.inputs[vector] = builder.reshape(builder.slice(node.input(vector), {SymbolicInt(0)}, {one}, {1}), {});
}

/// Scales, input 1, are one number, numbers along an axis or, with a block size, one per block; zero points have the
/// same shape.
static bool checkParameters(Node &node) {
  if (node.input(2))
    makeNumbers(node);
  Value scale = node.input(1), zero = node.input(2);
  int64_t block = node.attributes.getInt("block_size");
  Shape x = shapeOf(node.input(0)), shape = shapeOf(scale);
  auto isOne = [](const Shape &other) { return elementCount(other) == SymbolicInt(1); };
  if (block < 0)
    node.builder.fail("expected a block_size of 0 (no blocks) or more, got " + Twine(block));
  else if (block && shape.size() != x.size())
    node.builder.contradict("expected a scale for each block of " + Twine(block) + " elements of a tensor of shape " +
                            toString(x) + ", got shape " + toString(shape) +
                            "\nhint: leave out block_size, or give it all scales");
  else if (!block && shape.size() > 1 && !isOne(shape))
    node.builder.contradict("expected one scale or a vector of them, got shape " + toString(shape) +
                            "\nhint: scales of blocks need the attribute block_size");
  else if (zero && !(isOne(shape) && isOne(shapeOf(zero))))
    requireShape(node.builder, zero, "zero point", shape);
  return !node.builder.hasFailed();
}

/// The result has the type of the zero point, otherwise output_dtype, otherwise uint8. The division has the precision
/// of the scale unless `precision` is given.
Results importQuantizeLinear(Node &node) {
  if (!node.input(0) || !node.input(1))
    return node.fail("expected 2 or 3 inputs");
  if (!checkParameters(node))
    return {};
  Value scale = node.input(1), zeroPoint = node.input(2);
  Type unsignedByte = node.builder.operations.getIntegerType(8, /*isSigned=*/false);
  Type to = typeAttribute(node, "output_dtype", zeroPoint ? graph::elementTypeOf(zeroPoint) : unsignedByte);
  Type precision = typeAttribute(node, "precision", graph::elementTypeOf(scale));
  if (!to || !precision)
    return {};
  if (zeroPoint && graph::elementTypeOf(zeroPoint) != to)
    return node.fail("output_dtype is " + graph::nameOf(to) + ", the zero point has elements of type " +
                     graph::nameOf(graph::elementTypeOf(zeroPoint)) + "\nhint: they must be the same");
  return node.composite(
      "quantize", node.inputs,
      {node.attribute("to", TypeAttr::get(to)), node.attribute("precision", TypeAttr::get(precision))});
}

Results importDequantizeLinear(Node &node) {
  if (!node.input(0) || !node.input(1))
    return node.fail("expected 2 or 3 inputs");
  if (!checkParameters(node))
    return {};
  Type to = typeAttribute(node, "output_dtype", graph::elementTypeOf(node.input(1)));
  return to ? node.composite("dequantize", node.inputs, node.attribute("to", TypeAttr::get(to))) : Results();
}
} // namespace perpend::onnx
