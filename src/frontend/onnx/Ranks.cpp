//===- Ranks.cpp - how many dimensions the inputs of a node have ----------===//

#include "frontend/onnx/Ranks.h"

using namespace mlir;

namespace perpend::onnx {

bool hasRanks(const Node &node, ArrayRef<InputRank> ranks) {
  for (auto [index, rank] : ranks) {
    Value value = node.input(index);
    if (!value || graph::tensorTypeOf(value).getRank() == rank)
      continue;
    node.fail("input " + Twine(index) + ": expected a tensor of rank " + Twine(rank) + ", got shape " +
              graph::toString(graph::shapeOf(value)));
    return false;
  }
  return true;
}
} // namespace perpend::onnx
