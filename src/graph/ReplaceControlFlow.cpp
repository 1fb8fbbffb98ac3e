//===- ReplaceControlFlow.cpp - what replaces loops and branches ----------===//
#include "graph/ReplaceControlFlow.h"
#include "graph/Graph.h"
#include "graph/Requirements.h"
#include "graph/builder/Builder.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static SymbolicInt symbolOf(StringAttr name) { return SymbolicInt::symbol(name.getValue()); }

llvm::StringMap<SymbolicInt> perpend::graph::matchExtents(ArrayRef<StringAttr> symbols, TypeRange pattern,
                                                          TypeRange types) {
  llvm::StringMap<SymbolicInt> extents;
  for (auto [wanted, given] : llvm::zip(pattern, types))
    for (auto [symbol, extent] :
         llvm::zip(shapeOf(cast<RankedTensorType>(wanted)), shapeOf(cast<RankedTensorType>(given))))
      for (StringAttr name : symbols)
        if (symbol == symbolOf(name))
          extents.try_emplace(name.getValue(), extent);
  return extents;
}

void perpend::graph::measureAll(RewriterBase &rewriter, Location loc, const llvm::StringMap<SymbolicInt> &extents,
                                ArrayRef<StringAttr> symbols) {
  GraphBuilder builder(rewriter, loc);
  for (StringAttr name : symbols)
    if (auto extent = extents.find(name.getValue()); extent != extents.end())
      rewriter.create<MeasureOp>(loc, builder.dims(extent->second, /*isScalar=*/true), name);
}

void perpend::graph::requireSameExtents(RewriterBase &rewriter, Location loc, TypeRange given, TypeRange expected,
                                        const llvm::StringMap<SymbolicInt> &extents, StringRef where) {
  Requirements requirements;
  for (auto [from, to] : llvm::zip(given, expected))
    for (auto [extent, wanted] : llvm::zip(shapeOf(cast<RankedTensorType>(from)), shapeOf(cast<RankedTensorType>(to))))
      requirements.addEqual(extent, wanted.substitute(extents));
  for (const SymbolicInt &value : requirements.list)
    rewriter.create<RequireOp>(loc, ShapeAttr::get(rewriter.getContext(), value),
                               ("the sizes do not fit " + where).str());
}

SmallVector<Value> perpend::graph::reshaped(RewriterBase &rewriter, Location loc, ValueRange values, TypeRange types) {
  SmallVector<Value> result;
  for (auto [value, type] : llvm::zip_equal(values, types))
    result.push_back(value.getType() == type ? value : rewriter.create<ReshapeOp>(loc, type, value).getResult());
  return result;
}
