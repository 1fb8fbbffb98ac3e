//===- Classical.cpp - shared by the ai.onnx.ml operators -----------------===//

#include "frontend/onnx/ml/Classical.h"
#include "graph/composites/Formulas.h"
#include "support/SaturatedInteger.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static SmallVector<double> elementsOf(ElementsAttr elements) {
  SmallVector<double> numbers;
  if (auto floats = elements.tryGetValues<APFloat>())
    for (APFloat value : *floats) {
      bool losesInfo;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      numbers.push_back(value.convertToDouble());
    }
  else if (auto integers = elements.tryGetValues<APInt>())
    for (const APInt &value : *integers)
      numbers.push_back(elements.getElementType().isUnsignedInteger() ? static_cast<double>(value.getZExtValue())
                                                                      : static_cast<double>(value.getSExtValue()));
  return numbers;
}

SmallVector<double> numbersOf(const Node &node, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    Attribute attribute = node.attributes.get(name);
    SmallVector<double> numbers = node.attributes.getFloats(name);
    if (auto elements = dyn_cast_or_null<ElementsAttr>(attribute); elements && isa<TensorType>(elements.getType()))
      numbers = elementsOf(elements);
    else if (numbers.empty())
      llvm::append_range(numbers, node.attributes.getInts(name));
    if (!numbers.empty())
      return numbers;
  }
  return {};
}

SmallVector<StringRef> textsOf(const Node &node, StringRef name) {
  for (const AttributeProto &attribute : node.proto.attributes)
    if (attribute.name == name)
      return SmallVector<StringRef>(attribute.texts.begin(), attribute.texts.end());
  return {};
}

Value constantOf(Builder &b, ArrayRef<double> values, ArrayRef<int64_t> shape, Type elementType) {
  if (!isa<FloatType, IntegerType>(elementType))
    return b.fail("expected numbers, got elements of type " + graph::nameOf(elementType));
  SmallVector<Attribute> elements;
  for (double value : values) {
    if (isa<FloatType>(elementType))
      elements.push_back(FloatAttr::get(elementType, value));
    else
      elements.push_back(IntegerAttr::get(
          elementType, support::saturatedInteger(value, graph::bitWidth(elementType), graph::isUnsigned(elementType))));
  }
  return b.constant(DenseElementsAttr::get(RankedTensorType::get(shape, elementType), elements));
}

/// The elements of a list or tensor attribute of integers, signed or unsigned as declared.
static SmallVector<llvm::APSInt> integersOf(const Node &node, StringRef name) {
  if (auto elements = dyn_cast_or_null<ElementsAttr>(node.attributes.get(name));
      elements && isa<TensorType>(elements.getType())) {
    SmallVector<llvm::APSInt> integers;
    bool isUnsigned = elements.getElementType().isUnsignedInteger() || elements.getElementType().isInteger(1);
    if (auto values = elements.tryGetValues<APInt>())
      for (const APInt &value : *values)
        integers.emplace_back(value, isUnsigned);
    return integers;
  }
  return llvm::map_to_vector(node.attributes.getInts(name), [](int64_t value) { return llvm::APSInt::get(value); });
}

Value vectorOf(const Node &node, ArrayRef<StringRef> names, Type elementType) {
  if (auto type = dyn_cast<IntegerType>(elementType))
    for (StringRef name : names)
      if (SmallVector<llvm::APSInt> given = integersOf(node, name); !given.empty()) {
        SmallVector<APInt> integers;
        for (const llvm::APSInt &value : given)
          integers.push_back(value.extOrTrunc(type.getWidth()));
        auto vector = RankedTensorType::get(static_cast<int64_t>(integers.size()), type);
        return node.builder.constant(DenseElementsAttr::get(vector, integers));
      }
  SmallVector<double> numbers = numbersOf(node, names);
  return numbers.empty() ? Value()
                         : constantOf(node.builder, numbers, static_cast<int64_t>(numbers.size()), elementType);
}

Value featuresOf(Node &node, int64_t features) {
  Value x = node.input(0);
  if (!x || rankOf(x) < 1 || rankOf(x) > 2) {
    node.builder.contradict("expected a matrix of features");
    return {};
  }
  Builder &b = node.builder;
  if (rankOf(x) == 1)
    x = b.unsqueeze(x, {0});
  std::optional<int64_t> count = shapeOf(x)[1].constant();
  if (!count || (features && *count != features))
    return b.fail("expected " + (features ? Twine(features) : Twine("a known number of")) + " features, got " +
                  shapeOf(x)[1].str());
  return b.cast(x, graph::elementTypeOf(x).isF64() ? b.operations.getF64Type() : b.f32());
}

Value transformedScores(Node &node, Value scores, StringRef transform) {
  static constexpr std::pair<const char *, const char *> composites[] = {
      {"SOFTMAX", "softmax"}, {"LOGISTIC", "sigmoid"}, {"SOFTMAX_ZERO", "softmax_zero"}, {"PROBIT", "probit"}};
  if (!scores || transform.empty() || transform == "NONE")
    return scores;
  const auto *found = llvm::find_if(composites, [&](const auto &entry) { return transform == entry.first; });
  if (found == std::end(composites))
    return node.builder.fail("the post_transform '" + transform + "' is not known");
  return applyComposite(node.builder, found->second, scores)[0];
}

Value bestOf(Builder &b, Value scores) {
  NamedAttribute last[] = {b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(1)),
                           b.operations.getNamedAttr("keepdims", b.operations.getI64IntegerAttr(0))};
  return scores ? applyComposite(b, "argmax", scores, Attributes(b.context(), last))[0] : scores;
}

Value labelsAt(Node &node, Value positions, StringRef integers, StringRef strings) {
  if (SmallVector<StringRef> texts = textsOf(node, strings); !texts.empty())
    return node.builder.gather(node.builder.texts(texts), positions, 0);
  SmallVector<int64_t> labels = node.attributes.getInts(integers);
  if (labels.empty())
    return node.builder.fail("expected the attribute " + integers);
  return node.builder.gather(node.builder.integers(labels), positions, 0);
}
} // namespace perpend::onnx
