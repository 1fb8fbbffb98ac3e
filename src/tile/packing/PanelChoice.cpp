//===- PanelChoice.cpp - chooses the intrinsic of a product ---------------===//

#include "tile/packing/PanelChoice.h"

#include "graph/ElementTypes.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/kernel/Buffers.h"
#include "tile/rules/Rules.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

SmallVector<int64_t> perpend::tile::panelSizes(const SymbolicInt &columns, int64_t lanes, int64_t least) {
  std::optional<int64_t> count = columns.constant();
  SmallVector<int64_t> sizes;
  if (count == 1)
    sizes.push_back(1);
  for (int64_t narrow = least; count && narrow < lanes; narrow *= 2)
    if (*count <= narrow)
      sizes.push_back(narrow);
  auto padded = [&](int64_t size) { return count ? llvm::alignTo(*count, size) * (size == lanes ? 17 : 16) : 0; };
  size_t first = sizes.size();
  for (int64_t size : {2 * lanes, 3 * lanes, 4 * lanes, lanes}) {
    auto isWorse = [&](int64_t other) { return padded(size) < padded(other); };
    sizes.insert(std::find_if(sizes.begin() + first, sizes.end(), isWorse), size);
  }
  return sizes;
}

/// Cycles for reading the packed operand, per product of two elements; they dominate with few rows.
static double cyclesOfReading(Type element, const ProductExtents &extents, const target::Machine &target) {
  std::optional<int64_t> rows = extents.rows.constant();
  if (!rows || *rows < 1 || target.cyclesPerSecond == 0)
    return 0;
  double bytes = double(graph::bitWidth(element)) / 8, elements = 1;
  for (const SymbolicInt &extent : {extents.depth, extents.columns})
    elements *= double(extent.constant().value_or(1));
  return bytes / double(*rows) * target.cyclesPerSecond / target.bytesPerSecondOf(bytes * elements);
}

/// Cycles, per product of two elements, of a kernel that pads the rows of a product of matrices, where words have more
/// elements than the depth is a multiple of. Rows that are converted for it are padded by the same kernel.
static double cyclesOfPadding(const PanelLayout &panels, const ProductExtents &extents, const target::Machine &target) {
  const std::optional<int64_t> depth = extents.depth.constant(), columns = extents.columns.constant();
  if (panels.left != panels.sum || extents.windows > 0 || !depth || *depth < 1 || *depth % panels.depth == 0 ||
      !columns || *columns < 1)
    return 0;
  constexpr double cyclesOfKernel = 500;
  const double accesses = 2.0 / double(target.vectorLanes(4)) / target.accessesPerCycle,
               rows = double(std::max<int64_t>(1, extents.rows.constant().value_or(1)));
  return (accesses + cyclesOfKernel / (rows * double(*depth))) / double(*columns);
}

static std::optional<PanelChoice> choiceOf(const Intrinsic &intrinsic, const ProductExtents &extents,
                                           const target::Machine &target) {
  const PanelLayout &panels = *intrinsic.panels;
  SmallVector<int64_t> sizes{panels.columns.constant().value_or(0)};
  if (!panels.columns.isConstant())
    sizes =
        panelSizes(extents.columns, target.vectorLanes(elementBytes(panels.sum)), intrinsic.sumsOfColumn() > 4 ? 2 : 4);
  for (int64_t size : sizes) {
    int64_t rows = rowsAtOnce(intrinsic, size, extents.rows.constant(), target);
    if (std::optional<PanelLayout::Fit> fit = panels.fit(intrinsic, extents, size, rows, target)) {
      const double cycles = fit->cyclesPerPoint + cyclesOfPadding(panels, extents, target);
      return PanelChoice{&intrinsic, size, cycles, std::max(cycles, cyclesOfReading(panels.right, extents, target))};
    }
  }
  return std::nullopt;
}

SmallVector<PanelChoice> perpend::tile::panelChoices(Type sum, const ProductExtents &extents,
                                                     const target::Machine &target, Type precision) {
  SmallVector<PanelChoice> choices;
  auto isBetter = [&](const PanelChoice &a, const PanelChoice &b) {
    auto key = [&](const PanelChoice &choice) {
      Type right = choice.panels().right;
      return std::tuple(right != precision, choice.cyclesPerPoint, right.getIntOrFloatBitWidth(),
                        choice.cyclesOfProducts);
    };
    return key(a) < key(b);
  };
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list())
    if (intrinsic->panels && intrinsic->panels->sum == sum && intrinsic->missingOn(target).empty())
      if (std::optional<PanelChoice> choice = choiceOf(*intrinsic, extents, target))
        choices.insert(llvm::upper_bound(choices, *choice, isBetter), *choice);
  return choices;
}
