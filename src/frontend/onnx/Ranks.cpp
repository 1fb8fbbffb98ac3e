//===- Ranks.cpp - the shapes that inputs of a node must have --------------===//

#include "frontend/onnx/Ranks.h"

using namespace mlir;

namespace perpend::onnx {

bool hasRanks(const Node &node, ArrayRef<InputRank> ranks) {
  for (auto [index, rank] : ranks) {
    Value value = node.input(index);
    if (!value || graph::tensorTypeOf(value).getRank() == rank)
      continue;
    node.fail("input " + Twine(index) + ": expected a tensor of rank " + Twine(rank) + ", got shape " +
              graph::toString(graph::shapeOf(value)) +
              "\nhint: correct the shape at this node, with a Reshape for example");
    return false;
  }
  return true;
}

void requireShape(Builder &b, Value x, const Twine &what, const Shape &expected) {
  if (!x)
    return;
  Shape shape = graph::shapeOf(x);
  std::string message =
      (what + ": expected shape " + graph::toString(expected) + ", got " + graph::toString(shape)).str();
  if (shape.size() != expected.size())
    b.fail(message + "\nhint: correct the shape at this node, with a Reshape for example");
  else
    for (auto [extent, wanted] : llvm::zip(shape, expected)) {
      b.require(extent - wanted, message);
      b.require(wanted - extent, message);
    }
}
} // namespace perpend::onnx
