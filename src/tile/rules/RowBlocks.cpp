//===- RowBlocks.cpp - the rule for chains of rows with products ----------===//
//
// For chains of reductions over rows (graph/Rows.h) that contain products with operands in panels, such as attention.
//
//   %h, %i, %j, %k = get_loops %product_1
//   %b, %i0, %i1 = split %i, [_, 4, 8]       a block of rows; within it, register tiles
//   %j0, %j1 = split %j, [_, 32]             panels
//   reorder %h, %b, %j0, %i0, %i1, %j1, %k
//   %u = fuse %h, %b
//   compute_at %quotients, %u                the rows that the product reads; then their operands, row by row
//   %v, %r, %c = get_loops %quotients
//   compute_at %exponentials, %r
//   compute_at %product, %u                  tiled like %product_1
//   storage_align %product, 0, -2, 32, 0     makes the buffer large enough for whole panels
//   tensorize %i1, "f32.block"
//   parallel %u
//
// So the rows of a block (scores and what is computed from them) stay in a thread's own caches, while the right
// operands are read again for each block.
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Product.h"

#include "tile/kernel/Buffers.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Rows of a block if their length is unknown; and the most rows.
static constexpr int64_t usualRows = 32, mostRows = 64;

namespace {
class RowBlocksRule : RuleBody {
public:
  using RuleBody::RuleBody;

  bool find();
  LogicalResult run();

private:
  /// Rows of a register tile, if the block has this many.
  int64_t rowsAtOnce(const Product &product, SymbolicInt rows) const {
    Shape domain(product.block.getDomain().values());
    return product.rowsOfTile({rows, domain[domain.size() - 2], domain.back()}, target);
  }
  const Product *productOf(BlockOp block) const;
  bool isReadByProduct(BlockOp block) const;
  int64_t chooseRows();
  LogicalResult copyPartOfPanel();
  LogicalResult divideRoot();
  LogicalResult placeBlocks();
  LogicalResult divide(const Product &product);
  LogicalResult tensorize(const Product &product, unsigned row);

  SmallVector<BlockOp> blocks;
  SmallVector<Product> products;
  unsigned rowDims = 0;
  int64_t rows = 0; ///< rows of a block
  Loop unit{0};
  /// The loop of the nest that computes row by row, if there is one.
  std::optional<Loop> anchor;
};
} // namespace

bool RowBlocksRule::find() {
  blocks = blocksOf(kernel);
  for (BlockOp block : blocks)
    if (std::optional<Product> product = asProduct(block)) {
      std::string why;
      products.push_back(*product);
      rowDims = singleStoreOf(block, why)->iterators.size() - 1;
    }
  return !products.empty() && blocks.size() > products.size() + 1;
}

const Product *RowBlocksRule::productOf(BlockOp block) const {
  auto found = llvm::find_if(products, [&](const Product &product) { return product.block == block; });
  return found == products.end() ? nullptr : found;
}

bool RowBlocksRule::isReadByProduct(BlockOp block) const {
  auto written = buffersOf(block, /*isWritten=*/true);
  return llvm::any_of(products, [&](const Product &product) {
    return product.block != block && llvm::is_contained(buffersOf(product.block, /*isWritten=*/false), written[0]);
  });
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Values kept per block take half of a thread's own caches; rows are distributed evenly over the blocks.
int64_t RowBlocksRule::chooseRows() {
  int64_t rowBytes = 0;
  kernel.walk([&](AllocOp alloc) {
    BufferType type = alloc.getBuffer().getType();
    if (type.rank() > rowDims)
      rowBytes += elementBytes(type.getElementType()) * type.extents().back().constant().value_or(0);
  });
  int64_t fitting = rowBytes ? static_cast<int64_t>(target.ownCacheBytes()) / 2 / rowBytes : usualRows;
  int64_t inRegisters = rowsAtOnce(products.front(), SymbolicInt::symbol("rows"));
  int64_t most = std::max(inRegisters, std::min(fitting, mostRows) / inRegisters * inRegisters);
  std::optional<int64_t> count = products.front().block.getDomain().values()[rowDims - 1].constant();
  if (!count || *count == 0)
    return most;
  int64_t even = llvm::divideCeil(*count, llvm::divideCeil(*count, most));
  return *count > inRegisters ? llvm::alignTo(even, inRegisters) : *count;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A partial panel is not written whole, so the final result becomes a copy.
LogicalResult RowBlocksRule::copyPartOfPanel() {
  const Product *last = productOf(blocks.back());
  if (!last)
    return success();
  SymbolicInt columns = last->block.getDomain().values()[rowDims];
  if (support::mod(columns, SymbolicInt(last->columnsOfPanel)) == SymbolicInt(0))
    return success();
  FailureOr<Block> handle = schedule.getBlock(last->block.getName());
  FailureOr<Block> copy = schedule.cacheWrite(*handle, "local");
  if (failed(copy))
    return failure();
  blocks.push_back(schedule.operation(*copy));
  return success();
}

/// Divides the root into units: blocks of rows.
LogicalResult RowBlocksRule::divideRoot() {
  FailureOr<Block> root = schedule.getBlock(blocks.back().getName());
  Loops loops = *schedule.getLoops(*root), units;
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(blocks.back());
  unsigned next = 0;
  for (unsigned dim = 0; dim < rowDims; ++dim) {
    if (next == loops.size() || bindings[dim] != indices.names.symbol(schedule.operation(loops[next]).variable()))
      continue;
    if (dim + 1 < rowDims) {
      units.push_back(loops[next++]);
      continue;
    }
    auto parts = schedule.split(loops[next], {std::nullopt, rows});
    if (failed(parts))
      return failure();
    units.push_back((*parts)[0]);
    anchor = (*parts)[1];
  }
  FailureOr<Loop> fused = units.empty() ? schedule.addUnitLoop(*root) : schedule.fuse(units);
  if (failed(fused))
    return failure();
  unit = *fused;
  return success();
}

/// Operands and results of products are computed for the whole block of rows; everything else row by row where it is
/// read.
LogicalResult RowBlocksRule::placeBlocks() {
  if (productOf(blocks.back()))
    anchor.reset();
  for (BlockOp block : llvm::drop_begin(llvm::reverse(blocks))) {
    FailureOr<Block> handle = schedule.getBlock(block.getName());
    bool isWhole = productOf(block) || isReadByProduct(block) || !anchor;
    if (!isWhole && succeeded(schedule.computeAt(*handle, *anchor)))
      continue;
    if (failed(schedule.computeAt(*handle, unit)))
      return failure();
    if (productOf(block))
      continue;
    Loops loops = *schedule.getLoops(*handle);
    anchor = rows > 1 && loops.size() > 1 ? std::optional(loops[1]) : std::nullopt;
  }
  return success();
}

/// Divides a product into panels, then register tiles.
LogicalResult RowBlocksRule::divide(const Product &product) {
  FailureOr<Block> handle = schedule.getBlock(product.block.getName());
  Loops loops = *schedule.getLoops(*handle), order;
  bool hasRows = rows > 1;
  if (loops.size() != 3u + hasRows)
    return success(); // a single column, or a depth of 1
  SymbolicInt columns = product.block.getDomain().values()[rowDims];
  if (productOf(blocks.back()) != &product && columns.constant().value_or(1) % product.columnsOfPanel != 0 &&
      failed(schedule.storageAlign(*handle, 0, -2, product.columnsOfPanel, 0)))
    return failure();
  auto panels = schedule.split(loops[1 + hasRows], {std::nullopt, product.columnsOfPanel});
  if (failed(panels))
    return failure();
  order.push_back((*panels)[0]);
  if (hasRows) {
    int64_t together = rowsAtOnce(product, SymbolicInt(rows));
    while (rows % together != 0) // the rows of a block suit the first product
      --together;
    auto parts = schedule.split(loops[1], {std::nullopt, together});
    if (failed(parts))
      return failure();
    llvm::append_range(order, *parts);
  }
  order.append({(*panels)[1], loops.back()});
  if (failed(schedule.reorder(order)))
    return failure();
  return tensorize(product, 2 + hasRows);
}

/// `row` is the number of loops around its nest.
LogicalResult RowBlocksRule::tensorize(const Product &product, unsigned row) {
  FailureOr<Block> handle = schedule.getBlock(product.block.getName());
  return failed(handle) ? failure() : chooseIntrinsic(schedule, *handle, row, target);
}

LogicalResult RowBlocksRule::run() {
  rows = chooseRows();
  if (failed(copyPartOfPanel()) || failed(divideRoot()) || failed(placeBlocks()) || failed(schedule.parallel(unit)))
    return failure();
  return success(llvm::all_of(products, [&](const Product &product) { return succeeded(divide(product)); }));
}

static bool hasProducts(func::FuncOp kernel, const target::Machine &target, std::string &) {
  KernelSchedule none(kernel);
  return RowBlocksRule(none, kernel, target).find();
}

static LogicalResult scheduleRowBlocks(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  RowBlocksRule rule(schedule, kernel, target);
  return success(rule.find() && succeeded(rule.run()));
}

const Rule perpend::tile::rowBlocksRule = {"row-blocks", hasProducts, scheduleRowBlocks};
