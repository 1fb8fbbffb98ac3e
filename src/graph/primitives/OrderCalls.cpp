//===- OrderCalls.cpp - order.sort in place of the primitive sort ---------===//
//
// The library function order.sort (runtime/library) computes only the positions that a slice of the result keeps. The
// primitive stays in kernels for lexicographic keys, for element types without keys in the library, and for lines
// (slices along the sorted dimension) of a constant extent below 64 with keys of at most 32 bits, because a kernel can
// fuse the computation of the keys.
//
//===----------------------------------------------------------------------===//

#include "graph/LibraryCalls.h"
#include "graph/builder/Builder.h"

#include "graph/GraphLibraryInterface.cpp.inc"

using namespace mlir;
using namespace perpend::graph;

static constexpr int64_t shortLine = 64;

/// Whether order.sort has keys for elements of this type.
static bool hasKeys(Type type) {
  if (isa<FloatType>(type))
    return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
  return isa<IntegerType>(type) && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth());
}

bool perpend::graph::areShortLines(const SymbolicInt &extent, unsigned bits) {
  return extent.isConstant() && !extent.knownAtLeast(shortLine) && bits <= 32;
}

static bool isBetterInKernel(SortOp op) {
  Type type = tensorTypeOf(op.getInput()).getElementType();
  return op.getLexicographic() || !hasKeys(type) ||
         areShortLines(shapeOf(op.getInput())[op.getDim()], type.getIntOrFloatBitWidth());
}

/// The user that reads a part of the positions, if nothing else reads any, and where it begins.
static std::pair<SliceOp, SymbolicInt> onlySlice(SortOp op) {
  auto slice = op->hasOneUse() ? dyn_cast<SliceOp>(*op->user_begin()) : SliceOp();
  if (!slice)
    return {SliceOp(), SymbolicInt(0)};
  Shape all = shapeOf(op.getResult()), part = shapeOf(slice.getResult());
  for (auto [dim, start] : llvm::enumerate(slice.getStarts().values()))
    if (slice.getSteps()[dim] != 1 || (dim != op.getDim() && (start != SymbolicInt(0) || part[dim] != all[dim])))
      return {SliceOp(), SymbolicInt(0)};
  return {slice, slice.getStarts().values()[op.getDim()]};
}

/// As [before, line, behind].
static Shape asLines(ArrayRef<SymbolicInt> shape, unsigned dim) {
  return {elementCount(shape.take_front(dim)), shape[dim], elementCount(shape.drop_front(dim + 1))};
}

namespace {
struct SortCall : LibraryInterface::ExternalModel<SortCall, SortOp> {
  std::pair<Operation *, Value> placeCall(Operation *op, perpend::graph::Builder &b) const {
    auto sort = cast<SortOp>(op);
    if (isBetterInKernel(sort))
      return {};
    auto [slice, first] = onlySlice(sort);
    Operation *replaced = slice ? slice.getOperation() : op;
    Shape result = shapeOf(replaced->getResult(0));
    Value lines = b.reshape(sort.getInput(), asLines(shapeOf(sort.getInput()), sort.getDim()));
    NamedAttribute descending =
        b.operations.getNamedAttr("descending", b.operations.getI64IntegerAttr(sort.getDescending() ? 1 : 0));
    CallResult positions{asLines(result, sort.getDim()), b.i64()};
    return {replaced, b.reshape(b.callLibrary("order.sort", {lines, b.dims(first)}, positions, descending)[0], result)};
  }
};
} // namespace

void perpend::graph::attachLibraryCalls(MLIRContext *context) {
  SortOp::attachInterface<SortCall>(*context);
  attachNarrowReductions(context);
}
