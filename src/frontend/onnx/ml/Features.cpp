//===- Features.cpp - ai.onnx.ml: features, encoders, linear models -------===//

#include "frontend/onnx/ml/Classical.h"
#include "graph/composites/Formulas.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// A list of numbers: one for all features, or one per feature.
static Value perFeature(Node &node, StringRef name, double otherwise, Type type) {
  Value values = vectorOf(node, name, type);
  return values ? values : constantOf(node.builder, otherwise, 1, type);
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// Elements of the last dimension; a vector is one row.
Results importArrayFeatureExtractor(Node &node) {
  if (!node.hasInputs(2) || rankOf(node.input(0)) < 1)
    return {};
  Builder &b = node.builder;
  Value x = rankOf(node.input(0)) == 1 ? b.unsqueeze(node.input(0), {0}) : node.input(0);
  Value indices = b.reshape(node.input(1), {elementCount(shapeOf(node.input(1)))});
  int64_t last = rankOf(x) - 1;
  return {b.gather(x, normalIndices(b, indices, shapeOf(x)[last]), last)};
}

Results importBinarizer(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  double threshold = node.attributes.getFloat("threshold");
  Value above = pointwise(
      b, b.cast(node.input(0), isFloat(node.input(0)) ? graph::elementTypeOf(node.input(0)) : b.f32()),
      [=](ArrayRef<Scalar> v) { return v[0] > threshold; }, b.operations.getI1Type());
  return {above ? b.cast(above, graph::elementTypeOf(node.input(0))) : above};
}

/// A row for each element of the first dimension; a tensor of rank 1 or 0 is one row.
static Value rowsOf(Builder &b, Value x) {
  Shape shape = shapeOf(x);
  if (shape.size() == 2)
    return x;
  if (shape.size() < 2)
    return b.reshape(x, {SymbolicInt(1), elementCount(shape)});
  return b.reshape(x, {shape[0], elementCount(ArrayRef(shape).drop_front())});
}

/// The rows of each input cut to its extent in inputdimensions, or with zeros behind them, side by side.
Results importFeatureVectorizer(Node &node) {
  SmallVector<int64_t> widths = node.attributes.getInts("inputdimensions");
  if (!node.hasInputs(node.inputs.size()) || node.inputs.empty() || widths.size() != node.inputs.size())
    return node.fail("expected one number of inputdimensions per input");
  Builder &b = node.builder;
  SmallVector<Value> parts;
  for (auto [input, width] : llvm::zip(node.inputs, widths)) {
    Value rows = rowsOf(b, input);
    if (!rows)
      return {};
    // The padding is negative where features are cut.
    Shape low(2, SymbolicInt(0)), high{SymbolicInt(0), SymbolicInt(width) - shapeOf(rows)[1]};
    parts.push_back(padTensor(b, b.cast(rows, b.f32()), low, high, "constant"));
  }
  return {b.concat(parts, 1)};
}

Results importImputer(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0);
  Type type = graph::elementTypeOf(x);
  bool floats = isFloat(x);
  StringRef name = floats ? "imputed_value_floats" : "imputed_value_int64s";
  if (numbersOf(node, name).empty())
    return node.fail("expected the attribute " + name);
  double replaced = node.attributes.getFloat("replaced_value_float");
  int64_t replacedInteger = node.attributes.getInt("replaced_value_int64");
  auto isReplaced = [=](ArrayRef<Scalar> v) {
    if (!floats)
      return graph::equal(v[0], v[0].integer(replacedInteger));
    return std::isnan(replaced) ? notEqual(v[0], v[0]) : graph::equal(v[0], replaced);
  };
  Value isMissing = pointwise(b, x, isReplaced, b.operations.getI1Type());
  return {graph::where(b, isMissing, perFeature(node, name, 0, type), x)};
}

/// (x - offset) scale
Results importScaler(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = b.cast(node.input(0), b.f32());
  return {
      graph::mul(b, graph::sub(b, x, perFeature(node, "offset", 0, b.f32())), perFeature(node, "scale", 1, b.f32()))};
}

/// Divides rows by their maximum (signed), the sum of their magnitudes or their norm; rows for which that is zero are
/// unchanged.
Results importNormalizer(Node &node) {
  Value x = featuresOf(node);
  if (!x)
    return {};
  Builder &b = node.builder;
  StringRef norm = node.attributes.getString("norm", "MAX");
  StringRef reduction = norm == "MAX" ? "reduce_max" : norm == "L1" ? "reduce_l1" : "reduce_l2";
  Attributes rows(b.context(), node.attribute("axes", ArrayRef<int64_t>{1}));
  Value divisor = call(b, reduction, x, rows);
  Value result =
      pointwise(b, {x, divisor}, [](ArrayRef<Scalar> v) { return select(graph::equal(v[1], 0), v[0], v[0] / v[1]); });
  return {result ? b.cast(result, b.f32()) : result};
}

//===----------------------------------------------------------------------===//
// Encoders
//===----------------------------------------------------------------------===//

/// 1 where x equals the category; an unlisted category gives zeros only.
Results importOneHotEncoder(Node &node) {
  SmallVector<int64_t> categories = node.attributes.getInts("cats_int64s");
  SmallVector<StringRef> texts = textsOf(node, "cats_strings");
  if (!node.hasInputs(1) || categories.empty() == texts.empty())
    return node.fail("expected an input and the attribute cats_int64s or cats_strings");
  Builder &b = node.builder;
  Value x = texts.empty() ? b.cast(node.input(0), b.i64()) : node.input(0);
  Value hits = call(b, "equal", {b.unsqueeze(x, {rankOf(x)}), texts.empty() ? b.integers(categories) : b.texts(texts)});
  return {hits ? b.cast(hits, b.f32()) : hits};
}

/// The strings of NAME_tensor or NAME_strings.
static SmallVector<StringRef> encoderTexts(Node &node, StringRef name) {
  if (auto tensor = dyn_cast_or_null<DenseStringElementsAttr>(node.attributes.get((name + "_tensor").str())))
    return llvm::to_vector(tensor.getValues<StringRef>());
  return textsOf(node, (name + "_strings").str());
}

/// The element type of whichever attribute is present: tensor or list.
static Type listType(Node &node, StringRef kind) {
  if (auto tensor = dyn_cast_or_null<ElementsAttr>(node.attributes.get((kind + "_tensor").str())))
    return tensor.getElementType();
  if (!textsOf(node, (kind + "_strings").str()).empty())
    return StringType::get(node.builder.context());
  if (node.attributes.has((kind + "_floats").str()))
    return node.builder.f32();
  return node.attributes.has((kind + "_int64s").str()) ? node.builder.i64() : Type();
}

/// The attribute of that kind as a vector.
static Value encoderList(Node &node, StringRef kind, Type type) {
  if (isa<StringType>(type))
    return node.builder.texts(encoderTexts(node, kind));
  std::string names[] = {(kind + "_tensor").str(), (kind + "_floats").str(), (kind + "_int64s").str()};
  return vectorOf(node, {names[0], names[1], names[2]}, type);
}

/// The value for unlisted keys, as a vector of one.
static Value encoderDefault(Node &node, Type type) {
  if (isa<StringType>(type)) {
    SmallVector<StringRef> given = encoderTexts(node, "default");
    return node.builder.texts(given.empty() ? node.attributes.getString("default_string", "_Unused") : given.front());
  }
  StringRef names[] = {"default_tensor", "default_int64"};
  bool floats = isa<FloatType>(type);
  if (Value given = vectorOf(node, ArrayRef(names).take_front(floats ? 1 : 2), type))
    return sliceAxis(node.builder, given, 0, SymbolicInt(0), SymbolicInt(1));
  return constantOf(node.builder, floats ? node.attributes.getFloat("default_float", -0.0) : -1, 1, type);
}

static Results encode(Node &node, Value keys, Value values) {
  if (!keys || !values || shapeOf(keys) != shapeOf(values) || shapeOf(keys)[0] == SymbolicInt(0))
    return node.fail("expected as many keys as values, at least 1");
  if (graph::elementTypeOf(keys) != graph::elementTypeOf(node.input(0)))
    return node.fail("expected an input of the keys' type, " + debugString(graph::elementTypeOf(keys)) + ", got " +
                     debugString(graph::elementTypeOf(node.input(0))));
  Value otherwise = encoderDefault(node, graph::elementTypeOf(values));
  return {call(node.builder, "lookup", {node.input(0), keys, node.builder.concat({values, otherwise}, 0)})};
}

Results importLabelEncoder(Node &node) {
  Type keyType = listType(node, "keys"), valueType = listType(node, "values");
  if (!node.hasInputs(1) || !keyType || !valueType)
    return node.fail("expected keys and values");
  return encode(node, encoderList(node, "keys", keyType), encoderList(node, "values", valueType));
}

/// Maps strings to numbers or vice versa; the numbers are positions, or those of cats_int64s.
static Results mapCategories(Node &node, ArrayRef<StringRef> texts, ArrayRef<int64_t> numbers) {
  if (!node.hasInputs(1) || texts.empty())
    return node.fail("expected an input and categories");
  Value words = node.builder.texts(texts), positions = node.builder.integers(numbers);
  bool fromText = isa<StringType>(graph::elementTypeOf(node.input(0)));
  return encode(node, fromText ? words : positions, fromText ? positions : words);
}

Results importLabelEncoder1(Node &node) {
  SmallVector<StringRef> texts = textsOf(node, "classes_strings");
  return mapCategories(node, texts, llvm::to_vector(llvm::seq<int64_t>(0, texts.size())));
}

Results importCategoryMapper(Node &node) {
  return mapCategories(node, textsOf(node, "cats_strings"), node.attributes.getInts("cats_int64s"));
}

/// The scores unchanged, one row per map. The model's output has their labels (Maps.h).
Results importZipMap(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  size_t texts = textsOf(node, "classlabels_strings").size();
  int64_t count = static_cast<int64_t>(texts ? texts : node.attributes.getInts("classlabels_int64s").size());
  Value scores = node.input(0);
  if (rankOf(scores) == 1)
    scores = b.unsqueeze(scores, {0});
  SymbolicInt columns = rankOf(scores) == 2 ? shapeOf(scores)[1] : SymbolicInt(-1);
  if (graph::provablyDiffer(columns, SymbolicInt(count)) || !count)
    return {node.builder.contradict("expected scores [n, " + Twine(count) + "] for " + Twine(count) + " labels, got " +
                                    graph::toString(shapeOf(node.input(0))))};
  for (const SymbolicInt &difference : {columns - SymbolicInt(count), SymbolicInt(count) - columns})
    b.require(difference, "the scores need a column for each of " + std::to_string(count) + " labels");
  return {scores};
}

//===----------------------------------------------------------------------===//
// Linear models
//===----------------------------------------------------------------------===//

/// x coefficients^T + intercepts, [n, rows].
static Value linearScores(Node &node, int64_t rows) {
  Builder &b = node.builder;
  SmallVector<double> coefficients = numbersOf(node, "coefficients"), intercepts = numbersOf(node, "intercepts");
  int64_t count = coefficients.size();
  if (rows < 1 || count == 0 || count % rows != 0)
    return b.fail(Twine(count) + " coefficients do not divide into " + Twine(rows) + " rows");
  Value x = featuresOf(node, count / rows);
  if (!x)
    return {};
  Type type = graph::elementTypeOf(x);
  SmallVector<Value> inputs{x, constantOf(b, coefficients, {rows, count / rows}, type)};
  if (!intercepts.empty())
    inputs.push_back(constantOf(b, intercepts, static_cast<int64_t>(intercepts.size()), type));
  return call(b, "linear", inputs);
}

Results importLinearRegressor(Node &node) {
  Value scores = linearScores(node, node.attributes.getInt("targets", 1));
  scores = transformedScores(node, scores, node.attributes.getString("post_transform"));
  return {scores ? node.builder.cast(scores, node.builder.f32()) : scores};
}

/// A single score for two classes is the second's; the first has its negative.
Results importLinearClassifier(Node &node) {
  Builder &b = node.builder;
  int64_t classes =
      std::max(node.attributes.getInts("classlabels_ints").size(), textsOf(node, "classlabels_strings").size());
  int64_t intercepts = numbersOf(node, "intercepts").size();
  if (classes < 2)
    return node.fail("expected labels of at least two classes");
  Value scores = linearScores(node, intercepts > 0 ? intercepts : classes);
  if (!scores)
    return {};
  if (classes == 2 && shapeOf(scores)[1] == SymbolicInt(1))
    scores = b.concat({call(b, "neg", scores), scores}, 1);
  Value labels = labelsAt(node, bestOf(node.builder, scores), "classlabels_ints", "classlabels_strings");
  scores = transformedScores(node, scores, node.attributes.getString("post_transform"));
  if (!labels || !scores)
    return {};
  return {labels, b.cast(scores, b.f32())};
}
} // namespace perpend::onnx
