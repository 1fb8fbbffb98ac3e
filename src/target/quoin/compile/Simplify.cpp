//===- Simplify.cpp - smaller nests that compute the same -----------------===//
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

namespace perpend::quoin {

static void dropUnusedNodes(Nest &nest) {
  std::vector<bool> isUsed(nest.nodes.size());
  isUsed[nest.value] = true;
  if (nest.sum)
    isUsed[*nest.sum] = isUsed[nest.result] = true;
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
    // Nodes of a sum and those behind it are not shared.
    const size_t first = nest.isAfterSum(static_cast<unsigned>(number)) ? places[*nest.sum] : 0;
    if (auto same = std::find_if(kept.begin() + static_cast<ptrdiff_t>(first), kept.end(), isSame);
        same != kept.end()) {
      places[number] = static_cast<unsigned>(same - kept.begin());
      continue;
    }
    places[number] = static_cast<unsigned>(kept.size());
    kept.push_back(node);
  }
  nest.value = places[nest.value];
  if (nest.sum) {
    nest.sum = places[*nest.sum];
    nest.result = places[nest.result];
  }
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
  auto hasBorder = [&](unsigned loop) {
    return llvm::any_of(nest.borders,
                        [&](const auto &border) { return border.loop == loop || border.reduced == loop; });
  };
  if (nest.loops[outer].isReduced != nest.loops[inner].isReduced || hasBorder(outer) || hasBorder(inner))
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
    for (auto &border : nest.borders) {
      border.loop -= border.loop > outer;
      border.reduced -= border.reduced > outer;
    }
    forEachAccess(nest, [&](ElementAccess &access) { access.strides.erase(access.strides.begin() + outer); });
    inner = 0;
  }
}

static bool isConversion(const Nest &nest, const Node &node) {
  return node.kind == Node::Apply && node.opcode == Opcode::cvt && isFloat(node.type) &&
         isFloat(nest.nodes[node.operands[0]].type);
}

static std::vector<unsigned> usersOf(const Nest &nest) {
  std::vector<unsigned> users(nest.nodes.size());
  ++users[nest.value];
  if (nest.sum)
    ++users[nest.result];
  for (const Node &node : nest.nodes)
    for (unsigned operand : node.operands)
      ++users[operand];
  return users;
}

/// Whether the result may be rounded where it is computed.
static bool mayNarrow(const Node &node, DType type) {
  return node.kind == Node::Apply && node.opcode != Opcode::cvt && isFloat(node.type) && node.operands.size() <= 2 &&
         sizeOf(type) < sizeOf(node.type);
}

/// The vector unit reads and writes floats of any bits, and computes in f32: an operand that was widened is read as it
/// was, and a result that is narrowed is written so.
static void foldConversions(Nest &nest) {
  const std::vector<unsigned> users = usersOf(nest);
  std::vector<unsigned> places(nest.nodes.size()); // what stands for a node
  for (unsigned number = 0; number < nest.nodes.size(); ++number) {
    Node &node = nest.nodes[number];
    places[number] = number;
    for (unsigned &operand : node.operands)
      operand = places[operand];
    if (isConversion(nest, node)) {
      Node &narrowed = nest.nodes[node.operands[0]];
      if (users[node.operands[0]] == 1 && mayNarrow(narrowed, node.type)) {
        narrowed.type = node.type;
        places[number] = node.operands[0];
      }
    } else if (node.kind == Node::Apply && node.operands.size() <= 2) {
      for (unsigned &operand : node.operands) {
        const Node &widened = nest.nodes[operand];
        if (isConversion(nest, widened) && sizeOf(nest.nodes[widened.operands[0]].type) < sizeOf(widened.type))
          operand = widened.operands[0];
      }
    }
  }
  nest.value = places[nest.value];
  if (nest.sum)
    nest.result = places[nest.result];
}

/// Processors that compute slowly with subnormal numbers have 0 in place of powers e^x that are subnormal. This machine
/// computes with those as fast as with others.
static void keepSubnormalPowers(Nest &nest) {
  const double least = std::log(std::numeric_limits<float>::min());
  for (Node &node : nest.nodes) {
    if (node.kind != Node::Apply || node.opcode != Opcode::sel)
      continue;
    const Node &test = nest.nodes[node.operands[0]], &zero = nest.nodes[node.operands[1]],
               &power = nest.nodes[node.operands[2]];
    if (test.kind != Node::Apply || test.opcode != Opcode::clt || power.kind != Node::Apply ||
        power.opcode != Opcode::exp || power.operands[0] != test.operands[0] || power.type != node.type ||
        zero.kind != Node::Number || zero.number != 0)
      continue;
    constexpr double slack = 1e-3; // of a limit that was rounded
    if (const Node &limit = nest.nodes[test.operands[1]]; limit.kind != Node::Number || limit.number > least + slack)
      continue;
    node = Node(power);
  }
}

/// a * b + c is one instruction, which rounds the product, too.
static void joinProducts(Nest &nest) {
  const std::vector<unsigned> users = usersOf(nest);
  auto isNumber = [&](unsigned operand) { return nest.nodes[operand].kind == Node::Number; };
  for (Node &node : nest.nodes) {
    if (node.kind != Node::Apply || node.opcode != Opcode::add || !isFloat(node.type))
      continue;
    for (unsigned side : {0u, 1u}) {
      const unsigned product = node.operands[side], other = node.operands[1 - side];
      const Node &mul = nest.nodes[product];
      if (mul.kind != Node::Apply || mul.opcode != Opcode::mul || mul.type != DType::F32 || users[product] != 1 ||
          llvm::any_of(mul.operands, isNumber) ||
          (!isNumber(other) && nest.nodes[mul.operands[1]].type != nest.nodes[other].type))
        continue;
      node.opcode = Opcode::fma;
      node.operands = {mul.operands[0], mul.operands[1], other};
      break;
    }
  }
}

/// maximum(a + b, 0) is one instruction, which rounds once: what is rounded has the sign that it had before.
static void joinActivations(Nest &nest) {
  const std::vector<unsigned> users = usersOf(nest);
  for (Node &node : nest.nodes) {
    if (node.kind != Node::Apply || node.opcode != Opcode::max || !isFloat(node.type))
      continue;
    for (unsigned side : {0u, 1u}) {
      const Node &sum = nest.nodes[node.operands[side]], &zero = nest.nodes[node.operands[1 - side]];
      if (sum.kind != Node::Apply || sum.opcode != Opcode::add || users[node.operands[side]] != 1 ||
          (sum.type != node.type && sum.type != DType::F32) || zero.kind != Node::Number || zero.number != 0 ||
          std::signbit(zero.number))
        continue;
      const llvm::SmallVector<unsigned, 3> operands = sum.operands;
      node.opcode = Opcode::addrelu;
      node.operands = operands;
      break;
    }
  }
}

Nest withFewerNodes(Nest nest) {
  keepSubnormalPowers(nest);
  foldConversions(nest);
  joinProducts(nest);
  joinActivations(nest);
  dropUnusedNodes(nest);
  return nest;
}

Nest simplified(Nest nest) {
  nest = withFewerNodes(std::move(nest));
  joinLoops(nest);
  return nest;
}

} // namespace perpend::quoin
