//===- Shapes.cpp - symbolic shapes of tensor types -----------------------===//

#include "graph/Shapes.h"
#include "graph/ElementTypes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace perpend::graph {

Shape shapeOf(RankedTensorType type) {
  if (auto encoding = dyn_cast_or_null<ShapeAttr>(type.getEncoding()))
    return encoding.values();
  Shape shape;
  for (int64_t extent : type.getShape())
    shape.push_back(ShapedType::isDynamic(extent) ? SymbolicInt::poison() : SymbolicInt(extent));
  return shape;
}

RankedTensorType tensorType(ArrayRef<SymbolicInt> shape, Type elementType) {
  SmallVector<int64_t> extents;
  bool isStatic = true;
  for (const SymbolicInt &extent : shape) {
    std::optional<int64_t> constant = extent.constant();
    extents.push_back(constant.value_or(ShapedType::kDynamic));
    isStatic &= constant.has_value();
  }
  Attribute encoding = isStatic ? Attribute() : ShapeAttr::get(elementType.getContext(), shape);
  return RankedTensorType::get(extents, elementType, encoding);
}

SymbolicInt asDivisor(const SymbolicInt &extent) {
  return extent.knownPositive() ? extent : max(extent, SymbolicInt(1));
}

SymbolicInt elementCount(ArrayRef<SymbolicInt> shape) {
  SymbolicInt count(1);
  for (const SymbolicInt &extent : shape)
    count = count * extent;
  return count;
}

Shape rowMajorStrides(ArrayRef<SymbolicInt> shape) {
  Shape strides(shape.size(), SymbolicInt(1));
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

std::string toString(ArrayRef<SymbolicInt> shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](const SymbolicInt &extent) { return extent.str(); }), ", ") + "]";
}

std::string toString(ArrayRef<int64_t> numbers) { return toString(Shape(numbers.begin(), numbers.end())); }

std::string typeText(Value tensor) {
  return nameOf(tensorTypeOf(tensor).getElementType()) + " " + toString(shapeOf(tensor));
}

bool isAtMostOne(const SymbolicInt &extent) {
  if (std::optional<int64_t> number = extent.constant())
    return *number == 1; // 0 stays 0
  std::optional<int64_t> high = extent.upperBound();
  return high && *high == 1;
}

bool provablyDiffer(const SymbolicInt &a, const SymbolicInt &b) {
  SymbolicInt difference = a - b;
  if (std::optional<int64_t> low = difference.lowerBound(); low && *low > 0)
    return true;
  std::optional<int64_t> high = difference.upperBound();
  return high && *high < 0;
}
} // namespace perpend::graph
