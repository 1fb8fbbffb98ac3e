//===- Ranks.cpp - checks ranks of a node's inputs ------------------------===//

#include "frontend/onnx/Ranks.h"

using namespace mlir;

namespace perpend::onnx {

bool hasRanks(const Node &node, ArrayRef<InputRank> ranks) {
  for (auto [index, rank] : ranks) {
    Value value = node.input(index);
    if (!value || graph::tensorTypeOf(value).getRank() == rank)
      continue;
    node.builder.contradict("input " + Twine(index) + ": expected a tensor of rank " + Twine(rank) + ", got shape " +
                            graph::toString(graph::shapeOf(value)) +
                            "\nhint: correct the shape at this node, with a Reshape for example");
    return false;
  }
  return true;
}
} // namespace perpend::onnx
