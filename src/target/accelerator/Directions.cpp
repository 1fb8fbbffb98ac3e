//===- Directions.cpp - nests that read forwards --------------------------===//
#include "target/accelerator/Nest.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::accelerator {

/// A loop of fewer iterations becomes as many nests.
constexpr int64_t mostIterations = 16;

static void forEachAccess(Nest &nest, llvm::function_ref<void(Access &)> visit) {
  visit(nest.store);
  for (Node &node : nest.nodes)
    if (node.kind == Node::Load)
      visit(node.access);
}

static bool hasStride(Nest &nest, unsigned loop, llvm::function_ref<bool(int64_t)> isWanted) {
  bool has = false;
  forEachAccess(nest, [&](Access &access) { has |= isWanted(access.strides[loop]); });
  return has;
}

static Nest iterationOf(Nest nest, unsigned loop, int64_t iteration) {
  nest.continues |= nest.combine && nest.loops[loop].isReduced;
  nest.loops.erase(nest.loops.begin() + loop);
  forEachAccess(nest, [&](Access &access) {
    access.base += iteration * access.strides[loop];
    access.strides.erase(access.strides.begin() + loop);
  });
  return nest;
}

std::vector<Nest> forwards(Nest nest) {
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (!hasStride(nest, loop, [](int64_t stride) { return stride < 0; }))
      continue;
    const int64_t extent = nest.loops[loop].extent;
    if (!hasStride(nest, loop, [](int64_t stride) { return stride > 0; })) {
      forEachAccess(nest, [&](Access &access) {
        access.base += (extent - 1) * access.strides[loop];
        access.strides[loop] = -access.strides[loop];
      });
      continue;
    }
    if (extent > mostIterations)
      continue;
    std::vector<Nest> nests;
    for (int64_t iteration = 0; iteration < extent; ++iteration)
      llvm::append_range(nests, forwards(iterationOf(nest, loop, iteration)));
    return nests;
  }
  return {std::move(nest)};
}

} // namespace perpend::accelerator
