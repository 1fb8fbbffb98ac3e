//===- RowWindows.h - positions that an index depends on --------*- C++ -*-===//
//
// Along one dimension, an element of an operator's result needs of an operand the positions
//
//   index * stride - low, …, index * stride - low + reach - 1
//
// and those of them that the operand does not have count as nothing. Windows of convolutions and pools, borders and
// cuts are of this form, and so is a dimension that goes on as it is (DimensionFlowInterface), with a stride and a
// reach of 1. So a part of the result needs a part of the operand.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ROWWINDOWS_H
#define PERPEND_GRAPH_ROWWINDOWS_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Indices [begin, end) of a dimension.
struct RowRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const RowRange &) const = default;
  void include(const RowRange &other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

struct RowWindow {
  unsigned dim = 0; ///< of the operand
  int64_t stride = 1, low = 0, reach = 1;
  bool isMovable = false; ///< moveRowWindow() changes `low`

  /// Of an operand with so many positions. nullopt: there is an index that needs none of them.
  std::optional<RowRange> read(const RowRange &rows, int64_t extent) const;
};

/// What indices of dimension `dim` of the result need of an operand. nullopt: no dimension of the operand is of this
/// form for it.
std::optional<RowWindow> rowWindowOf(mlir::OpOperand &operand, unsigned dim);
/// Changes `low`.
void moveRowWindow(mlir::Operation *op, unsigned dim, int64_t low);

} // namespace perpend::graph

#endif
