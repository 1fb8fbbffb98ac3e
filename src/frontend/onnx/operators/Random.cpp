//===- Random.cpp - ONNX operators with random values ---------------------===//
//
// The stream of a node depends on its seed, or otherwise on the name of its
// first output, which is unique in the graph.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static NamedAttribute seedOf(Node &node) {
  Attribute given = node.attributes.get("seed");
  uint64_t seed = 0;
  if (auto integer = dyn_cast_or_null<IntegerAttr>(given))
    seed = integer.getValue().getZExtValue();
  else if (given)
    seed = llvm::bit_cast<uint64_t>(node.attributes.getFloat("seed"));
  else if (!node.proto.outputs.empty())
    seed = llvm::xxh3_64bits(node.proto.outputs.front());
  return node.attribute("seed", node.builder.operations.getI64IntegerAttr(static_cast<int64_t>(seed)));
}

static Results fill(Node &node, StringRef composite, const Shape &shape, Type otherwise) {
  Type type = typeAttribute(node, "dtype", otherwise);
  if (!type)
    return {};
  return node.composite(composite, {},
                        {node.attribute("shape", shape), node.attribute("type", TypeAttr::get(type)), seedOf(node)});
}

static Results fillShape(Node &node, StringRef composite) {
  SmallVector<int64_t> extents = node.attributes.getInts("shape");
  if (!node.attributes.has("shape") || llvm::any_of(extents, [](int64_t extent) { return extent < 0; }))
    return node.fail("expected the attribute shape, of extents that are not negative");
  return fill(node, composite, Shape(extents.begin(), extents.end()), node.builder.f32());
}

static Results fillLike(Node &node, StringRef composite) {
  return node.hasInputs(1) ? fill(node, composite, shapeOf(node.input(0)), graph::elementTypeOf(node.input(0)))
                           : Results();
}

Results importRandomNormal(Node &node) { return fillShape(node, "random_normal"); }
Results importRandomNormalLike(Node &node) { return fillLike(node, "random_normal"); }
Results importRandomUniform(Node &node) { return fillShape(node, "random_uniform"); }
Results importRandomUniformLike(Node &node) { return fillLike(node, "random_uniform"); }

Results importBernoulli(Node &node) {
  Type type = node.hasInputs(1) ? typeAttribute(node, "dtype", graph::elementTypeOf(node.input(0))) : Type();
  return type ? node.composite("bernoulli", node.inputs, {node.attribute("type", TypeAttr::get(type)), seedOf(node)})
              : Results();
}

Results importMultinomial(Node &node) {
  Type type = typeAttribute(node, "dtype", node.builder.operations.getI32Type());
  return type ? node.composite("multinomial", node.inputs, {node.attribute("type", TypeAttr::get(type)), seedOf(node)})
              : Results();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

Results importDropout(Node &node) { return node.composite("dropout", node.inputs, seedOf(node)); }

/// Operator sets 10 and 11 have no training.
Results importDropout10(Node &node) { return node.composite("dropout", node.input(0)); }

/// The mask has the type of the input.
static Results withNumericMask(Node &node, Results results) {
  if (results.size() == 2)
    results[1] = node.builder.cast(results[1], graph::elementTypeOf(node.input(0)));
  return results;
}

Results importDropout7(Node &node) {
  return node.hasInputs(1) ? withNumericMask(node, node.composite("dropout", node.input(0))) : Results();
}

/// Before operator set 7: training unless `is_test`.
Results importDropout1(Node &node) {
  if (node.attributes.getInt("is_test"))
    return importDropout7(node);
  Builder &b = node.builder;
  if (!node.hasInputs(1))
    return {};
  Value ratio = b.scalar(node.attributes.getFloat("ratio", 0.5), b.f32());
  Value training = b.scalar(1, b.operations.getI1Type());
  return withNumericMask(node, node.composite("dropout", {node.input(0), ratio, training}, seedOf(node)));
}
} // namespace perpend::onnx
