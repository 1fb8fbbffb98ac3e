//===- Svm.cpp - support vector machines of ai.onnx.ml --------------------===//

#include "frontend/onnx/ml/Classical.h"
#include "graph/composites/Coupling.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// e^(-gamma |x - v|^2)
static Value radialKernel(Builder &b, Value x, Value vectors, double gamma) {
  Value difference = graph::sub(b, b.unsqueeze(x, {1}), b.unsqueeze(vectors, {0}));
  Value squares = graph::sum(b, graph::mul(b, difference, difference), {2}, false);
  return pointwise(b, squares, [=](ArrayRef<Scalar> v) { return graph::exp(-gamma * v[0]); });
}

/// The kernel of rows of x [n, features] and vectors [m, features], [n, m].
static Value kernelOf(Node &node, Value x, Value vectors, StringRef kind) {
  Builder &b = node.builder;
  SmallVector<double> parameters = numbersOf(node, "kernel_params");
  parameters.resize(3);
  double gamma = parameters[0], offset = parameters[1], degree = std::trunc(parameters[2]);
  if (kind == "RBF")
    return radialKernel(b, x, vectors, gamma);
  Value product = call(b, "linear", {x, vectors});
  if (kind == "LINEAR")
    return product;
  Value shifted = pointwise(b, product, [=](ArrayRef<Scalar> v) { return v[0] * gamma + offset; });
  if (kind == "SIGMOID")
    return call(b, "tanh", shifted);
  if (kind != "POLY")
    return b.fail("the kernel '" + kind + "' is not known");
  return shifted ? call(b, "pow", {shifted, b.scalar(degree, graph::elementTypeOf(shifted))}) : shifted;
}

/// Support vectors or coefficients as a matrix of `rows` rows.
static Value rowsOf(Node &node, StringRef name, int64_t rows, Type type) {
  SmallVector<double> values = numbersOf(node, name);
  int64_t count = values.size();
  if (rows < 1 || count == 0 || count % rows != 0)
    return node.builder.fail(Twine(count) + " " + name + " do not divide into " + Twine(rows) + " rows");
  return constantOf(node.builder, values, {rows, count / rows}, type);
}

static Value offsetBy(Node &node, Value x, ArrayRef<double> rho) {
  if (!x || rho.empty())
    return x;
  return graph::add(node.builder, x,
                    constantOf(node.builder, rho, static_cast<int64_t>(rho.size()), graph::elementTypeOf(x)));
}

/// Without support vectors, the coefficients form a linear model. one_class: 1 if the result is positive, otherwise -1.
Results importSVMRegressor(Node &node) {
  Builder &b = node.builder;
  Value x = featuresOf(node);
  if (!x)
    return {};
  Type type = graph::elementTypeOf(x);
  int64_t supports = node.attributes.getInt("n_supports");
  SmallVector<double> rho = numbersOf(node, "rho");
  Value coefficients = rowsOf(node, "coefficients", 1, type), kernel = x;
  if (supports > 0)
    if (Value vectors = rowsOf(node, "support_vectors", supports, type))
      kernel = kernelOf(node, x, vectors, node.attributes.getString("kernel_type", "LINEAR"));
  Value score = offsetBy(node, call(b, "linear", {kernel, coefficients}), ArrayRef(rho).take_front(1));
  if (node.attributes.getInt("one_class"))
    score =
        pointwise(b, score, [](ArrayRef<Scalar> v) { return select(v[0] > 0, v[0].constant(1), v[0].constant(-1)); });
  score = transformedScores(node, score, node.attributes.getString("post_transform"));
  return {score ? b.cast(score, b.f32()) : score};
}

//===----------------------------------------------------------------------===//
// Classifiers
//===----------------------------------------------------------------------===//

namespace {
/// A pair of classes, first < second, and the weights of its decision for all support vectors.
struct Duel {
  int64_t first, second;
  SmallVector<double> weights;
};
} // namespace

/// The support vectors of both classes decide each pair: for vectors of one class, the coefficients [classes - 1,
/// vectors] are in the row of the other class, not counting the class itself.
static SmallVector<Duel> duelsOf(ArrayRef<int64_t> perClass, ArrayRef<double> coefficients) {
  SmallVector<Duel> duels;
  int64_t classes = perClass.size(), vectors = 0;
  SmallVector<int64_t> starts;
  for (int64_t count : perClass) {
    starts.push_back(vectors);
    vectors += count;
  }
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) {
      Duel duel{i, j, SmallVector<double>(vectors)};
      for (int64_t v = starts[i]; v < starts[i] + perClass[i]; ++v)
        duel.weights[v] = coefficients[(j - 1) * vectors + v];
      for (int64_t v = starts[j]; v < starts[j] + perClass[j]; ++v)
        duel.weights[v] = coefficients[i * vectors + v];
      duels.push_back(std::move(duel));
    }
  return duels;
}

/// The number of pairs that each class wins, [n, classes]. The first class wins if the decision is positive.
static Value votesOf(Builder &b, Value decisions, ArrayRef<Duel> duels, int64_t classes) {
  Type type = graph::elementTypeOf(decisions);
  int64_t count = duels.size();
  SmallVector<double> wins(classes * count), otherwise(classes);
  for (auto [index, duel] : llvm::enumerate(duels)) {
    wins[duel.first * count + index] = 1;
    wins[duel.second * count + index] = -1;
    otherwise[duel.second] += 1;
  }
  Value won = pointwise(b, decisions, [](ArrayRef<Scalar> v) { return v[0] > 0; }, b.operations.getI1Type());
  if (!won)
    return {};
  return call(
      b, "linear",
      {b.cast(won, type), constantOf(b, wins, {classes, count}, type), constantOf(b, otherwise, classes, type)});
}

/// Probabilities from pairwise decisions: 1 / (1 + e^(decision prob_a + prob_b)) is that of the first class.
static Value probabilitiesOf(Node &node, Value decisions, int64_t classes) {
  SmallVector<double> factors = numbersOf(node, "prob_a"), offsets = numbersOf(node, "prob_b");
  int64_t count = classes * (classes - 1) / 2;
  if (static_cast<int64_t>(factors.size()) != count || static_cast<int64_t>(offsets.size()) != count)
    return node.builder.fail("expected " + Twine(count) + " numbers prob_a and prob_b, got " + Twine(factors.size()) +
                             " and " + Twine(offsets.size()));
  Type type = graph::elementTypeOf(decisions);
  Value scaled = graph::mul(node.builder, decisions, constantOf(node.builder, factors, count, type));
  Value shifted = graph::add(node.builder, scaled, constantOf(node.builder, offsets, count, type));
  Value duels = pointwise(node.builder, shifted, [](ArrayRef<Scalar> v) {
    return graph::min(graph::max(1.0 / (1.0 + graph::exp(v[0])), 1e-7), 1 - 1e-7);
  });
  return coupledProbabilities(node.builder, duels, classes);
}

static Results labelled(Node &node, Value ranking, Value scores) {
  Value labels =
      ranking ? labelsAt(node, bestOf(node.builder, ranking), "classlabels_ints", "classlabels_strings") : ranking;
  scores = transformedScores(node, scores, node.attributes.getString("post_transform"));
  if (!labels || !scores)
    return {};
  return {labels, node.builder.cast(scores, node.builder.f32())};
}

/// Classifies by pairs: labels by votes, or by probabilities if prob_a is given.
static Results classifyByDuels(Node &node, Value x, ArrayRef<int64_t> perClass) {
  Builder &b = node.builder;
  Type type = graph::elementTypeOf(x);
  int64_t classes = perClass.size(), vectors = 0;
  for (int64_t count : perClass)
    vectors += count;
  SmallVector<double> coefficients = numbersOf(node, "coefficients"), rho = numbersOf(node, "rho");
  if (static_cast<int64_t>(coefficients.size()) != (classes - 1) * vectors)
    return node.fail("expected " + Twine((classes - 1) * vectors) + " coefficients, got " + Twine(coefficients.size()));
  Value supports = rowsOf(node, "support_vectors", vectors, type);
  Value kernel = supports ? kernelOf(node, x, supports, node.attributes.getString("kernel_type", "LINEAR")) : supports;
  SmallVector<Duel> duels = duelsOf(perClass, coefficients);
  SmallVector<double> weights;
  for (const Duel &duel : duels)
    llvm::append_range(weights, duel.weights);
  int64_t count = duels.size();
  Value decisions = offsetBy(node, call(b, "linear", {kernel, constantOf(b, weights, {count, vectors}, type)}), rho);
  if (!decisions)
    return {};
  Value votes = votesOf(b, decisions, duels, classes), scores = decisions;
  if (!numbersOf(node, "prob_a").empty())
    scores = probabilitiesOf(node, decisions, classes);
  else if (classes == 2) // as ONNX Runtime: the pair's score comes last, though the first class wins if it is positive
    scores = b.concat({call(b, "neg", decisions), decisions}, 1);
  return labelled(node, votes, scores);
}

/// Without support vectors, a linear score per class.
Results importSVMClassifier(Node &node) {
  Value x = featuresOf(node);
  if (!x)
    return {};
  SmallVector<int64_t> perClass = node.attributes.getInts("vectors_per_class");
  int64_t classes =
      std::max(node.attributes.getInts("classlabels_ints").size(), textsOf(node, "classlabels_strings").size());
  if (classes < 2 || (!perClass.empty() && static_cast<int64_t>(perClass.size()) != classes))
    return node.fail("expected labels of at least two classes, and vectors_per_class for each");
  if (!perClass.empty())
    return classifyByDuels(node, x, perClass);
  Value rows = rowsOf(node, "coefficients", classes, graph::elementTypeOf(x));
  SmallVector<double> rho = numbersOf(node, "rho");
  Value scores = offsetBy(node, call(node.builder, "linear", {x, rows}), ArrayRef(rho).take_front(1));
  return labelled(node, scores, scores);
}
} // namespace perpend::onnx
