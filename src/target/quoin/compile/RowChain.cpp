//===- RowChain.cpp - kernels whose rows stay on a core -------------------===//
#include "target/quoin/compile/RowChain.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

namespace perpend::quoin {

static void forEachAccess(Nest &nest, llvm::function_ref<void(ElementAccess &)> visit) {
  visit(nest.store);
  for (Node &node : nest.nodes)
    if (node.kind == Node::Load)
      visit(node.access);
}

/// Whether the loops are those over rows, and then perhaps one along them, which a reduction has.
static bool hasRows(const Nest &nest, llvm::ArrayRef<NestLoop> rows, int64_t columns) {
  const bool hasColumns = nest.loops.size() == rows.size() + 1;
  if ((!hasColumns && nest.loops.size() != rows.size()) || nest.continues || nest.combine.has_value() > hasColumns)
    return false;
  for (auto [loop, row] : llvm::zip(nest.loops, rows))
    if (loop.extent != row.extent || loop.isReduced)
      return false;
  return !hasColumns ||
         (nest.loops.back().extent == columns && nest.loops.back().isReduced == nest.combine.has_value());
}

/// Whether what the nests keep is read where the same row was written.
static bool readsOwnRows(const RowChain &chain) {
  std::map<unsigned, const Nest *> writers;
  for (const Nest &nest : chain.nests) {
    for (const Node &node : nest.nodes) {
      if (node.kind != Node::Load)
        continue;
      auto writer = writers.find(node.access.buffer);
      if (writer == writers.end() && node.access.buffer >= chain.between)
        return false;
      if (writer != writers.end() && !(node.access == writer->second->store))
        return false;
    }
    if (!writers.try_emplace(nest.store.buffer, &nest).second)
      return false;
  }
  return true;
}

/// Whether it is a sum of products of two different operands, which the matrix unit may compute.
static bool isProduct(const Nest &nest) {
  const Node &value = nest.nodes[nest.value];
  if (nest.combine != Opcode::add || value.kind != Node::Apply || value.opcode != Opcode::mul)
    return false;
  auto loadBehind = [&](unsigned number) {
    while (nest.nodes[number].kind == Node::Apply && nest.nodes[number].opcode == Opcode::cvt &&
           isWidening(nest.nodes[nest.nodes[number].operands[0]].type, nest.nodes[number].type))
      number = nest.nodes[number].operands[0];
    return nest.nodes[number].kind == Node::Load ? &nest.nodes[number] : nullptr;
  };
  const Node *left = loadBehind(value.operands[0]), *right = loadBehind(value.operands[1]);
  return left && right && !(left->access == right->access);
}

/// Neighbouring loops over rows become one where all addresses go on evenly.
static void joinRows(RowChain &chain) {
  for (unsigned outer = 0; outer + 1 < chain.rows;) {
    bool isEven = true;
    for (Nest &nest : chain.nests)
      forEachAccess(nest, [&](ElementAccess &access) {
        isEven &= access.strides[outer] == access.strides[outer + 1] * nest.loops[outer + 1].extent;
      });
    if (!isEven) {
      ++outer;
      continue;
    }
    for (Nest &nest : chain.nests) {
      nest.loops[outer + 1].extent *= nest.loops[outer].extent;
      nest.loops.erase(nest.loops.begin() + outer);
      forEachAccess(nest, [&](ElementAccess &access) { access.strides.erase(access.strides.begin() + outer); });
    }
    --chain.rows;
  }
}

std::optional<RowChain> rowChainOf(const Kernel &kernel) {
  auto reduction = llvm::find_if(kernel.nests, [](const Nest &nest) { return nest.combine.has_value(); });
  if (kernel.nests.size() < 2 || reduction == kernel.nests.end() || reduction->loops.size() < 2 ||
      !reduction->loops.back().isReduced)
    return std::nullopt;
  RowChain chain;
  chain.between = kernel.arguments;
  chain.rows = static_cast<unsigned>(reduction->loops.size() - 1);
  chain.columns = reduction->loops.back().extent;
  const llvm::ArrayRef<NestLoop> rows = llvm::ArrayRef(reduction->loops).drop_back();
  for (const Nest &nest : kernel.nests) {
    if (nest.rows || !hasRows(nest, rows, chain.columns) || isProduct(nest))
      return std::nullopt;
    Nest &copy = chain.nests.emplace_back(withFewerNodes(nest));
    copy.loops.resize(chain.rows + 1);
    forEachAccess(copy, [&](ElementAccess &access) { access.strides.resize(chain.rows + 1, 0); });
  }
  if (!readsOwnRows(chain))
    return std::nullopt;
  joinRows(chain);
  return chain;
}

std::vector<std::vector<RowChain>> divisionsOf(const RowChain &chain, llvm::ArrayRef<Spot> places, unsigned cores) {
  std::vector<std::vector<RowChain>> divisions;
  for (unsigned loop = 0; loop < chain.rows; ++loop) {
    int64_t step = 1;
    for (const Nest &nest : chain.nests)
      if (nest.store.buffer < chain.between && step)
        step = std::lcm(step, iterationsOfLines(nest, loop, places[nest.store.buffer]));
    const int64_t extent = chain.nests[0].loops[loop].extent;
    if (step == 0)
      continue;
    const auto length = static_cast<int64_t>(
        llvm::alignTo(llvm::divideCeil(static_cast<uint64_t>(extent), cores), static_cast<uint64_t>(step)));
    if (length >= extent)
      continue;
    std::vector<RowChain> &parts = divisions.emplace_back();
    for (int64_t begin = 0; begin < extent; begin += length) {
      parts.push_back(chain);
      for (Nest &nest : parts.back().nests)
        cut(nest, loop, begin, std::min(begin + length, extent));
    }
  }
  if (divisions.empty())
    divisions.push_back({chain});
  return divisions;
}

} // namespace perpend::quoin
