//===- Prefetches.cpp - memory that is asked for before it is touched -----===//
//
// The hardware finds a row's lines once the row has begun, and not beyond its page:
// of rows as long as a page, each begins with a wait. So a loop of units that says
// so (prefetchAnnotation) asks for the rows of a later iteration first. What is
// behind the last one is asked for as well; that does no harm.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

void Flattener::emitPrefetches(OpBuilder &builder, ForOp loop) {
  auto ahead = loop.getAnnotations().getAs<IntegerAttr>(prefetchAnnotation);
  if (!ahead)
    return;
  llvm::StringMap<SymbolicInt> later;
  later[indices.names.nameOf(loop.variable())] =
      indices.names.symbol(loop.variable()) + SymbolicInt(ahead.getValue().getSExtValue());
  llvm::DenseSet<Value> done;
  for (const Access &access : accessesIn(loop)) {
    std::optional<IndexBounds> row = boundsOf(positionOf(access), indices.rangesAround(access.op, loop));
    if (!isa<BlockArgument>(access.buffer()) || !row || done.contains(access.buffer()))
      continue;
    auto isInside = [&](Value inner) { return loop->isProperAncestor(inner.getParentBlock()->getParentOp()); };
    if (indices.names.anyValue(row->low, isInside))
      continue; // looked up there
    // Rows that lie one behind another.
    SymbolicInt length = row->high - row->low + SymbolicInt(1);
    if (indices.along(row->low, loop, loop).stride != length || usesIndices(length, indices.names))
      continue;
    done.insert(access.buffer());
    unsigned bits = cast<BufferType>(access.buffer().getType()).getElementType().getIntOrFloatBitWidth();
    Value first = value(builder, row->low.substitute(later));
    auto lines = builder.create<scf::ForOp>(loc, emitter.constant(0), value(builder, length),
                                            emitter.constant(lineBytes * 8 / std::max(8U, bits)));
    OpBuilder inner = OpBuilder::atBlockBegin(lines.getBody());
    Value position = inner.create<arith::AddIOp>(loc, first, lines.getInductionVar());
    inner.create<memref::PrefetchOp>(loc, memoryOf(access.buffer()), position, access.isStore(), /*localityHint=*/3,
                                     /*isDataCache=*/true);
  }
}
