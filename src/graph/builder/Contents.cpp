//===- Contents.cpp - known contents of small tensors ---------------------===//
//
// The elements of small integer tensors, which may become extents.
//
//===----------------------------------------------------------------------===//

#include "graph/builder/Builder.h"

using namespace mlir;

namespace perpend::graph {

void Builder::recordContents(Value tensor, Extents values) {
  if (tensor)
    knownContents[tensor] = Shape(values);
}

void Builder::recordComparison(Value condition, Comparison meaning) {
  if (condition)
    comparisons[condition] = std::move(meaning);
}

std::optional<Shape> Builder::contents(Value tensor) {
  if (!tensor)
    return std::nullopt;
  if (auto known = knownContents.find(tensor); known != knownContents.end())
    return known->second;
  auto type = tensorTypeOf(tensor);
  auto constant = tensor.getDefiningOp<ConstantOp>();
  auto integerType = dyn_cast<IntegerType>(type.getElementType());
  if (!constant || !integerType || !type.hasStaticShape() || type.getNumElements() > maxFollowedElements)
    return std::nullopt;
  auto elements = constant.getValue().tryGetValues<APInt>();
  if (!elements)
    return std::nullopt;
  Shape values;
  for (const APInt &element : *elements) {
    if (element.getSignificantBits() > 64)
      return std::nullopt;
    values.emplace_back(isUnsigned(integerType) ? static_cast<int64_t>(element.getZExtValue())
                                                : element.getSExtValue());
  }
  knownContents[tensor] = values;
  return values;
}

std::optional<SmallVector<int64_t>> Builder::constantContents(Value tensor) {
  std::optional<Shape> values = contents(tensor);
  if (!values)
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (const SymbolicInt &value : *values) {
    if (!value.constant())
      return std::nullopt;
    numbers.push_back(*value.constant());
  }
  return numbers;
}
} // namespace perpend::graph
