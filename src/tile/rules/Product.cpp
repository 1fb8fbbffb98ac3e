//===- Product.cpp - products with an operand in panels -------------------===//

#include "tile/rules/Product.h"

#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

int64_t Product::rowsOfTile(const ProductExtents &extents, const target::Machine &target) const {
  Type sum = cast<BufferType>(buffersOf(block, /*isWritten=*/true).front().getType()).getElementType();
  return rowsOfBlock(intrinsicsFor(block, target), extents, columnsOfPanel, group, sum, target).rows;
}

/// The load of a factor, seen through an extension.
static LoadOp loadOf(Value factor) {
  Operation *op = factor.getDefiningOp();
  bool isExtended = isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op);
  return isExtended ? op->getOperand(0).getDefiningOp<LoadOp>() : dyn_cast_or_null<LoadOp>(op);
}

/// Whether an intrinsic multiplies words of so many elements.
static bool areWords(BlockOp block, int64_t elements) {
  return llvm::any_of(IntrinsicLibrary::of(block.getContext()).list(),
                      [&](const auto &one) { return one->panels && one->panels->group == elements; });
}

std::optional<Product> perpend::tile::asProduct(BlockOp block) {
  std::string why;
  std::optional<SingleStore> single = block.isReduction() ? singleStoreOf(block, why) : std::nullopt;
  std::optional<Combination> sum = single ? combinationOf(block, *single, why) : std::nullopt;
  Operation *product = sum ? sum->contribution().getDefiningOp() : nullptr;
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) || single->iterators.size() < 2)
    return std::nullopt;
  IndexNames names;
  auto uses = [&](LoadOp load, unsigned iterator, size_t first = 0) {
    std::set<std::string> used;
    Shape indices = names.read(load.getIndices(), load.getVariables());
    for (const SymbolicInt &index : ArrayRef(indices).drop_front(first))
      index.symbols(used);
    return used.count(names.nameOf(block.iterators()[iterator])) != 0;
  };
  LoadOp left = loadOf(product->getOperand(0)), right = loadOf(product->getOperand(1));
  unsigned column = single->iterators.back(), row = single->iterators[single->iterators.size() - 2];
  if (!left || !right || uses(left, column) || uses(right, row) || !uses(right, column))
    return std::nullopt;
  Shape extents = right.getBuffer().getType().extents();
  int64_t group = 1;
  if (std::optional<int64_t> last = extents.back().constant();
      last && extents.size() > 1 && !uses(right, column, extents.size() - 1) && areWords(block, *last)) {
    group = *last;
    extents.pop_back();
  }
  std::optional<int64_t> columns = extents.back().constant();
  return columns ? std::optional(Product{block, *columns, group}) : std::nullopt;
}
