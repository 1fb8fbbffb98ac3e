//===- Constraints.cpp - checks shared by several primitives --------------===//

#include "graph/primitives/Constraints.h"

using namespace mlir;
using namespace perpend::graph;

LogicalResult perpend::graph::verifyExtents(Operation *op, StringRef label, ArrayRef<SymbolicInt> expected) {
  Shape got = shapeOf(op->getResult(0));
  bool matches = expected.size() == got.size();
  for (size_t i = 0; matches && i < got.size(); ++i)
    matches = !provablyDiffer(expected[i], got[i]);
  if (matches)
    return success();
  return op->emitOpError() << label << ": expected a result of shape " << toString(expected) << ", got "
                           << toString(got);
}

void perpend::graph::requireExtents(Requirements &requirements, Value result, ArrayRef<SymbolicInt> expected) {
  for (auto [extent, wanted] : llvm::zip_equal(shapeOf(result), expected))
    requirements.addEqual(extent, wanted);
}

bool perpend::graph::isStrictlyIncreasing(ArrayRef<int64_t> dims, int64_t rank) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= rank)
      return false;
    previous = dim;
  }
  return true;
}

LogicalResult perpend::graph::verifyNumbers(Operation *op, StringRef label) {
  SmallVector<Value> tensors(op->getOperands());
  llvm::append_range(tensors, op->getResults());
  for (Value tensor : tensors)
    if (Type type = tensorTypeOf(tensor).getElementType(); isMinifloat(type))
      return op->emitOpError() << label << ": no arithmetic on elements of type " << type;
  return success();
}

std::optional<unsigned> perpend::graph::positionIn(ArrayRef<int64_t> dims, int64_t dim) {
  const int64_t *found = llvm::find(dims, dim);
  return found == dims.end() ? std::nullopt : std::optional<unsigned>(found - dims.begin());
}

unsigned perpend::graph::countBelow(ArrayRef<int64_t> dims, int64_t dim) {
  return llvm::count_if(dims, [&](int64_t other) { return other < dim; });
}
