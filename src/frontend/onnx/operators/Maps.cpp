//===- Maps.cpp - ai.onnx.ml: maps to tensors -----------------------------===//
//
// A map is represented as two vectors of the same length, its keys and its
// values (Maps.h). All keys are different.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/ml/Classical.h"
#include "graph/composites/Formulas.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static bool isText(Type type) { return isa<StringType>(type); }

/// Whether the node has the keys and the values of a map; otherwise emits an error.
static bool hasMap(Node &node) {
  if (node.inputs.size() == 2 && node.input(0) && node.input(1) && rankOf(node.input(0)) == 1 &&
      shapeOf(node.input(0)) == shapeOf(node.input(1)))
    return true;
  node.fail("expected a map that is an input of the model");
  return false;
}

/// `count` empty elements: 0 for numbers.
static Value blanks(Builder &b, int64_t count, Type type, StringRef text) {
  if (isText(type))
    return b.broadcast(b.texts(text), {0}, {SymbolicInt(count)});
  return b.splat({SymbolicInt(count)}, 0, type);
}

/// The values in the order of the vocabulary, and 0 or "" for words that are not keys. Keys that are not in the
/// vocabulary are dropped.
Results importDictVectorizer(Node &node) {
  if (!hasMap(node))
    return {};
  Builder &b = node.builder;
  Type keyType = graph::elementTypeOf(node.input(0)), type = graph::elementTypeOf(node.input(1));
  SmallVector<StringRef> texts = textsOf(node, "string_vocabulary");
  SmallVector<int64_t> numbers = node.attributes.getInts("int64_vocabulary");
  bool fits = isText(keyType) ? !texts.empty() : keyType == b.i64() && !numbers.empty();
  if (!fits)
    return node.fail(
        "expected string_vocabulary for string keys or int64_vocabulary for int64 keys, got keys of type " +
        debugString(keyType));
  Value words = isText(keyType) ? b.texts(texts) : b.integers(numbers);
  Value candidates = b.concat({node.input(1), blanks(b, 1, type, "")}, 0);
  Results row = applyComposite(b, "lookup", {words, node.input(0), candidates});
  return {b.unsqueeze(row[0], {0})};
}

/// The type named by cast_to; null, with an error, for another name.
static Type castTarget(Node &node) {
  Builder &b = node.builder;
  StringRef word = node.attributes.getString("cast_to", "TO_FLOAT");
  Type type = llvm::StringSwitch<Type>(word)
                  .Case("TO_FLOAT", b.f32())
                  .Case("TO_INT64", b.i64())
                  .Case("TO_STRING", StringType::get(b.context()))
                  .Default(Type());
  if (!type)
    node.fail("expected cast_to to be TO_FLOAT, TO_INT64 or TO_STRING, got '" + word + "'");
  return type;
}

/// Places values at the positions given by their keys, among [max_map] positions. Keys beyond that are dropped. Strings
/// at other positions are those of ONNX Runtime, since the definition gives none.
static Value atPositions(Node &node, Value keys, Value values) {
  Builder &b = node.builder;
  int64_t count = node.attributes.getInt("max_map", 1);
  if (count < 1)
    return b.fail("expected max_map to be at least 1 for SPARSE, got " + Twine(count));
  Value isNegative = pointwise(b, keys, [](ArrayRef<Scalar> v) { return v[0] < 0; }, b.operations.getI1Type());
  Value negatives = isNegative ? graph::sum(b, b.cast(isNegative, b.i64()), {0}, /*keepDims=*/false) : isNegative;
  if (!negatives)
    return {};
  b.require(SymbolicInt(0) - b.measure(negatives, "negatives"), "the keys of a sparse map must be at least 0");
  return b.scatter(blanks(b, count, graph::elementTypeOf(values), "0.f"), b.unsqueeze(keys, {1}), values);
}

/// DENSE: the values in the order of the keys. SPARSE: at the positions given by the keys.
Results importCastMap(Node &node) {
  if (!hasMap(node))
    return {};
  Builder &b = node.builder;
  Value keys = node.input(0), values = node.input(1);
  Type from = graph::elementTypeOf(values), to = castTarget(node);
  if (!to)
    return {};
  if (graph::elementTypeOf(keys) != b.i64() || (from != b.f32() && !isText(from)))
    return node.fail("expected a map from int64 to float or string, got one from " +
                     debugString(graph::elementTypeOf(keys)) + " to " + debugString(from));
  StringRef form = node.attributes.getString("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE")
    return node.fail("expected map_form to be DENSE or SPARSE, got '" + form + "'");
  values = b.cast(values, to);
  Value row =
      form == "SPARSE" ? atPositions(node, keys, values) : b.gather(values, b.sort(keys, 0, /*isDescending=*/false), 0);
  return {b.unsqueeze(row, {0})};
}
} // namespace perpend::onnx
