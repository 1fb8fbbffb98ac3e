//===- Epilogues.cpp - what is done to each result of a sum ---------------===//
#include "target/quoin/compile/Epilogues.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

static unsigned usesOf(const Kernel &kernel, unsigned buffer) {
  unsigned uses = 0;
  for (const Nest &nest : kernel.nests) {
    uses += nest.store.buffer == buffer;
    uses += nest.rows && nest.rows->table == buffer;
    for (const Node &node : nest.nodes)
      uses += node.kind == Node::Load && node.access.buffer == buffer;
  }
  return uses;
}

using Loops = llvm::SmallVector<unsigned, 6>;

/// For each loop of `map`, the one of the reduction that goes over the same elements. nullopt: there is none for some.
static std::optional<Loops> loopsOf(const Nest &map, const ElementAccess &read, const Nest &reduction) {
  Loops loops;
  for (unsigned loop = 0; loop < map.loops.size(); ++loop)
    for (unsigned other = 0; other < reduction.loops.size(); ++other)
      if (read.strides[loop] != 0 && reduction.store.strides[other] == read.strides[loop] &&
          reduction.loops[other].extent == map.loops[loop].extent && !reduction.loops[other].isReduced &&
          !llvm::is_contained(loops, other)) {
        loops.push_back(other);
        break;
      }
  const auto spatial = llvm::count_if(reduction.loops, [](const NestLoop &loop) { return !loop.isReduced; });
  if (loops.size() != map.loops.size() || loops.size() != static_cast<size_t>(spatial))
    return std::nullopt;
  return loops;
}

/// The number of the node of `map` that reads what only the reduction writes, and only `map` reads.
static std::optional<unsigned> readOf(const Kernel &kernel, const Nest &reduction, const Nest &map) {
  const unsigned between = reduction.store.buffer;
  if (!reduction.combine || reduction.continues || reduction.sum || map.combine || map.rows ||
      between < kernel.arguments || usesOf(kernel, between) != 2 ||
      reduction.type != reduction.nodes[reduction.value].type)
    return std::nullopt;
  for (auto [number, node] : llvm::enumerate(map.nodes))
    if (node.kind == Node::Load && node.access.buffer == between && node.access.base == reduction.store.base)
      return static_cast<unsigned>(number);
  return std::nullopt;
}

static bool join(const Kernel &kernel, Nest &reduction, const Nest &map) {
  const std::optional<unsigned> read = readOf(kernel, reduction, map);
  const std::optional<Loops> loops = read ? loopsOf(map, map.nodes[*read].access, reduction) : std::nullopt;
  if (!loops)
    return false;
  auto moved = [&](const ElementAccess &access) {
    ElementAccess result{access.buffer, access.base, {}};
    result.strides.assign(reduction.loops.size(), 0);
    for (auto [loop, other] : llvm::enumerate(*loops))
      result.strides[other] = access.strides[loop];
    return result;
  };
  const auto sum = static_cast<unsigned>(reduction.nodes.size());
  auto numberOf = [&](unsigned node) { return sum + 1 + node; };
  reduction.nodes.emplace_back().kind = Node::Sum;
  reduction.nodes.back().type = reduction.type;
  for (auto [number, node] : llvm::enumerate(map.nodes)) {
    Node &copy = reduction.nodes.emplace_back(node);
    for (unsigned &operand : copy.operands)
      operand = operand == *read ? sum : numberOf(operand);
    if (number == *read)
      copy = Node(); // to which nobody refers
    else if (copy.kind == Node::Load)
      copy.access = moved(node.access);
  }
  reduction.sum = sum;
  reduction.result = map.value == *read ? sum : numberOf(map.value);
  reduction.store = moved(map.store);
  reduction.type = map.type;
  reduction.name += "+" + map.name;
  return true;
}

/// The load of a nest that stores each element as it lies, in a wider float type. Null: it does something else.
static const Node *copiedBy(const Nest &nest) {
  const Node &value = nest.nodes[nest.value];
  if (nest.combine || nest.sum || nest.rows || !nest.borders.empty() || value.kind != Node::Apply ||
      value.opcode != Opcode::cvt || value.type != nest.type)
    return nullptr;
  const Node &load = nest.nodes[value.operands[0]];
  const bool isWider = isFloat(load.type) && isFloat(value.type) && sizeOf(load.type) < sizeOf(value.type);
  return load.kind == Node::Load && isWider && load.access.strides == nest.store.strides ? &load : nullptr;
}

static void readOriginal(Nest &nest, unsigned copy, const Node &original, int64_t shift) {
  std::vector<Node> nodes;
  std::vector<unsigned> places;
  for (Node &node : nest.nodes) {
    for (unsigned &operand : node.operands)
      operand = places[operand];
    const bool isCopy = node.kind == Node::Load && node.access.buffer == copy;
    if (isCopy) {
      Node &load = nodes.emplace_back(node);
      load.type = original.type;
      load.access.buffer = original.access.buffer;
      load.access.base += shift;
      node = Node{Node::Apply, node.type, {}, 0, Opcode::cvt, {static_cast<unsigned>(nodes.size() - 1)}};
    }
    places.push_back(static_cast<unsigned>(nodes.size()));
    nodes.push_back(std::move(node));
  }
  nest.nodes = std::move(nodes);
  nest.value = places[nest.value];
  if (nest.sum) {
    nest.sum = places[*nest.sum];
    nest.result = places[nest.result];
  }
}

std::vector<Nest> withoutCopies(const Kernel &kernel, std::vector<Nest> nests) {
  auto storesTo = [&](unsigned buffer) {
    return llvm::count_if(nests, [&](const Nest &nest) { return nest.store.buffer == buffer; });
  };
  for (size_t at = 0; at < nests.size();) {
    const Nest copy = nests[at];
    const Node *original = copiedBy(copy);
    const unsigned buffer = copy.store.buffer;
    const bool isTable = llvm::any_of(nests, [&](const Nest &nest) { return nest.rows && nest.rows->table == buffer; });
    if (!original || isTable || buffer < kernel.arguments || storesTo(buffer) != 1 ||
        storesTo(original->access.buffer) != 0) {
      ++at;
      continue;
    }
    nests.erase(nests.begin() + static_cast<ptrdiff_t>(at));
    for (Nest &nest : nests)
      readOriginal(nest, buffer, *original, original->access.base - copy.store.base);
  }
  return nests;
}

std::vector<Nest> withEpilogues(Kernel kernel) {
  for (Nest &nest : kernel.nests)
    nest = withFewerNodes(std::move(nest));
  std::vector<Nest> nests;
  for (const Nest &nest : kernel.nests)
    if (nests.empty() || !join(kernel, nests.back(), nest))
      nests.push_back(nest);
  return nests;
}

} // namespace perpend::quoin
