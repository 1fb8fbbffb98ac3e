//===- Simplify.cpp - smaller nests that compute the same -----------------===//
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

static void dropUnusedNodes(Nest &nest) {
  std::vector<bool> isUsed(nest.nodes.size());
  isUsed[nest.value] = true;
  for (size_t number = nest.nodes.size(); number-- > 0;)
    if (isUsed[number])
      for (unsigned operand : nest.nodes[number].operands)
        isUsed[operand] = true;
  std::vector<unsigned> places(nest.nodes.size());
  std::vector<Node> kept;
  for (auto [number, node] : llvm::enumerate(nest.nodes)) {
    if (!isUsed[number])
      continue;
    for (unsigned &operand : node.operands)
      operand = places[operand];
    auto isSame = [&](const Node &other) {
      return node.kind == Node::Load && other.kind == Node::Load && node.access == other.access &&
             node.type == other.type;
    };
    if (auto same = llvm::find_if(kept, isSame); same != kept.end()) {
      places[number] = static_cast<unsigned>(same - kept.begin());
      continue;
    }
    places[number] = static_cast<unsigned>(kept.size());
    kept.push_back(node);
  }
  nest.value = places[nest.value];
  nest.nodes = std::move(kept);
}

static void forEachAccess(Nest &nest, llvm::function_ref<void(ElementAccess &)> visit) {
  visit(nest.store);
  for (Node &node : nest.nodes)
    if (node.kind == Node::Load)
      visit(node.access);
}

/// Whether loop `outer` goes on where `inner`, the next, ends.
static bool isOneLoop(Nest &nest, unsigned outer, unsigned inner) {
  if (nest.loops[outer].isReduced != nest.loops[inner].isReduced)
    return false;
  bool isEven = true;
  forEachAccess(nest, [&](ElementAccess &access) {
    isEven &= access.strides[outer] == access.strides[inner] * nest.loops[inner].extent;
  });
  return isEven;
}

static void joinLoops(Nest &nest) {
  for (unsigned inner = 0; inner < nest.loops.size();) {
    unsigned outer = 0;
    while (outer < nest.loops.size() && (outer == inner || !isOneLoop(nest, outer, inner)))
      ++outer;
    if (outer == nest.loops.size()) {
      ++inner;
      continue;
    }
    nest.loops[inner].extent *= nest.loops[outer].extent;
    nest.loops.erase(nest.loops.begin() + outer);
    forEachAccess(nest, [&](ElementAccess &access) { access.strides.erase(access.strides.begin() + outer); });
    inner = 0;
  }
}

Nest simplified(Nest nest) {
  dropUnusedNodes(nest);
  joinLoops(nest);
  return nest;
}

} // namespace perpend::quoin
