//===- Trees.cpp - decision trees -----------------------------------------===//
//
// A forest is stored in flat tables with one row per node. A walk from a root
// to a leaf takes as many steps as the deepest tree; leaves lead to themselves.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// Steps per kernel; the nodes reached by then are stored in a tensor.
static constexpr int64_t stepsPerKernel = 16;

namespace {
/// The tables inside a generated element: a row per node.
struct NodeTables {
  OpBuilder &builder;
  Location loc;
  ValueRange tensors; // x, features, thresholds, if true, if false, missing is true, modes
  Value row;

  Scalar at(unsigned table, Scalar node) const {
    return Scalar(builder, loc, load(builder, loc, tensors[table], node.value));
  }
  Scalar index(unsigned table, Scalar node) const { return at(table, node).to(builder.getIndexType()); }
};
} // namespace

/// x against the threshold, in the order of TreeEnsemble-5's modes: <=, <, >=, >, ==, !=.
static SmallVector<Scalar> comparisons(Scalar x, Scalar threshold) {
  return {x <= threshold, x<threshold, x >= threshold, x> threshold, equal(x, threshold), notEqual(x, threshold)};
}

/// The child of `node` that x leads to. `mode` is that of every node, or -1.
static Scalar nextNode(const NodeTables &tables, Scalar node, int64_t mode) {
  Scalar feature = tables.index(1, node), threshold = tables.at(2, node);
  Scalar x(tables.builder, tables.loc,
           load(tables.builder, tables.loc, tables.tensors[0], {tables.row, feature.value}));
  SmallVector<Scalar> all = comparisons(x, threshold);
  Scalar holds = all[std::max<int64_t>(mode, 0)];
  if (mode < 0) {
    Scalar code = tables.at(6, node);
    for (auto [index, comparison] : llvm::enumerate(ArrayRef(all).drop_front()))
      holds = select(equal(code, static_cast<double>(index + 1)), comparison, holds);
  }
  Scalar missingIsTrue = notEqual(tables.at(5, node), 0);
  holds = select(notEqual(x, x), missingIsTrue, holds);
  return select(holds, tables.index(3, node), tables.index(4, node));
}

namespace composites {
/// in: x [n, features], then tables of the nodes: feature, threshold (x's type), node if true, node if false, whether
/// NaN counts as true, comparison; then the trees' roots. Attributes: depth, the most steps to a leaf; mode, the
/// comparison of all nodes, or -1. result[n, tree] is the leaf's node, i64. Source: ONNX TreeEnsemble-5.
Results tree_leaves(Builder &b, Values in, const Attributes &a) {
  Shape shape{shapeOf(in[0])[0], shapeOf(in[7])[0]};
  int64_t depth = a.getInt("depth"), mode = a.getInt("mode", -1);
  Value nodes = b.broadcast(in[7], {1}, shape);
  for (int64_t done = 0; done < depth && nodes; done += stepsPerKernel) {
    SmallVector<Value> inputs(in.take_front(7));
    inputs.push_back(nodes);
    nodes = b.generate(inputs, shape, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange t) {
      NodeTables tables{builder, loc, t, index[0]};
      Scalar node = Scalar(builder, loc, load(builder, loc, t[7], index)).to(builder.getIndexType());
      for (int64_t step = 0; step < std::min(stepsPerKernel, depth - done); ++step)
        node = nextNode(tables, node, mode);
      return node.to(builder.getI64Type()).value;
    });
  }
  return {nodes};
}
} // namespace composites
} // namespace perpend::graph
