//===- Words.cpp - what the words of intrinsics can hold ------------------===//

#include "tile/intrinsics/Words.h"

#include "graph/ElementTypes.h"

#include <map>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

int64_t perpend::tile::wordsOfRow(const Intrinsic &intrinsic, const Intrinsic::Step &step) {
  constexpr unsigned operands = 4;
  func::FuncOp code = step.code;
  if (!intrinsic.panels || code.getNumArguments() != operands)
    return 0;
  auto row = dyn_cast<VectorType>(code.getArgumentTypes().front());
  return row ? row.getNumElements() / intrinsic.panels->group : 0;
}

static const Intrinsic::Step *findStep(const Intrinsic &intrinsic, const target::Machine &target,
                                       llvm::function_ref<bool(const Intrinsic::Step &)> fits) {
  const Intrinsic::Step *step = llvm::find_if(intrinsic.steps, [&](const Intrinsic::Step &each) {
    return fits(each) && missingFeatures(each.features, target).empty();
  });
  return step == intrinsic.steps.end() ? nullptr : step;
}

const Intrinsic::Step *perpend::tile::stepFor(const Intrinsic &intrinsic, int64_t lanes,
                                              const target::Machine &target) {
  return findStep(intrinsic, target, [&](const Intrinsic::Step &step) {
    return wordsOfRow(intrinsic, step) == 0 && !isOnMatrices(intrinsic, step) && !takesPairs(intrinsic, step) &&
           lanes % step.lanes() == 0;
  });
}

bool perpend::tile::takesPairs(const Intrinsic &intrinsic, const Intrinsic::Step &step) {
  func::FuncOp code = step.code;
  auto first = intrinsic.groups && intrinsic.groups->hasBytes() && code.getNumArguments() > 0
                   ? dyn_cast<VectorType>(code.getArgumentTypes().front())
                   : VectorType();
  return first && first.getElementType().isInteger(16);
}

const Intrinsic::Step *perpend::tile::pairStepFor(const Intrinsic &intrinsic, int64_t lanes,
                                                  const target::Machine &target) {
  return findStep(intrinsic, target, [&](const Intrinsic::Step &step) {
    return takesPairs(intrinsic, step) && lanes % step.lanes() == 0;
  });
}

bool perpend::tile::isOnMatrices(const Intrinsic &intrinsic, const Intrinsic::Step &step) {
  constexpr unsigned operands = 3;
  func::FuncOp code = step.code;
  auto columns = intrinsic.panels && code.getNumArguments() == operands
                     ? dyn_cast<VectorType>(code.getArgumentTypes()[1])
                     : VectorType();
  return columns && columns.getNumElements() * rowsOfStep == step.lanes() * intrinsic.panels->group;
}

const Intrinsic::Step *perpend::tile::matrixStepFor(const Intrinsic &intrinsic, const target::Machine &target) {
  return findStep(intrinsic, target, [&](const Intrinsic::Step &step) { return isOnMatrices(intrinsic, step); });
}

const Intrinsic::Step *perpend::tile::rowStepFor(const Intrinsic &intrinsic, int64_t lanes,
                                                 const target::Machine &target) {
  return findStep(intrinsic, target, [&](const Intrinsic::Step &step) {
    return wordsOfRow(intrinsic, step) > 0 && lanes == step.lanes();
  });
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
