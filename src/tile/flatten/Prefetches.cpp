//===- Prefetches.cpp - prefetches rows of memory -------------------------===//
//
// A row is the contiguous elements that one iteration reads or writes. The hardware prefetcher detects a row only
// after its first accesses, and stops at the end of a page; if rows are as long as a page, each starts with a miss. So
// a loop with prefetchAnnotation prefetches the rows of a later iteration. Prefetching beyond the last row is
// harmless. If an intrinsic reads the same rows in every iteration of an inner loop, the prefetch of the later rows is
// divided among its calls.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/cost/KernelCost.h"
#include "tile/flatten/Flattener.h"
#include "tile/ir/Levels.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// The elements that an access touches in one iteration of `loop`, for a later iteration of `annotated` (the same loop,
/// or one around it), and their distance between iterations of `annotated`.
std::optional<Flattener::Rows> Flattener::rowsOf(const Access &access, ForOp loop, ForOp annotated) {
  std::optional<IndexBounds> row = boundsOf(positionOf(access), indices.rangesAround(access.op, loop));
  auto isInside = [&](Value inner) { return annotated->isProperAncestor(inner.getParentBlock()->getParentOp()); };
  auto isKnown = [&](Value value) { return !isInside(value) || isa<BlockArgument>(value); };
  if (!isa<BlockArgument>(access.buffer()) || !row || indices.names.anyValue(row->low, std::not_fn(isKnown)))
    return std::nullopt; // the index is loaded in the loop
  std::string name = indices.names.nameOf(annotated.variable());
  auto firstIn = [&](const SymbolicInt &iteration) {
    llvm::StringMap<SymbolicInt> at;
    at[name] = iteration;
    return row->low.substitute(at);
  };
  SymbolicInt length = row->high - row->low + SymbolicInt(1);
  if (usesIndices(length, indices.names))
    return std::nullopt;
  int64_t ahead = cast<IntegerAttr>(annotated.getAnnotations().get(prefetchAnnotation)).getValue().getSExtValue();
  return Rows{access, firstIn(indices.names.symbol(annotated.variable()) + SymbolicInt(ahead)), length,
              firstIn(1) - firstIn(0)};
}

void Flattener::emitPrefetches(OpBuilder &builder, ForOp loop) {
  inParts.clear();
  if (!loop.getAnnotations().contains(prefetchAnnotation))
    return;
  llvm::DenseSet<Value> done;
  for (const Access &access : accessesIn(loop)) {
    std::optional<Rows> rows = done.contains(access.buffer()) ? std::nullopt : rowsOf(access, loop, loop);
    if (!rows || rows->step != rows->length)
      continue; // rows are not contiguous
    done.insert(access.buffer());
    auto inner = access.op->getParentOfType<ForOp>();
    while (inner != loop && inner->getParentOfType<ForOp>() != loop)
      inner = inner->getParentOfType<ForOp>();
    auto block = access.op->getParentOfType<BlockOp>()->getParentOfType<BlockOp>();
    bool isIntrinsic = block && !intrinsicOf(block).empty();
    if (isIntrinsic && block->getParentOfType<ForOp>() == loop)
      inParts[access.buffer()] = {ForOp(), *rows}; // a single call prefetches all
    else if (isIntrinsic && inner->isProperAncestor(block) &&
             indices.along(positionOf(access), inner, access.op).isUniform())
      inParts[access.buffer()] = {inner, *rows};
    else
      emitPrefetch(builder, *rows);
  }
}

void Flattener::emitPrefetch(OpBuilder &builder, const Rows &rows) {
  unsigned bits = cast<BufferType>(rows.access.buffer().getType()).getElementType().getIntOrFloatBitWidth();
  Value first = value(builder, rows.first);
  auto lines = builder.create<scf::ForOp>(loc, emitter.constant(0), value(builder, rows.length),
                                          emitter.constant(lineBytes * 8 / std::max(8U, bits)));
  OpBuilder inner = OpBuilder::atBlockBegin(lines.getBody());
  Value position = inner.create<arith::AddIOp>(loc, first, lines.getInductionVar());
  inner.create<memref::PrefetchOp>(loc, memoryOf(rows.access.buffer()), position, rows.access.isStore(),
                                   /*localityHint=*/3, /*isDataCache=*/true);
}

void Flattener::emitPrefetchesOfRow(OpBuilder &builder, ForOp loop) {
  ForOp around = loop->getParentOfType<ForOp>();
  while (around && !around.getAnnotations().contains(prefetchAnnotation))
    around = around->getParentOfType<ForOp>();
  if (!around || around == loopOfUnits(kernel))
    return;
  llvm::DenseSet<Value> done;
  for (const Access &access : accessesIn(loop)) {
    auto inside = loop->getParentOfType<ForOp>();
    bool isRow = !done.contains(access.buffer()) && indices.along(positionOf(access), loop, access.op).isContiguous();
    std::optional<Rows> row = isRow ? rowsOf(access, inside, around) : std::nullopt;
    if (row && row->step != SymbolicInt(0) && done.insert(access.buffer()).second)
      emitPrefetch(builder, *row);
  }
}

std::optional<AskedAhead> Flattener::askedAhead(OpBuilder &builder, Value buffer, BlockOp block) {
  auto found = inParts.find(buffer);
  if (found == inParts.end())
    return std::nullopt;
  auto [loop, rows] = found->second;
  if (!loop)
    return AskedAhead{value(builder, rows.first), 1};
  if (!loop->isProperAncestor(block))
    return std::nullopt;
  SymbolicInt parts = indices.extentOf(loop), position = indices.names.symbol(loop.variable());
  return AskedAhead{value(builder, rows.first + position * ceilDiv(rows.length, parts)), estimate(parts)};
}
