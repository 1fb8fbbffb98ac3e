//===- Shape.cpp - ONNX operators on shapes and positions -----------------===//
//
// Constants, and operators whose inputs or attributes describe how elements move. Inputs that are known as numbers or
// expressions of symbols give symbolic shapes; others are measured at run time.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Results missing(Node &node, unsigned count) { return node.fail("expected " + Twine(count) + " inputs"); }

//===----------------------------------------------------------------------===//
// Constants and shapes
//===----------------------------------------------------------------------===//

static Value floatVector(Builder &b, ArrayRef<float> values, bool isScalar) {
  SmallVector<int64_t, 1> shape;
  if (!isScalar)
    shape.push_back(values.size());
  return b.constant(DenseElementsAttr::get(RankedTensorType::get(shape, b.f32()), values));
}

Results importConstant(Node &node) {
  Builder &b = node.builder;
  for (StringRef name : {"value", "sparse_value"})
    if (auto value = dyn_cast_or_null<ElementsAttr>(node.attributes.get(name)))
      return {b.constant(value)};
  for (const AttributeProto &attribute : node.proto.attributes) {
    if (attribute.name == "value_float")
      return {floatVector(b, attribute.number, true)};
    if (attribute.name == "value_floats")
      return {floatVector(b, attribute.floats, false)};
    if (attribute.name == "value_int")
      return {b.dims(SymbolicInt(attribute.integer), /*isScalar=*/true)};
    if (attribute.name == "value_ints")
      return {b.integers(attribute.integers)};
    if (attribute.name == "value_string")
      return {b.texts(attribute.text, /*isScalar=*/true)};
    if (attribute.name == "value_strings")
      return {b.texts(attribute.texts)};
  }
  return node.fail("expected a value of numbers or texts");
}

Results importConstantOfShape(Node &node) {
  node.assumeLength(0, node.declaredRank());
  std::optional<Shape> shape = node.sizes(0, "shape");
  if (!shape)
    return {};
  Attribute value = node.attributes.get("value");
  if (!value)
    return {node.builder.splat(*shape, 0, node.builder.f32())};
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getNumElements() != 1)
    return node.fail("expected a value of one element");
  Value scalar = node.builder.reshape(node.builder.constant(elements), {});
  return {node.builder.broadcast(scalar, {}, *shape)};
}

Results importShape(Node &node) {
  if (!node.input(0))
    return missing(node, 1);
  Shape shape = shapeOf(node.input(0));
  int64_t rank = shape.size();
  auto position = [&](StringRef name, int64_t otherwise) {
    int64_t value = node.attributes.getInt(name, otherwise);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = position("start", 0), end = std::max(position("end", rank), start);
  return {node.builder.dims(ArrayRef(shape).slice(start, end - start))};
}

Results importSize(Node &node) {
  if (!node.input(0))
    return missing(node, 1);
  return {node.builder.dims(elementCount(shapeOf(node.input(0))), /*isScalar=*/true)};
}

Results importEyeLike(Node &node) {
  Value x = node.input(0);
  if (!x || rankOf(x) != 2)
    return {node.builder.contradict("expected a matrix")};
  Type type = node.attributes.has("dtype")
                  ? onnx::elementTypeOf(node.builder.context(), static_cast<DataType>(node.attributes.getInt("dtype")))
                  : graph::elementTypeOf(x);
  if (!type)
    return node.fail("the element type is not supported");
  double diagonal = static_cast<double>(node.attributes.getInt("k"));
  Value mask = node.builder.generate({}, shapeOf(x), node.builder.operations.getI1Type(),
                                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
                                       Scalar i(builder, loc, index[0]), j(builder, loc, index[1]);
                                       return graph::equal(j, i + diagonal).value;
                                     });
  return {node.builder.cast(mask, type)};
}

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

/// Adapts a shape written for the numbers of the exported model to the symbols that replaced them: an extent that
/// equals its old value becomes the input's extent at its position, or whatever the other extents leave.
static void followFreedDimensions(const Node &node, ArrayRef<SymbolicInt> from, Shape &to) {
  if (node.freedDimensions.empty())
    return;
  auto wasEqual = [&](const SymbolicInt &extent, const SymbolicInt &number) {
    return number.isConstant() && !extent.isConstant() && extent.substitute(node.freedDimensions) == number;
  };
  for (auto [extent, target] : llvm::zip(from, to))
    if (wasEqual(extent, target))
      target = extent;
  if (llvm::is_contained(to, SymbolicInt(-1)) || elementCount(from) == elementCount(to))
    return;
  for (SymbolicInt &target : to) {
    SymbolicInt others(1);
    for (const SymbolicInt &other : to)
      others *= &other == &target ? SymbolicInt(1) : other;
    std::optional<SymbolicInt> rest = exactDiv(elementCount(from), others);
    if (!rest || !wasEqual(*rest, target))
      continue;
    target = *rest;
    return;
  }
}

/// Whether the input's extent is also 0 whenever that of the new shape is 0: a product of symbols, each of which is a
/// factor of it.
static bool vanishesWith(const SymbolicInt &from, const SymbolicInt &extent) {
  if (extent.terms().size() != 1)
    return false;
  return llvm::all_of(extent.terms()[0].factors, [&](const support::SymbolicFactor &factor) {
    if (factor.atom.kind() != support::SymbolicAtomKind::Symbol)
      return false;
    llvm::StringMap<SymbolicInt> none;
    none[factor.atom.name()] = SymbolicInt(0);
    return from.substitute(none) == SymbolicInt(0);
  });
}

/// An extent that is 0 only in some runs stays 0 here, whereas ONNX copies the input's. A run in which that makes a
/// difference ends: ONNX's shape has no elements either, or it has an open extent and divides by the copied one. Shapes
/// that ONNX refuses may pass.
static void requireNoCopies(Node &node, const Shape &from, const Shape &to) {
  SymbolicInt copied(1);
  SmallVector<size_t> mayCopy;
  for (auto [dim, extent] : llvm::enumerate(to)) {
    bool isSame = dim >= from.size() || extent.knownPositive() || extent == from[dim];
    if (extent != SymbolicInt(-1))
      copied *= isSame ? extent : extent + from[dim] * max(1 - extent, 0);
    if (extent != SymbolicInt(-1) && !isSame && !vanishesWith(from[dim], extent))
      mayCopy.push_back(dim);
  }
  SymbolicInt agrees = llvm::is_contained(to, SymbolicInt(-1)) ? -copied : copied - 1;
  for (size_t dim : mayCopy) {
    SymbolicInt isKept = max(to[dim] - 1, -from[dim]), value = max(isKept, agrees);
    std::string what = ("dimension " + Twine(dim) + " of the new shape " + toString(to) +
                        " is 0, which copies the input's extent, " + from[dim].str() + ", and gives another shape")
                           .str();
    if (isKept.isPoison())
      node.fail(what +
                " in some runs; which ones is too long an expression\nhint: make this extent 1 or more, or use -1");
    else
      node.builder.require(value.isPoison() ? isKept : value, what);
  }
}

/// 0 copies the input's extent (unless allowzero), -1 is deduced.
static Results reshapeOnnx(Node &node, Shape shape) {
  if (!node.input(0))
    return missing(node, 2);
  Shape from = shapeOf(node.input(0));
  for (size_t i = 0; i < shape.size() && !node.attributes.getInt("allowzero"); ++i) {
    if (shape[i] != SymbolicInt(0))
      continue;
    if (i >= from.size())
      return {node.builder.contradict("dimension " + Twine(i) + " of the new shape " + toString(shape) +
                                      " copies one of shape " + toString(from) + ", which has none at that position")};
    shape[i] = from[i];
  }
  followFreedDimensions(node, from, shape);
  if (!node.attributes.getInt("allowzero"))
    requireNoCopies(node, from, shape);
  return {reshapeTo(node.builder, node.input(0), shape)};
}

Results importReshape(Node &node) {
  node.assumeLength(1, node.declaredRank());
  if (Value shape = node.input(1); shape && !node.builder.contents(shape))
    return {reshapeMeasured(node.builder, node.input(0), shape, node.attributes.getInt("allowzero") != 0)};
  std::optional<Shape> shape = node.known(1, "shape");
  return shape ? reshapeOnnx(node, *shape) : Results();
}
Results importReshapeAttribute(Node &node) {
  return reshapeOnnx(node, node.attributes.getDims("shape").value_or(Shape()));
}

Results importExpand(Node &node) {
  std::optional<int64_t> rank = node.declaredRank();
  if (node.input(0) && rank > rankOf(node.input(0)))
    node.assumeLength(1, rank);
  if (Value shape = node.input(1); shape && !node.builder.contents(shape))
    return {expandMeasured(node.builder, node.input(0), shape, rank)};
  std::optional<Shape> shape = node.known(1, "shape");
  if (!shape || !node.input(0))
    return {};
  return {expandTo(node.builder, node.input(0), *shape)};
}

Results importTile(Node &node) {
  if (node.input(0))
    node.assumeLength(1, rankOf(node.input(0)));
  std::optional<Shape> repeats = node.sizes(1, "repeats");
  return {repeats ? tileTensor(node.builder, node.input(0), *repeats) : Value()};
}

/// Axes are an attribute before operator set 13, then an input.
static Results withAxes(Node &node, StringRef composite) {
  if (!node.input(1))
    return node.composite(composite, node.input(0));
  if (std::optional<int64_t> rank = node.declaredRank(); rank && node.input(0))
    node.assumeLength(1, composite == "squeeze" ? rankOf(node.input(0)) - *rank : *rank - rankOf(node.input(0)));
  std::optional<SmallVector<int64_t>> axes = node.builder.constantContents(node.input(1));
  if (!axes)
    return {composite == "squeeze" ? squeezeMeasured(node.builder, node.input(0), node.input(1))
                                   : unsqueezeMeasured(node.builder, node.input(0), node.input(1))};
  return node.composite(composite, node.input(0), node.attribute("axes", ArrayRef<int64_t>(*axes)));
}
Results importSqueeze(Node &node) { return withAxes(node, "squeeze"); }
Results importUnsqueeze(Node &node) {
  if (!node.input(1) && !node.attributes.has("axes"))
    return node.fail("the axes are missing");
  return withAxes(node, "unsqueeze");
}

//===----------------------------------------------------------------------===//
// Slicing, splitting, padding
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> firstAxes(size_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

Results importSliceAttributes(Node &node) {
  std::optional<Shape> starts = node.attributes.getDims("starts"), ends = node.attributes.getDims("ends");
  if (!starts || !ends || !node.input(0))
    return node.fail("expected a tensor and the attributes starts and ends");
  SmallVector<int64_t> axes = node.attributes.getInts("axes", firstAxes(starts->size()));
  return {sliceAxes(node.builder, node.input(0), axes, *starts, *ends, SmallVector<int64_t>(starts->size(), 1))};
}

Results importSlice(Node &node) {
  if (!node.input(1) || !node.input(2) || !node.input(0))
    return node.fail("expected a tensor, starts and ends");
  return {sliceMeasured(node.builder, node.input(0), node.input(1), node.input(2), node.input(3), node.input(4))};
}

/// Sizes are an attribute before operator set 13, then an input; without them the parts are equal.
Results importSplit(Node &node) {
  std::optional<Shape> sizes = node.attributes.getDims("split");
  node.assumeLength(1, node.proto.outputs.size());
  if (node.input(1) && !(sizes = node.sizes(1, "split")))
    return {};
  if (sizes && sizes->size() != node.proto.outputs.size())
    return {node.builder.contradict("expected " + Twine(node.proto.outputs.size()) + " sizes, got " +
                                    Twine(sizes->size()))};
  if (sizes)
    return node.composite("split", node.input(0), node.attribute("sizes", ArrayRef<SymbolicInt>(*sizes)));
  int64_t outputs = node.proto.outputs.size(), count = node.attributes.getInt("num_outputs", outputs);
  if (count != outputs)
    return node.fail("the attribute num_outputs is " + Twine(count) + ", the node has " + Twine(outputs) + " outputs");
  auto parts = node.builder.operations.getI64IntegerAttr(outputs);
  return node.composite("split", node.input(0), node.attribute("num_outputs", parts));
}

/// Expands the pads of listed axes to all dimensions.
static std::optional<Shape> spreadPads(Node &node, const Shape &pads, ArrayRef<int64_t> axes, size_t rank) {
  Shape all(2 * rank, SymbolicInt(0));
  if (pads.size() != 2 * axes.size()) {
    node.builder.contradict("expected " + Twine(2 * axes.size()) + " pads, got " + Twine(pads.size()));
    return std::nullopt;
  }
  for (auto [index, axis] : llvm::enumerate(axes)) {
    int64_t dim = normalAxis(node.builder, axis, rank);
    if (dim < 0)
      return std::nullopt;
    all[dim] = pads[index];
    all[rank + dim] = pads[axes.size() + index];
  }
  return all;
}

/// `element` (optional) is used if the value is not a constant.
static Results padOnnx(Node &node, const Shape &pads, ArrayRef<int64_t> axes, double value, Value element = {}) {
  std::optional<Shape> all = spreadPads(node, pads, axes, rankOf(node.input(0)));
  if (!all)
    return {};
  return node.composite("pad", {node.input(0), element},
                        {node.attribute("pads", ArrayRef<SymbolicInt>(*all)),
                         node.attribute("value", node.builder.operations.getF64FloatAttr(value))});
}

Results importPad(Node &node) {
  std::optional<Shape> pads = node.attributes.getDims(node.attributes.has("pads") ? "pads" : "paddings");
  if (!pads || !node.input(0))
    return node.fail("expected a tensor and the attribute pads");
  return padOnnx(node, *pads, firstAxes(rankOf(node.input(0))), node.attributes.getFloat("value"));
}

/// The pads and their axes: all axes in order, known ones, or all with the pads expanded.
static std::optional<std::pair<Shape, SmallVector<int64_t>>> padsOf(Node &node) {
  Builder &b = node.builder;
  int64_t rank = rankOf(node.input(0));
  Value pads = node.input(1), axes = node.input(3);
  std::optional<SmallVector<int64_t>> numbers = axes ? b.constantContents(axes) : firstAxes(rank);
  if (!numbers) {
    SymbolicInt count = elementCount(shapeOf(axes)), given = elementCount(shapeOf(pads));
    for (const SymbolicInt &difference : {given - 2 * count, 2 * count - given})
      b.require(difference, "expected two pads for each axis");
    Value none = b.integers(SmallVector<int64_t>(rank, 0));
    auto half = [&](int64_t index) {
      return spreadOverAxes(b, axes, sliceAxis(b, pads, 0, count * index, count), none);
    };
    pads = b.concat({half(0), half(1)}, 0);
    numbers = firstAxes(rank);
  }
  std::optional<SmallVector<Value>> elements = b.scalars(pads);
  if (!elements)
    return std::nullopt;
  return std::pair(llvm::map_to_vector(*elements, [&](Value pad) { return b.measureSigned(pad, "pad"); }), *numbers);
}

Results importPad11(Node &node) {
  if (!node.input(0) || !node.input(1))
    return node.fail("expected a tensor and its pads");
  for (int input : {1, 3})
    if (Value list = node.input(input); list && rankOf(list) != 1)
      return {node.builder.contradict(Twine(input == 1 ? "pads" : "axes") + ": expected a vector, got " +
                                      toString(shapeOf(list)))};
  std::optional<int64_t> padded = node.input(3) ? shapeOf(node.input(3))[0].constant() : rankOf(node.input(0));
  if (padded)
    node.assumeLength(1, 2 * *padded);
  std::optional<double> value = node.input(2) ? constantNumber(node.input(2)) : 0.0;
  auto pads = padsOf(node);
  return pads ? padOnnx(node, pads->first, pads->second, value.value_or(0), value ? Value() : node.input(2))
              : Results();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Results importTrilu(Node &node) {
  if (!node.input(1))
    return node.composite("trilu", node.input(0));
  SymbolicInt diagonal = node.builder.measureSigned(node.input(1), "diagonal");
  return diagonal.isPoison()
             ? Results()
             : node.composite("trilu", node.input(0), node.attribute("k", ArrayRef<SymbolicInt>(diagonal)));
}
} // namespace perpend::onnx
