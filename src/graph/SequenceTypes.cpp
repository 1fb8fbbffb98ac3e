//===- SequenceTypes.cpp - element types of lists -------------------------===//

#include "graph/SequenceTypes.h"

using namespace mlir;

namespace perpend::graph {

Type elementOf(RankedTensorType type) { return RankedTensorType::get(type.getShape(), type.getElementType()); }

Type joinElementTypes(Type a, Type b) {
  if (a == b)
    return a;
  auto first = dyn_cast<SequenceType>(a), second = dyn_cast<SequenceType>(b);
  if (!first || !second)
    return {};
  Type element = joinElements(first.getElement(), second.getElement());
  bool isOptional = first.getIsOptional() && second.getIsOptional();
  return element ? SequenceType::get(a.getContext(), element, isOptional) : Type();
}

Type joinElements(Type a, Type b) {
  if (isa<NoneType>(a))
    return b;
  if (isa<NoneType>(b))
    return a;
  auto first = cast<TensorType>(a), second = cast<TensorType>(b);
  Type elementType = joinElementTypes(first.getElementType(), second.getElementType());
  if (!elementType)
    return {};
  if (!first.hasRank() || !second.hasRank() || first.getRank() != second.getRank())
    return UnrankedTensorType::get(elementType);
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(first.getShape(), second.getShape()))
    shape.push_back(x == y ? x : ShapedType::kDynamic);
  return RankedTensorType::get(shape, elementType);
}
} // namespace perpend::graph
