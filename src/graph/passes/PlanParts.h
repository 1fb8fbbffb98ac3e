//===- PlanParts.h - groups of a chain, and their parts ---------*- C++ -*-===//
//
// Which calls of a chain run part by part, and in how many parts, is decided by dynamic programming over the chain: the
// fewest bytes to and from far memory, where weights are read again for each part, a launch counts as the option
// launch-bytes, and what bands compute twice as the option products-per-byte says
// (docs/decisions/0072-batches-in-parts.md, 0084-rows-in-bands.md). Values that near memory does not hold while other
// members run go to far memory and back.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_PASSES_PLANPARTS_H
#define PERPEND_GRAPH_PASSES_PLANPARTS_H

#include "graph/Bands.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {

/// Calls, and what stays in its operand's memory between them, each of which keeps the first dimension of the others'
/// results.
struct Chain {
  int64_t rows = 0;
  llvm::SmallVector<mlir::Operation *> members;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;

  void add(mlir::Operation *op) {
    numbers[op] = members.size();
    members.push_back(op);
  }
  bool contains(mlir::Value value) const { return value.getDefiningOp() && numbers.contains(value.getDefiningOp()); }
  bool isReadBy(mlir::Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](mlir::Value operand) { return contains(operand); });
  }
};

/// Which members run part by part: [first, end).
struct Group {
  unsigned first = 0, end = 0;
  int64_t parts = 1;
  int64_t bands = 1; ///< of each part, which then has one index of the first dimension
};

/// Cuts a chain into groups. banded: null if none of them is to run in bands.
llvm::SmallVector<Group> planParts(const Chain &chain, DividedKernels &kernels, BandedKernels *banded,
                                   const GraphSplitBatchesOptions &options);

} // namespace perpend::graph

#endif
