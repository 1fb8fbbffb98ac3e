//===- Forest.cpp - decision trees of ONNX models -------------------------===//

#include "frontend/onnx/ml/Forest.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;

namespace perpend::onnx {

static bool fail(Node &node, const Twine &message) {
  node.fail(message);
  return false;
}

/// Whether the lists have equal lengths, which are not 0.
static bool haveOneLength(ArrayRef<size_t> sizes) { return sizes.front() != 0 && llvm::all_equal(sizes); }

//===----------------------------------------------------------------------===//
// TreeEnsembleClassifier, TreeEnsembleRegressor
//===----------------------------------------------------------------------===//

/// Positions of nodes, by tree and number.
using NodeNumbers = llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t>;

static int64_t modeOf(StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("BRANCH_LEQ", TreeNode::LessEqual)
      .Case("BRANCH_LT", TreeNode::Less)
      .Case("BRANCH_GTE", TreeNode::GreaterEqual)
      .Case("BRANCH_GT", TreeNode::Greater)
      .Case("BRANCH_EQ", TreeNode::Equal)
      .Case("BRANCH_NEQ", TreeNode::NotEqual)
      .Case("LEAF", TreeNode::Leaf)
      .Default(-1);
}

/// Roots are the first nodes of their trees.
static bool numberNodes(Node &node, Forest &forest, NodeNumbers &positions) {
  SmallVector<int64_t> trees = node.attributes.getInts("nodes_treeids"), ids = node.attributes.getInts("nodes_nodeids");
  llvm::SmallDenseSet<int64_t> known;
  if (!haveOneLength({trees.size(), ids.size()}))
    return fail(node, "expected attributes nodes_* of one length, at least 1");
  for (auto [index, tree, id] : llvm::enumerate(trees, ids)) {
    if (!positions.try_emplace({tree, id}, index).second)
      return fail(node, "two nodes have the number " + Twine(id) + " in tree " + Twine(tree));
    if (known.insert(tree).second)
      forest.roots.push_back(index);
  }
  return true;
}

static bool readNumberedNodes(Node &node, Forest &forest, const NodeNumbers &positions) {
  auto ints = [&](StringRef name) { return node.attributes.getInts(name); };
  SmallVector<int64_t> trees = ints("nodes_treeids"), features = ints("nodes_featureids"),
                       ifTrue = ints("nodes_truenodeids"), ifFalse = ints("nodes_falsenodeids"),
                       missing = ints("nodes_missing_value_tracks_true");
  SmallVector<StringRef> modes = textsOf(node, "nodes_modes");
  SmallVector<double> thresholds = numbersOf(node, {"nodes_values", "nodes_values_as_tensor"});
  missing.resize(trees.size());
  if (!haveOneLength({trees.size(), features.size(), ifTrue.size(), ifFalse.size(), modes.size(), thresholds.size()}))
    return fail(node, "expected attributes nodes_* of one length, at least 1");
  for (size_t i = 0; i < trees.size(); ++i) {
    TreeNode next{modeOf(modes[i]), features[i], {0, 0}, thresholds[i], missing[i] != 0, {}};
    if (next.mode < 0)
      return fail(node, "the mode '" + modes[i] + "' is not known");
    auto yes = positions.find({trees[i], ifTrue[i]}), no = positions.find({trees[i], ifFalse[i]});
    if (!next.isLeaf() && (yes == positions.end() || no == positions.end()))
      return fail(node, "a child of node " + Twine(i) + " does not exist");
    if (!next.isLeaf()) {
      next.children[0] = yes->second;
      next.children[1] = no->second;
    }
    forest.nodes.push_back(next);
  }
  return true;
}

static bool readVotes(Node &node, StringRef prefix, Forest &forest, const NodeNumbers &positions) {
  auto name = [&](StringRef rest) { return (prefix + rest).str(); };
  auto ints = [&](StringRef rest) { return node.attributes.getInts(name(rest)); };
  SmallVector<int64_t> trees = ints("_treeids"), nodes = ints("_nodeids"), targets = ints("_ids");
  std::string floats = name("_weights"), tensor = name("_weights_as_tensor");
  SmallVector<double> weights = numbersOf(node, {StringRef(floats), StringRef(tensor)});
  if (!haveOneLength({weights.size(), trees.size(), nodes.size(), targets.size()}))
    return fail(node, "expected attributes " + prefix + "_* of one length, at least 1");
  for (size_t i = 0; i < weights.size(); ++i) {
    auto leaf = positions.find({trees[i], nodes[i]});
    if (leaf == positions.end() || targets[i] < 0 || targets[i] >= forest.targets)
      return fail(node, "vote " + Twine(i) + " is for a node or a target that does not exist");
    forest.nodes[leaf->second].votes.emplace_back(targets[i], weights[i]);
  }
  return true;
}

bool readNumberedForest(Node &node, StringRef votes, Forest &forest) {
  NodeNumbers positions;
  return numberNodes(node, forest, positions) && readNumberedNodes(node, forest, positions) &&
         readVotes(node, votes, forest, positions);
}

//===----------------------------------------------------------------------===//
// TreeEnsemble
//===----------------------------------------------------------------------===//

/// A node that tests membership becomes a chain of equality tests that share the true branch.
static void expandMember(Forest &forest, size_t at, ArrayRef<double> values) {
  TreeNode link = forest.nodes[at];
  int64_t otherwise = link.children[1], first = forest.nodes.size();
  link.mode = TreeNode::Equal;
  for (auto [index, value] : llvm::enumerate(values)) {
    bool isLast = index + 1 == values.size();
    link.threshold = value;
    link.children[1] = isLast ? otherwise : first + static_cast<int64_t>(index);
    if (index == 0)
      forest.nodes[at] = link;
    else
      forest.nodes.push_back(link);
  }
}

/// Members are listed in the order of the nodes, each list ended by a NaN.
static bool expandMembers(Node &node, Forest &forest) {
  SmallVector<double> members = numbersOf(node, "membership_values");
  ArrayRef<double> rest = members;
  for (size_t at = 0, count = forest.nodes.size(); at < count; ++at) {
    if (forest.nodes[at].mode != TreeNode::Member)
      continue;
    const double *end = llvm::find_if(rest, [](double value) { return std::isnan(value); });
    if (end == rest.end())
      return fail(node, "expected a NaN behind the members of each node in membership_values");
    // A node without members is compared with the NaN, which equals nothing.
    size_t length = end - rest.begin();
    expandMember(forest, at, rest.take_front(std::max<size_t>(length, 1)));
    rest = rest.drop_front(length + 1);
  }
  return true;
}

static bool readNodes(Node &node, Forest &forest, int64_t leaves) {
  auto ints = [&](StringRef name) { return node.attributes.getInts(name); };
  SmallVector<int64_t> features = ints("nodes_featureids"), ifTrue = ints("nodes_truenodeids"),
                       ifFalse = ints("nodes_falsenodeids"), trueLeaf = ints("nodes_trueleafs"),
                       falseLeaf = ints("nodes_falseleafs"), missing = ints("nodes_missing_value_tracks_true");
  SmallVector<double> modes = numbersOf(node, "nodes_modes"), thresholds = numbersOf(node, "nodes_splits");
  if (!haveOneLength({features.size(), ifTrue.size(), ifFalse.size(), trueLeaf.size(), falseLeaf.size(), modes.size(),
                      thresholds.size()}))
    return fail(node, "expected attributes nodes_* of one length, at least 1");
  int64_t count = features.size();
  missing.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    TreeNode next{
        static_cast<int64_t>(modes[i]), features[i], {ifTrue[i], ifFalse[i]}, thresholds[i], missing[i] != 0, {}};
    bool isLeaf[] = {trueLeaf[i] != 0, falseLeaf[i] != 0};
    for (auto [child, leaf] : llvm::zip(next.children, isLeaf)) {
      if (child < 0 || child >= (leaf ? leaves : count))
        return fail(node, "a child of node " + Twine(i) + " does not exist");
      child += leaf ? count : 0;
    }
    if (next.mode < 0 || next.mode > TreeNode::Member)
      return fail(node, "the mode " + Twine(next.mode) + " is not known");
    forest.nodes.push_back(next);
  }
  return true;
}

bool readForest(Node &node, Forest &forest) {
  SmallVector<int64_t> targets = node.attributes.getInts("leaf_targetids");
  SmallVector<double> weights = numbersOf(node, "leaf_weights");
  if (!haveOneLength({targets.size(), weights.size()}))
    return fail(node, "expected attributes leaf_* of one length, at least 1");
  if (!readNodes(node, forest, targets.size()))
    return false;
  forest.roots = node.attributes.getInts("tree_roots");
  for (int64_t root : forest.roots)
    if (root < 0 || root >= static_cast<int64_t>(forest.nodes.size()))
      return fail(node, "the root " + Twine(root) + " is not a node");
  for (auto [target, weight] : llvm::zip(targets, weights)) {
    if (target < 0 || target >= forest.targets)
      return fail(node, "a leaf is for the target " + Twine(target) + ", which does not exist");
    forest.nodes.emplace_back().votes.emplace_back(target, weight);
  }
  return expandMembers(node, forest);
}

//===----------------------------------------------------------------------===//
// Depth
//===----------------------------------------------------------------------===//

std::optional<int64_t> Forest::depth() const {
  // Visits parents before children; nodes of a cycle always have unseen parents.
  std::vector<int64_t> unseenParents(nodes.size()), steps(nodes.size());
  for (const TreeNode &node : nodes)
    for (int64_t child : node.isLeaf() ? ArrayRef<int64_t>() : ArrayRef(node.children))
      ++unseenParents[child];
  std::vector<int64_t> ready;
  for (size_t at = 0; at < nodes.size(); ++at)
    if (unseenParents[at] == 0)
      ready.push_back(at);
  int64_t deepest = 0;
  for (size_t next = 0; next < ready.size(); ++next) {
    int64_t at = ready[next];
    deepest = std::max(deepest, steps[at]);
    for (int64_t child : nodes[at].isLeaf() ? ArrayRef<int64_t>() : ArrayRef(nodes[at].children)) {
      steps[child] = std::max(steps[child], steps[at] + 1);
      if (--unseenParents[child] == 0)
        ready.push_back(child);
    }
  }
  return ready.size() == nodes.size() ? std::optional(deepest) : std::nullopt;
}
} // namespace perpend::onnx
