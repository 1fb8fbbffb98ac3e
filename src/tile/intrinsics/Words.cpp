//===- Words.cpp - what the words of intrinsics can hold ------------------===//

#include "tile/intrinsics/Words.h"

#include "graph/ElementTypes.h"

#include <map>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

const Intrinsic::Step *perpend::tile::stepFor(const Intrinsic &intrinsic, int64_t lanes,
                                              const target::Machine &target) {
  auto fits = [&](const Intrinsic::Step &step) {
    return lanes % step.lanes() == 0 && missingFeatures(step.features, target).empty();
  };
  const Intrinsic::Step *step = llvm::find_if(intrinsic.steps, fits);
  return step == intrinsic.steps.end() ? nullptr : step;
}

bool perpend::tile::wordsHold(const Intrinsic &intrinsic, Type left, Type right) {
  return holdsAll(intrinsic.panels->left, left) && holdsAll(intrinsic.panels->right, right);
}

static bool hasWordsOf(const Intrinsic &intrinsic, Type sum) {
  return intrinsic.panels && intrinsic.panels->group > 1 && intrinsic.panels->sum == sum;
}

SmallVector<const Intrinsic *> perpend::tile::intrinsicsOfWords(Type sum, int64_t lanes,
                                                                const target::Machine &target) {
  SmallVector<const Intrinsic *> intrinsics;
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list())
    if (hasWordsOf(*intrinsic, sum) && intrinsic->missingOn(target).empty() && stepFor(*intrinsic, lanes, target))
      intrinsics.push_back(intrinsic.get());
  return intrinsics;
}

/// Considers all intrinsics: words of this machine may also hold what intrinsics of other machines multiply.
SmallVector<std::pair<Type, Type>> perpend::tile::betterFactors(Type left, Type right, Type sum, int64_t lanes,
                                                                const target::Machine &target) {
  SmallVector<const Intrinsic *> intrinsics = intrinsicsOfWords(sum, lanes, target);
  auto rankOf = [&](Type one, Type other) {
    int64_t most = 0;
    for (const Intrinsic *intrinsic : intrinsics)
      if (wordsHold(*intrinsic, one, other) || wordsHold(*intrinsic, other, one))
        most = std::max(most, intrinsic->panels->group);
    return std::pair(-most, graph::bitWidth(one) + graph::bitWidth(other));
  };
  auto own = rankOf(left, right);
  std::multimap<std::pair<int64_t, unsigned>, std::pair<Type, Type>> better;
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list()) {
    if (!hasWordsOf(*intrinsic, sum))
      continue;
    Type one = intrinsic->panels->left, other = intrinsic->panels->right;
    auto rank = rankOf(one, other);
    if (rank.first < 0 && rank < own)
      better.insert({{rank, {one, other}}, {rank, {other, one}}});
  }
  return llvm::to_vector(llvm::make_second_range(better));
}
