//===- Trees.cpp - tree ensembles of ai.onnx.ml ---------------------------===//
//
// All versions are converted to the same tables: nodes with the leaves first,
// and one row of votes per leaf.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/ml/Forest.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
/// Positions of the nodes in the tables: leaves first, so that a leaf's position is its row of votes.
static std::pair<SmallVector<int64_t>, int64_t> leavesFirst(const Forest &forest) {
  SmallVector<int64_t> positions(forest.nodes.size());
  int64_t next = 0, leaves = 0;
  for (bool wantsLeaves : {true, false}) {
    for (auto [index, node] : llvm::enumerate(forest.nodes))
      if (node.isLeaf() == wantsLeaves)
        positions[index] = next++;
    leaves = wantsLeaves ? next : leaves;
  }
  return {positions, leaves};
}

/// The comparison that all nodes share, or -1.
static int64_t commonMode(const Forest &forest) {
  std::optional<int64_t> mode;
  for (const TreeNode &tree : forest.nodes)
    if (!tree.isLeaf() && mode.value_or(tree.mode) != tree.mode)
      return -1;
    else if (!tree.isLeaf())
      mode = tree.mode;
  return mode.value_or(0);
}

/// The tables of tree_leaves(). A leaf leads to itself.
static SmallVector<Value> tablesOf(Builder &b, const Forest &forest, ArrayRef<int64_t> positions, Type type) {
  int64_t count = forest.nodes.size();
  std::vector<double> columns[6];
  for (std::vector<double> &column : columns)
    column.resize(count);
  for (auto [at, tree] : llvm::zip(positions, forest.nodes)) {
    bool isLeaf = tree.isLeaf();
    const int64_t row[] = {isLeaf ? 0 : tree.feature,
                           0,
                           isLeaf ? at : positions[tree.children[0]],
                           isLeaf ? at : positions[tree.children[1]],
                           tree.missingIsTrue,
                           isLeaf ? 0 : tree.mode};
    for (auto [column, value] : llvm::zip(columns, row))
      column[at] = static_cast<double>(value);
    columns[1][at] = tree.threshold;
  }
  SmallVector<Value> tables;
  for (auto [index, column] : llvm::enumerate(columns))
    tables.push_back(constantOf(b, column, count, index == 1 ? type : Type(b.operations.getI32Type())));
  return tables;
}

/// The leaves reached by rows of x, [n, trees].
static Value leavesOf(Node &node, const Forest &forest, ArrayRef<int64_t> positions, Value x) {
  Builder &b = node.builder;
  std::optional<int64_t> depth = forest.depth();
  if (!depth)
    return b.fail("the nodes of a tree form a cycle");
  SmallVector<Value> inputs{x};
  llvm::append_range(inputs, tablesOf(b, forest, positions, graph::elementTypeOf(x)));
  SmallVector<int64_t> roots = llvm::map_to_vector(forest.roots, [&](int64_t root) { return positions[root]; });
  inputs.push_back(b.integers(roots));
  NamedAttribute attributes[] = {node.attribute("depth", b.operations.getI64IntegerAttr(*depth)),
                                 node.attribute("mode", b.operations.getI64IntegerAttr(commonMode(forest)))};
  return applyComposite(b, "tree_leaves", inputs, Attributes(b.context(), attributes))[0];
}

/// Limit: the table is held in memory several times while it is built.
static constexpr int64_t mostVotes = int64_t(1) << 25;

/// Votes [leaves, targets]; `absent` if a leaf has none for a target.
static Value votesOf(Builder &b, const Forest &forest, ArrayRef<int64_t> positions, int64_t leaves, double absent,
                     Type type) {
  if (forest.targets > mostVotes / std::max<int64_t>(leaves, 1))
    return b.fail("expected leaves times targets of at most " + Twine(mostVotes) + ", got " + Twine(leaves) +
                  " leaves and " + Twine(forest.targets) + " targets\nhint: check the number of targets or classes");
  SmallVector<double> table(leaves * forest.targets, absent);
  for (auto [index, node] : llvm::enumerate(forest.nodes))
    for (auto [target, weight] : node.isLeaf() ? ArrayRef(node.votes) : ArrayRef<std::pair<int64_t, double>>()) {
      double &vote = table[positions[index] * forest.targets + target];
      vote = std::isinf(vote) || vote == absent ? weight : vote + weight;
    }
  return constantOf(b, table, {leaves, forest.targets}, type);
}

/// The votes of the reached leaves, [n, targets], combined over the trees: SUM, AVERAGE, MIN or MAX.
static Value scoresOf(Node &node, const Forest &forest, StringRef aggregate) {
  Builder &b = node.builder;
  Value x = featuresOf(node);
  if (!x)
    return {};
  int64_t features = *shapeOf(x)[1].constant();
  for (const TreeNode &tree : forest.nodes)
    if (!tree.isLeaf() && (tree.feature < 0 || tree.feature >= features))
      return b.fail("a node reads feature " + Twine(tree.feature) + ", the input has " + Twine(features));
  bool isExtremum = aggregate == "MIN" || aggregate == "MAX";
  double infinity = std::numeric_limits<double>::infinity();
  double absent = !isExtremum ? 0 : aggregate == "MIN" ? infinity : -infinity;
  auto [positions, leaves] = leavesFirst(forest);
  Value votes = votesOf(b, forest, positions, leaves, absent, graph::elementTypeOf(x));
  Value reached = b.gather(votes, leavesOf(node, forest, positions, x), 0);
  if (!reached)
    return {};
  if (!isExtremum) {
    Value total = graph::sum(b, reached, {1}, false);
    double trees = static_cast<double>(forest.roots.size());
    return aggregate == "AVERAGE" ? graph::div(b, total, b.scalar(trees, graph::elementTypeOf(x))) : total;
  }
  Value extremum = b.reduce(aggregate == "MIN" ? ReductionKind::Min : ReductionKind::Max, reached, {1}, false);
  return pointwise(b, extremum,
                   [=](ArrayRef<Scalar> v) { return select(graph::equal(v[0], absent), v[0].constant(0), v[0]); });
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// base_values: one for all targets, or one per target.
static Value withBase(Node &node, Value scores, int64_t targets) {
  SmallVector<double> base = numbersOf(node, {"base_values", "base_values_as_tensor"});
  if (base.empty() || !scores)
    return scores;
  int64_t count = base.size();
  if (count != 1 && count != targets)
    return node.builder.fail("expected " + Twine(targets) + " base_values, got " + Twine(count));
  return graph::add(node.builder, scores, constantOf(node.builder, base, count, graph::elementTypeOf(scores)));
}

Results importTreeEnsembleRegressor(Node &node) {
  Forest forest;
  forest.targets = std::max<int64_t>(node.attributes.getInt("n_targets", 1), 1);
  if (!readNumberedForest(node, "target", forest))
    return {};
  Value scores = scoresOf(node, forest, node.attributes.getString("aggregate_function", "SUM"));
  scores = transformedScores(node, withBase(node, scores, forest.targets), node.attributes.getString("post_transform"));
  return {scores ? node.builder.cast(scores, node.builder.f32()) : scores};
}

Results importTreeEnsemble(Node &node) {
  static constexpr const char *aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr const char *transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  int64_t aggregate = node.attributes.getInt("aggregate_function", 1),
          transform = node.attributes.getInt("post_transform");
  Forest forest;
  forest.targets = std::max<int64_t>(node.attributes.getInt("n_targets", 1), 1);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return node.fail("aggregate_function or post_transform is not known");
  if (!readForest(node, forest))
    return {};
  Value scores = transformedScores(node, scoresOf(node, forest, aggregates[aggregate]), transforms[transform]);
  return {scores ? node.builder.cast(scores, graph::elementTypeOf(node.input(0))) : scores};
}

/// Two classes with votes for only one: its score decides, at 1/2 if all votes are positive, otherwise at 0. The other
/// class has 1 - score (positive votes without a transform) or its negative.
static Results binaryClasses(Node &node, Value score, bool isProbability, StringRef transform) {
  Builder &b = node.builder;
  Type type = graph::elementTypeOf(score);
  if (transform == "PROBIT")
    return node.fail("the post_transform PROBIT of one score for two classes is not supported");
  Value isSecond = pointwise(
      b, score, [=](ArrayRef<Scalar> v) { return v[0] > (isProbability ? 0.5 : 0.0); }, b.operations.getI1Type());
  Value labels = labelsAt(node, b.cast(b.squeeze(isSecond, {1}), b.i64()), "classlabels_int64s", "classlabels_strings");
  bool isPlain = transform.empty() || transform == "NONE";
  Value other = graph::sub(b, b.scalar(isProbability && isPlain ? 1 : 0, type), score);
  Value both = other ? b.concat({other, score}, 1) : other;
  return {labels, transformedScores(node, both, transform)};
}

Results importTreeEnsembleClassifier(Node &node) {
  Forest forest;
  forest.targets =
      std::max(node.attributes.getInts("classlabels_int64s").size(), textsOf(node, "classlabels_strings").size());
  if (forest.targets < 2)
    return node.fail("expected labels of at least two classes");
  if (!readNumberedForest(node, "class", forest))
    return {};
  Builder &b = node.builder;
  StringRef transform = node.attributes.getString("post_transform");
  Value scores = withBase(node, scoresOf(node, forest, "SUM"), forest.targets);
  if (!scores)
    return {};
  SmallVector<int64_t> classes = node.attributes.getInts("class_ids");
  SmallVector<double> weights = numbersOf(node, {"class_weights", "class_weights_as_tensor"});
  Results results;
  if (forest.targets == 2 && !classes.empty() && llvm::all_equal(classes)) {
    Value score = sliceAxis(b, scores, 1, SymbolicInt(classes.front()), SymbolicInt(1));
    results = binaryClasses(node, score, llvm::all_of(weights, [](double w) { return w >= 0; }), transform);
  } else {
    results = {labelsAt(node, bestOf(b, scores), "classlabels_int64s", "classlabels_strings"),
               transformedScores(node, scores, transform)};
  }
  if (results.size() < 2 || !results[0] || !results[1])
    return {};
  return {results[0], b.cast(results[1], b.f32())};
}
} // namespace perpend::onnx
