//===- Forest.h - decision trees of ONNX models -----------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ML_FOREST_H
#define PERPEND_FRONTEND_ONNX_ML_FOREST_H

#include "frontend/onnx/ml/Classical.h"

namespace perpend::onnx {

/// A node of a tree; `children` are positions in the list of nodes: if true, if false.
struct TreeNode {
  /// The comparisons with the numbers of TreeEnsemble-5.
  enum Mode : int64_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, Leaf };
  int64_t mode = Leaf, feature = 0, children[2] = {0, 0};
  double threshold = 0;
  bool missingIsTrue = false;
  /// A leaf's votes: target and weight.
  llvm::SmallVector<std::pair<int64_t, double>, 1> votes;

  bool isLeaf() const { return mode == Leaf; }
};

struct Forest {
  std::vector<TreeNode> nodes;
  llvm::SmallVector<int64_t> roots;
  int64_t targets = 1;

  /// The most steps from a root to a leaf; nullopt if nodes form a cycle.
  std::optional<int64_t> depth() const;
};

/// Reads the attributes of TreeEnsembleClassifier and TreeEnsembleRegressor, whose votes are called class_ or target_;
/// targets must be set. False after an error, which is emitted.
bool readNumberedForest(Node &node, StringRef votes, Forest &forest);

/// Reads the attributes of TreeEnsemble-5, likewise.
bool readForest(Node &node, Forest &forest);
} // namespace perpend::onnx

#endif
